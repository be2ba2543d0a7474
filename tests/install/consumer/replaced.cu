/// @file
/// A CUDA program that was written for CUDA's malloc: every thread makes lists and frees them. One
/// include makes its malloc Heapwood's.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include <heapwood/allocators/replace_malloc.cuh>

namespace {

// Few enough for the heap that CUDA has if nothing is said.
constexpr unsigned kBlocks = 8, kBlockSize = 192, kThreads = kBlocks * kBlockSize, kLinks = 16;

struct Link {
    Link* next;
    unsigned stamp;
};

__device__ Link* lists[kThreads];

__global__ void make_lists(unsigned* wrong) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    Link* list = nullptr;
    for (unsigned i = 0; i < kLinks; ++i) {
        auto* const link = static_cast<Link*>(malloc(sizeof(Link) + (thread + i) % 10 * 4));
        if (link == nullptr) {
            ++wrong[thread];
            continue;
        }
        *link = {list, thread * kLinks + i};
        list = link;
    }
    lists[thread] = list;
}

__global__ void free_lists(unsigned* wrong) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned i = kLinks;
    for (Link* link = lists[thread]; link != nullptr;) {
        Link* const next = link->next;
        if (link->stamp != thread * kLinks + --i) ++wrong[thread];
        free(link);
        link = next;
    }
    if (i != 0) ++wrong[thread];
}

std::uint64_t bytes_in_use() {
    heapwood_heap_use use{};
    return heapwood_heap_get_use(heapwood_global_heap(), &use) == 0 ? use.allocated_bytes : 0;
}

/// @return how much went wrong
unsigned run() {
    unsigned* wrong = nullptr;
    const std::size_t bytes = kThreads * sizeof(unsigned);
    if (cudaMalloc(&wrong, bytes) != cudaSuccess || cudaMemset(wrong, 0, bytes) != cudaSuccess) {
        return 1;
    }
    make_lists<<<kBlocks, kBlockSize>>>(wrong);
    unsigned total = cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
    // With CUDA's malloc there would be nothing in the heap.
    if (heapwood_global_heap() != nullptr && bytes_in_use() < kThreads * kLinks * 16) ++total;
    free_lists<<<kBlocks, kBlockSize>>>(wrong);
    if (cudaDeviceSynchronize() != cudaSuccess) ++total;
    if (heapwood_global_heap() != nullptr && bytes_in_use() != 0) ++total;
    auto* const counts = static_cast<unsigned*>(malloc(bytes));
    if (cudaMemcpy(counts, wrong, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) ++total;
    for (unsigned t = 0; t < kThreads; ++t) total += counts[t];
    free(counts);
    cudaFree(wrong);
    return total;
}

}  // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("GPU: none here, no malloc is replaced: skipped");
        return 0;
    }
    // Without a limit it is CUDA's malloc; then Heapwood's, which a higher limit makes larger.
    unsigned wrong = run();
    if (heapwood_global_heap() != nullptr) ++wrong;
    for (const std::size_t megabytes : {64, 96}) {
        if (cudaDeviceSetLimit(cudaLimitMallocHeapSize, megabytes << 20) != cudaSuccess) {
            std::printf("GPU: %s\n", heapwood_heap_error());
            return 1;
        }
        if (heapwood_global_heap() == nullptr) ++wrong;
        wrong += run();
    }
    std::printf("GPU: lists by malloc, %u wrong\n", wrong);
    return wrong == 0 ? 0 : 1;
}
