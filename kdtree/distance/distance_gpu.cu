/// @file
/// Batches of distances on a GPU.
#include <cuda_runtime.h>

#include <algorithm>

#include "allocators/platform/cuda_runtime.h"
#include "kdtree/distance/distance_work.cuh"

namespace heapwood::kdtree::detail {
namespace {

constexpr unsigned kThreads = 128;
constexpr std::uint64_t kMostBlocks = 1 << 24;

template <class Work>
__global__ void find_distances(std::uint64_t count, const __grid_constant__ Work work) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        work(i);
    }
}

}  // namespace

void device_distances(std::uint64_t count, const DistanceWork& work, const BatchOptions& options) {
    if (count == 0) return;
    const std::uint64_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
    std::visit(
        [&](const auto& body) {
            find_distances<<<static_cast<unsigned>(blocks), kThreads, 0,
                             static_cast<cudaStream_t>(options.stream)>>>(count, body);
        },
        work);
    platform::check_cuda(cudaGetLastError(), "launching a batch of distances");
}

}  // namespace heapwood::kdtree::detail
