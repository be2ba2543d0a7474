#include <cuda_runtime.h>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/cuda_runtime.h"
#include "app/backends/frame_copy.cuh"

namespace heapwood::app::detail {
namespace {

constexpr std::uint32_t kThreads = 256;

__global__ void copy_positions(const __grid_constant__ RowArray<float> from, glm::vec3* to) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < from.count) to[i] = position_at(from, i);
}

__global__ void copy_corners(const __grid_constant__ CornerArray from, glm::uvec3* to) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < from.count) to[i] = corners_at(from, i);
}

std::uint32_t blocks(std::uint64_t rows) {
    return static_cast<std::uint32_t>(platform::ceil_div(rows, std::uint64_t{kThreads}));
}

}  // namespace

void copy_frame_on_gpu(const RowArray<float>& positions, glm::vec3* to_positions,
                       const CornerArray& corners, glm::uvec3* to_triangles, void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    if (positions.count > 0) {
        copy_positions<<<blocks(positions.count), kThreads, 0, on>>>(positions, to_positions);
    }
    if (corners.count > 0) {
        copy_corners<<<blocks(corners.count), kThreads, 0, on>>>(corners, to_triangles);
    }
    platform::check_cuda(cudaGetLastError(), "copying the triangles");
}

}  // namespace heapwood::app::detail
