"""Heaps for the kernels of others."""

import numpy as np
import pytest

import heapwood
from heapwood import _core


def test_a_heap_is_empty_grows_and_is_told():
    heap = heapwood.Heap(1 << 20, device="cpu")
    handle = heap.handle
    assert handle % 16 == 0 and handle != 0
    use = heap.use()
    assert use["allocated_bytes"] == 0
    assert use["free_bytes"] == use["pool_bytes"] == 1 << 20
    assert 0 < use["largest_free_bytes"] <= use["free_bytes"]
    heap.grow(1 << 21)
    heap.reset()
    assert heap.use()["pool_bytes"] == 3 << 20
    assert heap.handle == handle
    assert repr(heap) == "<heapwood.Heap of 3145728 bytes, cambium>"


def test_a_heap_lies_in_memory_that_is_there():
    memory = np.full(2 << 20, 7, np.uint8)
    heap = heapwood.Heap(device="cpu", memory=memory)
    assert 1 << 20 < heap.use()["pool_bytes"] < 2 << 20
    assert (memory != 7).any()
    for wrong in (bytes(2 << 20), memory[::2]):
        with pytest.raises(ValueError, match="writable memory without gaps"):
            heapwood.Heap(device="cpu", memory=wrong)
    with pytest.raises(ValueError, match="does not fit"):
        heapwood.Heap(4 << 20, device="cpu", memory=memory)
    with pytest.raises(ValueError, match="not that of a gpu"):
        heapwood.Heap(memory=memory)


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="cambium"):
        heapwood.Heap(100, device="cpu")
    with pytest.raises(ValueError, match="'tpu'"):
        heapwood.Heap(1 << 20, device="tpu")
    with pytest.raises(ValueError, match="ltoir, ptx or fatbin"):
        heapwood.device_library("o")
    heap = heapwood.Heap(1 << 20, device="cpu")
    with pytest.raises(ValueError):
        heap.grow(1)
    if not heapwood.cuda_available():
        with pytest.raises(heapwood.NoDevice):
            heapwood.Heap(1 << 20)


def test_limits_of_growth_are_checked():
    heap = heapwood.Heap(1 << 20, device="cpu")
    heap.grow_automatically(1 << 24)
    handle = heap.handle
    heap.grow_automatically(1 << 25, step=1 << 21, patience=0)
    assert heap.handle == handle and heap.use()["pool_bytes"] == 1 << 20
    for wrong in (dict(most=0), dict(most=1 << 56), dict(most=1 << 24, step=0), dict(most=1 << 24, patience=-1),
                  dict(most=1 << 24, patience=float("nan"))):
        with pytest.raises(ValueError, match="it has to be"):
            heap.grow_automatically(**wrong)


def test_the_device_functions_are_there():
    if not _core.cuda:
        with pytest.raises(heapwood.NoDevice, match="without CUDA"):
            heapwood.device_library()
        return
    for form, begins in (("ltoir", b"\xedCN\x7f"), ("ptx", b"//"), ("fatbin", b"\x50\xed\x55\xba")):
        assert heapwood.device_library(form).read_bytes().startswith(begins), form
    assert ".visible .func" in heapwood.device_library("ptx").read_text()


def lists(heap, sums):
    """Each thread makes a list of blocks, sums it up, and frees it."""
    thread = cuda.grid(1)
    head = np.uint64(0)
    for i in range(20):
        block = malloc(heap, 16)
        if block == 0:
            sums[thread] = -1
            return
        link = array(block, 2, np.uint64)
        link[0] = head
        link[1] = thread + i
        head = block
    while head != 0:
        link = array(head, 2, np.uint64)
        following = link[0]
        sums[thread] += link[1]
        free(heap, head)
        head = following


def with_numba():
    """Skips unless kernels of Numba can be compiled; what lists() calls are then global names."""
    pytest.importorskip("numba.cuda.np", reason="needs numba-cuda")
    if not _core.cuda:
        pytest.skip("built without CUDA")
    import numba
    import heapwood.numba as calls

    globals().update(cuda=numba.cuda, malloc=calls.malloc, free=calls.free, array=calls.array)
    return numba


def test_numba_compiles_and_links_them():
    numba = with_numba()
    core = pytest.importorskip("cuda.core", reason="needs cuda-core")
    signature = numba.types.void(numba.types.uint64, numba.types.int64[::1])
    code, _ = numba.cuda.compile(lists, signature, cc=(9, 0), device=False, output="ltoir", abi="numba")
    parts = [core.ObjectCode.from_ltoir(text)
             for text in (code, heapwood.device_library("ltoir").read_bytes())]
    options = core.LinkerOptions(arch="sm_90", link_time_optimization=True)
    assert core.Linker(*parts, options=options).link("cubin").code.startswith(b"\x7fELF")


def test_numba_runs_them():
    numba = with_numba()
    if not heapwood.cuda_available():
        pytest.skip("no GPU")
    heap = heapwood.Heap(1 << 26)
    sums = numba.cuda.to_device(np.zeros(1280, np.int64))
    numba.cuda.jit(lists)[10, 128](heap.handle, sums)
    np.testing.assert_array_equal(sums.copy_to_host(), 20 * np.arange(1280) + 190)
    assert heap.use()["allocated_bytes"] == 0
