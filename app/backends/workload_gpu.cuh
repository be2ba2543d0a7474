/// @file
/// Workloads on a GPU: every caller a thread, or the first lane of a warp, in blocks of 256 as in
/// the papers. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/multiprocessor.cuh"
#include "app/backends/workload_machine.h"

namespace heapwood::app {

/// Threads of a block (Winter et al. 2021; the programs of Vinkler & Havran).
inline constexpr unsigned kCallersPerBlock = 256;
/// Blocks of workload_kernel that a multiprocessor holds at least, with any allocator.
inline constexpr unsigned kResidentBlocks = 2;

/// Blocks for so many threads.
inline unsigned blocks_for(std::uint64_t threads) {
    return static_cast<unsigned>((threads + kCallersPerBlock - 1) / kCallersPerBlock);
}

/// Blocks for so many callers, which are the first `lanes` lanes of each warp.
inline unsigned blocks_for_callers(std::uint64_t callers, std::uint32_t lanes) {
    return blocks_for(platform::ceil_div<std::uint64_t>(callers, lanes) * 32);
}

/// One workload. Only the callers of a replay wait for one another: a replay has no more blocks
/// than are resident, and is launched by launch_resident(). At least two blocks a multiprocessor
/// are resident: 128 registers are enough for all allocators, and a few more would halve the number
/// of callers at work.
template <class Ref>
__global__ void __launch_bounds__(kCallersPerBlock, kResidentBlocks)
    workload_kernel(const __grid_constant__ allocators::Workload workload,
                    const __grid_constant__ Ref ref, std::uint32_t multiprocessors) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const std::uint32_t caller = thread / 32 * workload.lanes + thread % 32;
    if (caller >= workload.callers || thread % 32 >= workload.lanes) return;
    const allocators::Context context{.multiprocessor = platform::multiprocessor(multiprocessors),
                                      .warp = thread / 32};
    run_caller(ref, context, workload, caller);
}

/// One launch of a churn. Its callers never wait for one another.
template <class Ref>
__global__ void __launch_bounds__(kCallersPerBlock, kResidentBlocks)
    churn_kernel(const __grid_constant__ allocators::Churn churn, const __grid_constant__ Ref ref,
                 std::uint32_t multiprocessors) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const std::uint32_t caller = thread / 32 * churn.lanes + thread % 32;
    if (caller >= churn.callers || thread % 32 >= churn.lanes) return;
    const allocators::Context context{.multiprocessor = platform::multiprocessor(multiprocessors),
                                      .warp = thread / 32};
    churn_caller(ref, context, churn, caller);
}

/// One batch of edges. Its threads never wait for one another.
template <class Ref>
__global__ void __launch_bounds__(kCallersPerBlock, kResidentBlocks)
    update_kernel(const __grid_constant__ allocators::EdgeBatch batch,
                  const __grid_constant__ Ref ref, std::uint32_t multiprocessors) {
    const std::uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= batch.sources) return;
    const allocators::Context context{.multiprocessor = platform::multiprocessor(multiprocessors),
                                      .warp = thread / 32};
    update_vertex(ref, context, batch, thread);
}

/// An allocator's pool in the memory of the GPU; the number of threads is for CPUs.
template <allocators::Allocator A>
class GpuWorkloadPool : public WorkloadPool {
public:
    GpuWorkloadPool(const allocators::PoolConfig& config, unsigned)
        : allocator_(config), multiprocessors_(config.multiprocessors) {
        // CUDA loads a kernel at its first launch, which is not to be timed: here nobody calls.
        launch(1, {});
        platform::check_cuda(cudaGetLastError(), "loading the workloads");
    }

    double run(const allocators::Workload& workload) override {
        const unsigned blocks = blocks_for_callers(workload.callers, workload.lanes);
        return platform::run_timed_by_cuda("running a workload", [&] { launch(blocks, workload); });
    }
    double churn(const allocators::Churn& churn) override {
        return platform::run_timed_by_cuda("running a churn", [&] {
            churn_kernel<typename A::Ref>
                <<<blocks_for_callers(churn.callers, churn.lanes), kCallersPerBlock>>>(
                    churn, allocator_.ref(), multiprocessors_);
        });
    }
    double update(const allocators::EdgeBatch& batch) override {
        const unsigned blocks = blocks_for(std::max(batch.sources, 1U));
        return platform::run_timed_by_cuda("updating a graph", [&] {
            update_kernel<typename A::Ref>
                <<<blocks, kCallersPerBlock>>>(batch, allocator_.ref(), multiprocessors_);
        });
    }
    void reset() override { allocator_.reset(); }
    std::uint64_t pool_bytes() const override { return allocator_.pool_bytes(); }
    std::uint64_t overhead_bytes() const override { return allocator_.overhead_bytes(); }
    allocators::PoolUse use() const override { return allocators::measure_pool(allocator_); }

private:
    void launch(unsigned blocks, const allocators::Workload& workload) const {
        const auto kernel = workload_kernel<typename A::Ref>;
        if (workload.work == allocators::Work::replay) {
            platform::launch_resident("replaying", kernel, blocks, kCallersPerBlock, nullptr,
                                      workload, allocator_.ref(), multiprocessors_);
        } else {
            kernel<<<blocks, kCallersPerBlock>>>(workload, allocator_.ref(), multiprocessors_);
        }
    }

    A allocator_;
    std::uint32_t multiprocessors_;
};

}  // namespace heapwood::app
