/// @file
/// A CUDA program with the heaps of the installed library: by templates, and linked. Every thread of
/// blocks of two dimensions makes a list of blocks of random sizes, in the heap of its turn, and
/// another thread checks and frees it.
#include <cstdint>
#include <cstdio>

#include <heapwood/allocators/cambium.cuh>
#include <heapwood/allocators/heap.cuh>
#include <heapwood/allocators/heapwood_heap.h>

namespace {

using heapwood::allocators::Cambium;
using heapwood::allocators::HeapRef;

constexpr unsigned kThreads = 16 * 12 * 64;
constexpr unsigned kLinks = 20;

struct Link {
    Link* next;
    unsigned bytes;
    unsigned stamp;
};

/// The linked heap, as if it were one of the templates.
struct Linked {
    heapwood_heap* heap;
    __device__ void* malloc(std::size_t bytes) const { return heapwood_malloc(heap, bytes); }
    __device__ void* realloc(void* block, std::size_t bytes) const {
        return heapwood_realloc(heap, block, bytes);
    }
    __device__ void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
        return heapwood_aligned_alloc(heap, alignment, bytes);
    }
    __device__ void free(void* block) const { heapwood_free(heap, block); }
    __device__ std::size_t usable_size(const void* block) const {
        return heapwood_usable_size(heap, block);
    }
};

__device__ unsigned this_thread() {
    const unsigned block = blockIdx.x;
    return (block * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

template <class Heap>
__global__ void make_lists(Heap even, Heap odd, Link** lists, unsigned* wrong) {
    const unsigned thread = this_thread();
    const Heap heap = thread % 2 == 0 ? even : odd;
    unsigned dice = thread * 2654435761U + 1;
    Link* list = nullptr;
    for (unsigned i = 0; i < kLinks; ++i) {
        dice = dice * 1664525U + 1013904223U;
        const unsigned bytes = sizeof(Link) + (dice >> 8) % 1000;
        void* block = i % 3 == 0 ? heap.aligned_alloc(256, bytes) : heap.malloc(bytes);
        if (i % 5 == 0) block = heap.realloc(block, bytes);
        if (block == nullptr || heap.usable_size(block) < bytes ||
            reinterpret_cast<std::uintptr_t>(block) % 16 != 0) {
            ++wrong[thread];
            continue;
        }
        auto* const all = static_cast<unsigned char*>(block);
        for (unsigned b = sizeof(Link); b < bytes; ++b) all[b] = static_cast<unsigned char>(dice);
        list = new (block) Link{list, bytes, dice};
    }
    lists[thread] = list;
}

template <class Heap>
__global__ void free_lists(Heap even, Heap odd, Link** lists, unsigned* wrong) {
    // Of a thread of another block, of the same turn.
    const unsigned thread = (this_thread() + kThreads / 2) % kThreads;
    const Heap heap = thread % 2 == 0 ? even : odd;
    for (Link* link = lists[thread]; link != nullptr;) {
        Link* const next = link->next;
        const auto* const all = reinterpret_cast<const unsigned char*>(link);
        for (unsigned b = sizeof(Link); b < link->bytes; ++b) {
            if (all[b] != static_cast<unsigned char>(link->stamp)) ++wrong[thread];
        }
        heap.free(link);
        link = next;
    }
}

bool check(cudaError_t status) {
    if (status != cudaSuccess) std::printf("GPU heap: %s\n", cudaGetErrorString(status));
    return status == cudaSuccess;
}

/// @return how much went wrong
template <class Heap>
unsigned long run(const Heap& even, const Heap& odd) {
    const dim3 block(16, 12);
    Link** lists = nullptr;
    unsigned* wrong = nullptr;
    if (!check(cudaMallocManaged(&lists, kThreads * sizeof(Link*))) ||
        !check(cudaMallocManaged(&wrong, kThreads * sizeof(unsigned)))) {
        return 1;
    }
    for (unsigned t = 0; t < kThreads; ++t) wrong[t] = 0;
    for (int round = 0; round < 3; ++round) {
        make_lists<<<kThreads / (16 * 12), block>>>(even, odd, lists, wrong);
        free_lists<<<kThreads / (16 * 12), block>>>(even, odd, lists, wrong);
    }
    if (!check(cudaDeviceSynchronize())) return 1;
    unsigned long total = 0;
    for (unsigned t = 0; t < kThreads; ++t) total += wrong[t];
    cudaFree(wrong);
    cudaFree(lists);
    return total;
}

unsigned long run_templates() {
    using heapwood::allocators::Heap;
    const Heap<Cambium> even(std::uint64_t{256} << 20);
    void* memory = nullptr;
    constexpr std::uint64_t kGiven = std::uint64_t{256} << 20;
    if (!check(cudaMalloc(&memory, kGiven))) return 1;
    unsigned long wrong = 0;
    {
        const Heap<Cambium> odd({.bytes = kGiven, .memory = memory});
        wrong = run<HeapRef<Cambium>>(even.ref(), odd.ref());
        wrong += even.use().allocated_bytes + odd.use().allocated_bytes;
    }
    cudaFree(memory);
    return wrong;
}

unsigned long run_linked() {
    heapwood_heap_options options{};
    options.bytes = std::uint64_t{64} << 20;
    Linked heaps[2];
    for (Linked& linked : heaps) {
        linked.heap = heapwood_heap_create(&options);
        // Too small for all lists: it grows.
        if (linked.heap == nullptr ||
            heapwood_heap_grow(linked.heap, std::uint64_t{256} << 20) != 0) {
            std::printf("GPU heap: %s\n", heapwood_heap_error());
            return 1;
        }
    }
    unsigned long wrong = run(heaps[0], heaps[1]);
    for (const Linked& linked : heaps) {
        heapwood_heap_use use{};
        if (heapwood_heap_get_use(linked.heap, &use) != 0) return 1;
        wrong += use.allocated_bytes;
        wrong += static_cast<unsigned>(heapwood_heap_destroy(linked.heap));
    }
    return wrong;
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("GPU heap: none here, skipped");
        return 0;
    }
    const unsigned long by_templates = run_templates();
    const unsigned long linked = run_linked();
    std::printf("GPU heap: %lu wrong by templates, %lu linked\n", by_templates, linked);
    return by_templates + linked == 0 ? 0 : 1;
}
