/// @file
/// The builder on a GPU: one persistent kernel. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "allocators/platform/cuda_check.h"
#include "allocators/platform/multiprocessor.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_driver.h"
#include "kdtree/single/build_worker.cuh"

namespace heapwood::kdtree {

/// Warps of a block, and the blocks a multiprocessor should hold: the second bounds the registers.
inline constexpr unsigned kWarpsPerBlock = 4;
inline constexpr unsigned kBlocksPerMultiprocessor = 5;

/// The whole build. Launched with no more blocks than are resident, for its warps wait for one
/// another.
template <class A, Arrays kArrays>
__global__ void __launch_bounds__(kWarpsPerBlock * 32, kBlocksPerMultiprocessor)
    build_kernel(const __grid_constant__ Problem problem,
                 const __grid_constant__ typename A::Ref allocator, std::uint32_t multiprocessors) {
    __shared__ Scratch<platform::DeviceWarp> scratch[kWarpsPerBlock];
    __shared__ allocators::CallerCache caches[kWarpsPerBlock];
    const std::uint32_t in_block = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) caches[in_block] = {};
    __syncwarp();
    const allocators::Context context{.multiprocessor = platform::multiprocessor(multiprocessors),
                                      .warp = blockIdx.x * kWarpsPerBlock + in_block,
                                      .cache = &caches[in_block]};
    BuildWorker<platform::DeviceWarp, A, kArrays> worker({}, problem, allocator, context,
                                                         scratch[in_block]);
    worker.run();
}

/// The machine of a GPU build: the current device, as many blocks of A's kernel as are resident.
template <class A>
class GpuMachine {
public:
    /// @throws std::runtime_error if there is no usable device.
    explicit GpuMachine(const BuildConfig& config) : small_arrays_(config.small_arrays) {
        int device = 0;
        platform::check_cuda(cudaGetDevice(&device), "finding the device");
        platform::check_cuda(
            cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
            "counting multiprocessors");
        // The kernel with the observing adaptors may have fewer resident blocks.
        blocks_ = resident_blocks<A>();
        const int observed = resident_blocks<allocators::Observed<A>>();
        observed_blocks_ = observed < blocks_ ? observed : blocks_;
    }

    allocators::Place place() const { return allocators::Place::device; }
    std::uint32_t warps() const { return static_cast<std::uint32_t>(blocks_) * kWarpsPerBlock; }
    std::uint32_t multiprocessors() const { return static_cast<std::uint32_t>(multiprocessors_); }

    template <class B>
    double run(const Problem& problem, const typename B::Ref& allocator) const {
        platform::CudaEvent start;
        platform::CudaEvent stop;
        const int blocks = std::is_same_v<A, B> ? blocks_ : observed_blocks_;
        platform::check_cuda(cudaEventRecord(start.event), "recording an event");
        kernel<B>()<<<static_cast<unsigned>(blocks), kWarpsPerBlock * 32>>>(problem, allocator,
                                                                            multiprocessors());
        platform::check_cuda(cudaGetLastError(), "launching the build kernel");
        platform::check_cuda(cudaEventRecord(stop.event), "recording an event");
        platform::check_cuda(cudaEventSynchronize(stop.event), "running the build kernel");
        float ms = 0;
        platform::check_cuda(cudaEventElapsedTime(&ms, start.event, stop.event),
                             "timing the build kernel");
        return ms;
    }

    template <class B>
    void describe(BuildResult& result) const {
        cudaFuncAttributes attributes{};
        platform::check_cuda(cudaFuncGetAttributes(&attributes, kernel<B>()),
                             "inspecting the kernel");
        result.registers = static_cast<unsigned>(attributes.numRegs);
        result.spill_bytes = static_cast<unsigned>(attributes.localSizeBytes);
    }

private:
    /// A's kernels are those that are timed.
    template <class B>
    auto kernel() const {
        if constexpr (std::is_same_v<A, B>) {
            return small_arrays_ ? build_kernel<B, Arrays::every> : build_kernel<B, Arrays::large>;
        } else {
            return build_kernel<B, Arrays::either>;
        }
    }

    template <class B>
    int resident_blocks() const {
        int per_multiprocessor = 0;
        platform::check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                 &per_multiprocessor, kernel<B>(), kWarpsPerBlock * 32, 0),
                             "computing the occupancy");
        return per_multiprocessor * multiprocessors_;
    }

    bool small_arrays_;
    int multiprocessors_ = 0;
    int blocks_ = 0;
    int observed_blocks_ = 0;
};

/// Builds the tree of a scene on the current GPU. See drive() for errors; std::runtime_error for
/// CUDA's.
template <allocators::Allocator A>
BuildResult build_on_gpu(const scenes::Scene& scene, const BuildConfig& config,
                         const RunOptions& options) {
    return drive<A>(GpuMachine<A>(config), scene, config, options);
}

}  // namespace heapwood::kdtree
