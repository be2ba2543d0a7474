/// @file
/// The heap of a device's kernels that takes the place of CUDA's malloc (replace_malloc.cuh).
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "allocators/heapwood_heap.h"

__device__ heapwood_heap* heapwood_device_global_heap = nullptr;

namespace {

struct GlobalHeap {
    heapwood_heap* heap = nullptr;
    std::uint64_t bytes = 0;
};

/// By devices, for several threads of the host.
struct GlobalHeaps {
    std::mutex mutex;
    std::map<int, GlobalHeap> of_device;
};

GlobalHeaps& global_heaps() {
    static GlobalHeaps heaps;
    return heaps;
}

int current_device() {
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

}  // namespace

extern "C" {

heapwood_heap* heapwood_global_heap(void) {
    GlobalHeaps& heaps = global_heaps();
    const std::lock_guard lock(heaps.mutex);
    const auto found = heaps.of_device.find(current_device());
    return found == heaps.of_device.end() ? nullptr : found->second.heap;
}

int heapwood_set_global_heap_bytes(std::uint64_t bytes) {
    GlobalHeaps& heaps = global_heaps();
    const std::lock_guard lock(heaps.mutex);
    GlobalHeap& global = heaps.of_device[current_device()];
    if (global.heap != nullptr) {
        if (bytes <= global.bytes) return 0;
        const int failed = heapwood_heap_grow(global.heap, bytes - global.bytes);
        if (failed == 0) global.bytes = bytes;
        return failed;
    }
    heapwood_heap_options options{};
    options.bytes = bytes;
    heapwood_heap* const made = heapwood_heap_create(&options);
    if (made == nullptr) return 1;
    if (cudaMemcpyToSymbol(heapwood_device_global_heap, &made, sizeof(made)) != cudaSuccess) {
        static_cast<void>(heapwood_heap_destroy(made));
        return 1;
    }
    global = {made, bytes};
    return 0;
}

}  // extern "C"
