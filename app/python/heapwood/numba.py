"""malloc and free in kernels of Numba (numba-cuda 0.30 or newer).

::

    import heapwood, numpy as np
    from heapwood.numba import array, free, malloc
    from numba import cuda

    @cuda.jit
    def squares(heap, sums):
        n = cuda.grid(1)
        block = malloc(heap, 4 * n)           # an address; 0: the heap has no such block
        if block != 0:
            numbers = array(block, n, np.int32)
            for i in range(n):
                numbers[i] = i * i
            for i in range(n):
                sums[n] += numbers[i]
            free(heap, block)

    heap = heapwood.Heap(1 << 30)
    squares[10, 128](heap.handle, sums)

Each function takes the :attr:`handle <heapwood.Heap.handle>` of a heap first. Blocks are addresses,
integers of 64 bits, which may be kept in arrays and freed by other threads and kernels.

``malloc(heap, bytes)``, ``calloc(heap, count, bytes)``, ``realloc(heap, block, bytes)``,
``aligned_alloc(heap, alignment, bytes)``, ``free(heap, block)`` and ``usable_size(heap, block)`` are
those of ``heapwood/allocators/heapwood_heap.h``. :func:`array` sees a block as an array.
"""

from numba import cuda, types
from numba.cuda.extending import intrinsic
from numba.cuda.np.arrayobj import make_array, populate_array

from heapwood._heap import device_library

__all__ = ["aligned_alloc", "array", "calloc", "free", "malloc", "realloc", "usable_size"]

_WORD = types.uint64


def _function(name, arguments, returns=_WORD):
    return cuda.declare_device(
        f"heapwood_{name}", returns(*[_WORD] * arguments), link=str(device_library("ltoir")), abi="c"
    )


malloc = _function("malloc", 2)
calloc = _function("calloc", 3)
realloc = _function("realloc", 3)
aligned_alloc = _function("aligned_alloc", 3)
free = _function("free", 2, types.void)
usable_size = _function("usable_size", 2)


@intrinsic
def array(typing_context, block, count, dtype):
    """A block as an array of one dimension, which has no owner: free the block, not the array.

    Args:
        block (uint64): its address, not 0.
        count (int): elements; they must fit in the block.
        dtype: as ``numpy.float32``, known when the kernel is compiled.
    """
    view = types.Array(dtype.dtype, 1, "C")

    def generate(context, builder, signature, arguments):
        address, length, _ = arguments
        length = context.cast(builder, length, signature.args[1], types.intp)
        result = make_array(view)(context, builder)
        pointer = builder.inttoptr(address, result.data.type)
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(view.dtype)))
        populate_array(result, pointer, [length], [item], item, None)
        return result._getvalue()

    return view(_WORD, types.intp, dtype), generate
