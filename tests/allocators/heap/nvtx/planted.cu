/// @file
/// A program with a mistake, for compute-sanitizer:
///     compute-sanitizer --nvtx yes heapwood_nvtx_planted none|beyond|freed
/// Four blocks of a guarded heap are taken, one of them is freed, and NVTX is told of those in use.
/// A kernel then writes within the first block only, or also to the word behind it, or to the one
/// that was freed. Ends with 0; whether the mistake was found is compute-sanitizer's to say.
#include <cstdio>
#include <cstring>
#include <exception>

#include "allocators/cambium.cuh"
#include "allocators/heap/guarded.cuh"
#include "allocators/heap/nvtx_blocks.h"
#include "allocators/platform/cuda_runtime.h"

namespace {

using heapwood::allocators::Cambium;
using heapwood::allocators::GuardedHeap;
using heapwood::allocators::GuardedRef;
using heapwood::platform::check_cuda;

constexpr unsigned kBlocks = 4;
constexpr unsigned kWords = 64;

__global__ void take(GuardedRef<Cambium> heap, unsigned** blocks) {
    for (unsigned i = 0; i < kBlocks; ++i) {
        blocks[i] = static_cast<unsigned*>(heap.malloc(kWords * sizeof(unsigned)));
    }
    heap.free(blocks[1]);
}

__global__ void use(unsigned* const* blocks, unsigned block, unsigned words) {
    for (unsigned i = 0; i < words; ++i) blocks[block][i] = i;
}

void run(const char* mistake) {
    GuardedHeap<Cambium> heap(std::uint64_t{64} << 20);
    unsigned** blocks = nullptr;
    check_cuda(cudaMalloc(&blocks, kBlocks * sizeof *blocks), "allocating");
    take<<<1, 1>>>(heap.ref(), blocks);
    check_cuda(cudaDeviceSynchronize(), "taking blocks");
    {
        const heapwood::allocators::NvtxBlocks shown(heap, "planted");
        use<<<1, 1>>>(blocks, 0, kWords + (std::strcmp(mistake, "beyond") == 0 ? 1 : 0));
        if (std::strcmp(mistake, "freed") == 0) use<<<1, 1>>>(blocks, 1, 1);
        // compute-sanitizer lets a kernel fail in which it has found something.
        static_cast<void>(cudaDeviceSynchronize());
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: heapwood_nvtx_planted none|beyond|freed\n");
        return 2;
    }
    try {
        run(arguments[1]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "heapwood_nvtx_planted: %s\n", failure.what());
        return 1;
    }
    std::puts("done");
    return 0;
}
