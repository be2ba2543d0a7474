"""Heaps for the kernels of others: Numba's, CuPy's, or one's own."""

import pathlib

from heapwood import _core
from heapwood.errors import NoDevice


class Heap:
    """Memory from which the threads of kernels allocate and free, whatever compiled them.

    A kernel gets :attr:`handle` as an integer of 64 bits and calls ``heapwood_malloc(handle, bytes)``
    and its relatives (``heapwood/allocators/heapwood_heap.h``): from Numba by :mod:`heapwood.numba`,
    from CuPy and NVRTC by linking :func:`device_library`. The other methods are for the host, while
    no kernel uses the heap.

    >>> heap = heapwood.Heap(1 << 20, device="cpu")
    >>> heap.use()["allocated_bytes"], heap.use()["pool_bytes"]
    (0, 1048576)

    Args:
        bytes (int): size of the pool; with ``memory``, it may be left out.
        device (str): ``"gpu"``, the current one, or ``"cpu"``.
        callers (int): about how many warps, or threads of a CPU, call at once; 0: all that the
            machine holds.
        memory: where the heap is to lie, instead of memory of its own: a CuPy or Torch array on the
            GPU (anything with ``__cuda_array_interface__``), or a writable buffer with
            ``device="cpu"``. The heap keeps it alive, and uses it alone. The pool is what is left
            beside its tables.

    Raises:
        ValueError: the pool is too small.
        MemoryError: there is no such memory.
        NoDevice: there is no GPU, or the package was built without CUDA.
    """

    def __init__(self, bytes=0, *, device="gpu", callers=0, memory=None):
        if device not in ("gpu", "cpu"):
            raise ValueError(f"a heap lies on 'gpu' or 'cpu', not on {device!r}")
        address, size = _range(memory, device)
        if memory is not None and bytes > size:
            raise ValueError(f"a heap of {bytes} bytes does not fit in {size} bytes of memory")
        self._memory = memory
        self._heap = _core.Heap(bytes or size, device == "gpu", callers, address)

    @property
    def handle(self):
        """What kernels are given (int). It stays the same as long as the heap lives."""
        return self._heap.handle

    def grow(self, bytes):
        """Adds ``bytes`` bytes to the pool. No block moves, and none is larger than the largest part.

        >>> heap = heapwood.Heap(1 << 20, device="cpu")
        >>> heap.grow(1 << 21)
        >>> heap.use()["pool_bytes"] >> 20
        3

        Raises:
            ValueError: the part is too small, or the heap has grown 31 times.
            MemoryError: there is no such memory.
        """
        self._heap.grow(bytes)

    def grow_automatically(self, most, *, step=64 << 20, patience=1.0):
        """From now on the pool also grows while kernels use it. A second call changes the limits.

        A call that the pool cannot serve waits while a thread of the host adds a part, and is refused where that
        takes too long, or the limits or the memory do not allow it. New parts are the system's memory, also of a
        heap that lies in memory that was given.

        Args:
            most (int): bytes of the whole pool, which it does not exceed.
            step (int): bytes of a new part; it has more if a request needs more, or if 32 parts of it were too few
                for ``most``.
            patience (float): seconds that a call waits at most, up to 3,600.

        >>> heap = heapwood.Heap(1 << 20, device="cpu")
        >>> heap.grow_automatically(1 << 24, step=1 << 20)
        >>> heap.use()["pool_bytes"] >> 20
        1

        Raises:
            ValueError: a limit is out of range.
            RuntimeError: the GPU has no virtual memory management: the pool grows by :meth:`grow` only.
        """
        for name, value in (("most", most), ("step", step)):
            if not 0 < value < 1 << 56:
                raise ValueError(f"{name} is {value!r}; it has to be a number of bytes, above 0 and below 2^56")
        if not 0 <= patience <= 3600:
            raise ValueError(f"patience is {patience!r}; it has to be a number of seconds, from 0 to 3600")
        self._heap.grow_automatically(int(most), int(step), float(patience))

    def reset(self):
        """Frees all blocks."""
        self._heap.reset()

    def use(self):
        """What is in use.

        Returns:
            dict: ``pool_bytes``, ``overhead_bytes`` (of tables beside it), ``allocated_bytes`` (with
            what the heap adds to blocks), ``free_bytes``, ``largest_free_bytes``: all int.
        """
        return self._heap.use()

    def __repr__(self):
        return f"<heapwood.Heap of {self.use()['pool_bytes']} bytes, {_core.heap_allocator}>"


def _range(memory, device):
    """Address and size in bytes of what a heap is to lie in; zeroes for None."""
    if memory is None:
        return 0, 0
    interface = getattr(memory, "__cuda_array_interface__", None)
    if (interface is not None) != (device == "gpu"):
        raise ValueError(f"this memory is not that of a {device}: {type(memory).__name__}")
    if interface is not None:
        if interface.get("strides") is not None or interface["data"][1]:
            raise ValueError("a heap needs writable memory without gaps")
        count = int(interface["typestr"][2:])
        for length in interface["shape"]:
            count *= length
        return interface["data"][0], count
    view = memoryview(memory)
    if view.readonly or not view.c_contiguous:
        raise ValueError("a heap needs writable memory without gaps")
    import numpy as np

    return np.frombuffer(view.cast("B"), np.uint8).ctypes.data, view.nbytes


def device_library(form="ltoir"):
    """The file with the heap's device functions, for a linker of kernels.

    Args:
        form (str): ``"ltoir"``, for link-time optimization by nvJitLink; ``"ptx"``, for any GPU from
            Turing on; ``"fatbin"``, for the architectures that the package was built for.

    Returns:
        pathlib.Path: the file. All three are relocatable.

    Raises:
        NoDevice: the package was built without CUDA.
    """
    if form not in ("ltoir", "ptx", "fatbin"):
        raise ValueError(f"there is no form {form!r}: ltoir, ptx or fatbin")
    file = pathlib.Path(__file__).parent / "device" / f"heap.{form}"
    if not file.exists():
        raise NoDevice("this package was built without CUDA: it has no device functions")
    return file
