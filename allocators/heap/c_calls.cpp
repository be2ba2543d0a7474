/// @file
/// The C interface of the threads that use a heap: of a CPU here, of a GPU in c_calls.cu.
#include "allocators/heapwood_heap.h"
#include "c_heap.h"

namespace {

using heapwood::allocators::heap::CHandle;

HEAPWOOD_INLINE const CHandle& ref_of(const heapwood_heap* heap) {
    return *reinterpret_cast<const CHandle*>(heap);
}

}  // namespace

extern "C" {

HEAPWOOD_CALL void* heapwood_malloc(heapwood_heap* heap, size_t bytes) {
    return ref_of(heap).malloc(bytes);
}

HEAPWOOD_CALL void* heapwood_calloc(heapwood_heap* heap, size_t count, size_t bytes) {
    return ref_of(heap).calloc(count, bytes);
}

HEAPWOOD_CALL void* heapwood_realloc(heapwood_heap* heap, void* block, size_t bytes) {
    return ref_of(heap).realloc(block, bytes);
}

HEAPWOOD_CALL void* heapwood_aligned_alloc(heapwood_heap* heap, size_t alignment, size_t bytes) {
    return ref_of(heap).aligned_alloc(alignment, bytes);
}

HEAPWOOD_CALL void heapwood_free(heapwood_heap* heap, void* block) {
    ref_of(heap).free(block);
}

HEAPWOOD_CALL size_t heapwood_usable_size(heapwood_heap* heap, const void* block) {
    return ref_of(heap).usable_size(block);
}

}  // extern "C"
