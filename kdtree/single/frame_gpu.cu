/// @file
/// Reading the triangles of a frame on a GPU, and finding their box.
#include "kdtree/single/frame_gpu.h"

#include <cuda_runtime.h>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/cuda_runtime.h"

namespace heapwood::kdtree {
namespace {

constexpr std::uint32_t kThreads = 256;

/// A triangle a thread.
__global__ void gather_kernel(const __grid_constant__ Frame frame, float scale, Triangle* to,
                              BuildState* state) {
    gather_frame(frame, scale, blockIdx.x * kThreads + threadIdx.x, gridDim.x * kThreads, to,
                 *state);
}

/// Triangles of a thread that looks for the box: fewer threads have less to agree on.
constexpr std::uint32_t kTrianglesEach = 16;

__global__ void widen_kernel(const __grid_constant__ Frame frame, WideningBox* box) {
    widen_box(frame, blockIdx.x * kThreads + threadIdx.x, gridDim.x * kThreads, *box);
}

}  // namespace

void gather_on_gpu(const Frame& frame, float scale, Triangle* to, BuildState& state, void* stream) {
    gather_kernel<<<platform::ceil_div(frame.triangle_count, kThreads), kThreads, 0,
                    static_cast<cudaStream_t>(stream)>>>(frame, scale, to, &state);
    platform::check_cuda(cudaGetLastError(), "reading the triangles");
}

void widen_on_gpu(const Frame& frame, WideningBox& box, void* stream) {
    widen_kernel<<<platform::ceil_div(frame.triangle_count, kThreads * kTrianglesEach), kThreads, 0,
                   static_cast<cudaStream_t>(stream)>>>(frame, &box);
    platform::check_cuda(cudaGetLastError(), "finding the box of the triangles");
}

}  // namespace heapwood::kdtree
