/// @file
/// malloc() and free() of a CUDA program's kernels, by a heap of Heapwood: one include, and no
/// other change.
///
///     #include <heapwood/allocators/replace_malloc.cuh>   // after all others
///
///     __global__ void kernel() { void* p = malloc(100); ... free(p); }
///
///     cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes);  // as before: makes the heap
///
/// Every file includes it that calls one of these functions, after its other headers. The program
/// is compiled with CUDA_SEPARABLE_COMPILATION and links heapwood::device_heap.
///
/// The heap belongs to the device that is current at cudaDeviceSetLimit(). In a program that never
/// sets that limit, and on its other devices, kernels have CUDA's malloc as before. Blocks that
/// were taken before the heap was made must not be freed after it. `new` and `delete` of kernels
/// stay CUDA's, and calls on the host the C library's. A name with a qualifier, as std::malloc, is
/// not replaced: it does not compile any more, and is written without.
///
/// heapwood_global_heap() is the heap's handle, for all other functions of heapwood_heap.h.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// The path from this file, for the folder's own may not be one of the compiler's.
#include "heapwood_heap.h"

/// The heap of this device's kernels; nullptr: they have CUDA's malloc.
extern __device__ heapwood_heap* heapwood_device_global_heap;

extern "C" {
/// The heap of the current device's kernels; NULL: no heap exists.
heapwood_heap* heapwood_global_heap(void);
/// Makes that heap of `bytes` bytes, or grows it to that size. Only while no kernel uses it.
/// @return 0, or another number if it fails: heapwood_heap_error() says why
int heapwood_set_global_heap_bytes(uint64_t bytes);
}

__host__ __device__ inline void* heapwood_replaced_malloc(std::size_t bytes) {
#if defined(__CUDA_ARCH__)
    heapwood_heap* const heap = heapwood_device_global_heap;
    if (heap != nullptr) return heapwood_malloc(heap, bytes);
#endif
    return malloc(bytes);
}

__host__ __device__ inline void heapwood_replaced_free(void* block) {
#if defined(__CUDA_ARCH__)
    heapwood_heap* const heap = heapwood_device_global_heap;
    if (heap != nullptr) return heapwood_free(heap, block);
#endif
    free(block);
}

/// CUDA's malloc heap stays as it is where the heap is Heapwood's.
inline cudaError_t heapwood_replaced_set_limit(cudaLimit limit, std::size_t value) {
    if (limit != cudaLimitMallocHeapSize) return cudaDeviceSetLimit(limit, value);
    return heapwood_set_global_heap_bytes(value) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

#define malloc(...) heapwood_replaced_malloc(__VA_ARGS__)
#define free(...) heapwood_replaced_free(__VA_ARGS__)
#define cudaDeviceSetLimit(...) heapwood_replaced_set_limit(__VA_ARGS__)
