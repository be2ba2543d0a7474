#!/usr/bin/env python3
"""Times on a GPU what malloc and free cost a kernel of Numba: those of heapwood.numba, and CUDA's.

    python tests/benchmarks/numba_heap.py [THREADS]

prints for each size, from 16 bytes to 4 KiB, microseconds (medians of 21, or of those that fit in two seconds)
for THREADS threads, 100,000 if not given, to take a block each, and to free it in a second kernel. The program
heapwood_heap_benchmark prints the same for C++. Needs the heapwood package and numba-cuda 0.30. Ends with 1 if
heapwood refuses a request.
"""

import statistics
import sys
import time

SIZES = (16, 64, 256, 1024, 4096)
TIMES = 21
MOST_SECONDS = 2
POOL = 2 << 30
BLOCK = 256


def milliseconds(cuda, launch):
    """The time of what `launch` puts on the default stream."""
    begin, end = cuda.event(), cuda.event()
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(begin, end)


def measure(cuda, take, give, blocks, size):
    """Medians of the microseconds of both kernels, after one time that is not counted; and the refusals."""
    grid = (len(blocks) + BLOCK - 1) // BLOCK
    samples = []
    refused = 0
    until = time.monotonic() + MOST_SECONDS
    for n in range(TIMES + 1):
        taken = milliseconds(cuda, lambda: take[grid, BLOCK](blocks, size))
        refused += int((blocks.copy_to_host() == 0).sum())
        given = milliseconds(cuda, lambda: give[grid, BLOCK](blocks))
        if n > 0:
            samples.append((taken, given))
        if time.monotonic() > until and samples:
            break
    return [1000 * statistics.median(column) for column in zip(*samples)], refused


def kernels(cuda, malloc, free):
    """Two kernels: blocks for all threads, and their end."""

    @cuda.jit
    def take(blocks, size):
        n = cuda.grid(1)
        if n < blocks.size:
            blocks[n] = malloc(size)

    @cuda.jit
    def give(blocks):
        n = cuda.grid(1)
        if n < blocks.size:
            free(blocks[n])

    return take, give


def of_heapwood(cuda, heap):
    """Kernels of a heap of heapwood's."""
    import heapwood.numba as calls

    handle = int(heap.handle)
    heap_malloc, heap_free = calls.malloc, calls.free

    @cuda.jit(device=True)
    def malloc(size):
        return heap_malloc(handle, size)

    @cuda.jit(device=True)
    def free(block):
        heap_free(handle, block)

    return kernels(cuda, malloc, free)


def of_cuda(cuda, types):
    """Kernels of CUDA's own malloc, whose pool is made as large."""
    from cuda.bindings import driver

    cuda.current_context()
    (error,) = driver.cuCtxSetLimit(driver.CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE, POOL)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA has no pool of {POOL} bytes: {error.name}")
    malloc = cuda.declare_device("malloc", types.uint64(types.uint64), abi="c")
    free = cuda.declare_device("free", types.void(types.uint64), abi="c")
    return kernels(cuda, malloc, free)


def main():
    """Prints the table. Returns the exit code."""
    try:
        threads = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
        if threads < 1 or len(sys.argv) > 2:
            raise ValueError
    except ValueError:
        print("usage: numba_heap.py [THREADS], a number from 1 on", file=sys.stderr)
        return 2
    try:
        import heapwood
        import numpy as np
        from numba import cuda, types

        if not cuda.is_available():
            raise RuntimeError("Numba finds no GPU")
        heap = heapwood.Heap(POOL)
        blocks = cuda.to_device(np.zeros(threads, np.uint64))
        subjects = {"heapwood.numba": of_heapwood(cuda, heap)}
    except (ImportError, OSError, RuntimeError) as failure:
        print(f"numba_heap.py: {failure}", file=sys.stderr)
        return 1
    try:
        subjects["CUDA's malloc"] = of_cuda(cuda, types)
    except (ImportError, RuntimeError) as failure:
        print(f"numba_heap.py: without CUDA's malloc: {failure}", file=sys.stderr)
    failed = False
    for name, (take, give) in subjects.items():
        for size in SIZES:
            try:
                (taken, given), refused = measure(cuda, take, give, blocks, np.uint64(size))
            except Exception as failure:  # of Numba's linker, whose classes have no common name
                print(f"{name}: {str(failure).splitlines()[0]}")
                break
            failed |= refused > 0 and name == "heapwood.numba"
            print(f"{name:15} {size:5} bytes {taken:12.1f} {given:12.1f} us, {refused} refused", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
