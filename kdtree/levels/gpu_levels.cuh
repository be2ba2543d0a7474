/// @file
/// The level method's machine on a GPU: every step is a kernel launch of its own, on the default
/// stream. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cub/device/device_for.cuh>
#include <cub/device/device_scan.cuh>

#include "allocators/memory/array_pool.h"
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/warp.cuh"
#include "kdtree/levels/level_state.cuh"
#include "kdtree/split/split_exact.cuh"

namespace heapwood::kdtree {
namespace detail {

inline constexpr unsigned kLevelWarps = 4;  ///< of a block

/// step(warp, scratch, i) for all i < n, a warp each.
template <class Step>
__global__ void __launch_bounds__(kLevelWarps * 32)
    warp_kernel(const __grid_constant__ Step step, std::uint32_t n) {
    __shared__ typename Step::Scratch scratch[kLevelWarps];
    const std::uint32_t in_block = threadIdx.x / 32;
    const std::uint32_t i = blockIdx.x * kLevelWarps + in_block;
    if (i < n) step(platform::DeviceWarp{}, scratch[in_block], i);
}

struct SumOfNeeds {
    HEAPWOOD_INLINE Needs operator()(const Needs& a, const Needs& b) const { return a + b; }
};

}  // namespace detail

/// See level_driver.h. Belongs to the device that is current when it is made.
class GpuLevels {
public:
    using Search = ExactSearch;

    allocators::Place place() const { return allocators::Place::device; }
    std::uint32_t warps() const { return warps_; }

    template <class Step>
    void for_each(std::uint32_t n, const Step& step) {
        platform::check_cuda(cub::DeviceFor::Bulk(n, step), "launching a step of the build");
    }
    template <class Step>
    void for_each_warp(std::uint32_t n, const Step& step) {
        if (n == 0) return;
        const auto blocks =
            static_cast<std::uint32_t>(platform::ceil_div<std::uint64_t>(n, detail::kLevelWarps));
        detail::warp_kernel<<<blocks, detail::kLevelWarps * 32>>>(step, n);
        platform::check_cuda(cudaGetLastError(), "launching a step of the build");
    }
    void exclusive_scan(allocators::ArrayPool& pool, Needs* values, std::uint32_t n) {
        std::size_t bytes = 0;
        const auto scan = [&](void* scratch) {
            platform::check_cuda(cub::DeviceScan::ExclusiveScan(scratch, bytes, values, values,
                                                                detail::SumOfNeeds{}, Needs{}, n),
                                 "summing up what a level needs");
        };
        scan(nullptr);  // only says how much memory it takes
        const allocators::ArrayPool::Block scratch = pool.request(bytes, "the memory of a scan");
        scan(scratch.data());
    }
    void copy(void* to, const void* from, std::uint64_t bytes) {
        platform::check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice),
                             "moving a part of the tree");
    }
    /// Everything between two events, the host's waiting included.
    template <class F>
    double time(const F& f) {
        return platform::run_timed_by_cuda("building level by level", f);
    }

private:
    const std::uint32_t warps_ =
        platform::multiprocessors() * (platform::threads_of_multiprocessor() / 32);
};

}  // namespace heapwood::kdtree
