/// @file
/// Where workloads run: a machine, and on it an allocator's pool, behind plain functions.
#pragma once

#include <cstdint>
#include <memory>

#include "allocators/allocator.cuh"
#include "allocators/measure/adjacency.cuh"
#include "allocators/measure/churn.cuh"
#include "allocators/measure/fragmentation.h"
#include "allocators/measure/workload.cuh"

namespace heapwood::app {

/// An allocator's pool, and workloads on it.
class WorkloadPool {
public:
    virtual ~WorkloadPool() = default;

    /// Runs a workload to its end. @return milliseconds: of the kernel by CUDA events; on a CPU
    /// from the first thread's start to the last one's end. A replay has no more callers than the
    /// machine's resident_callers(), one a warp. @throws std::runtime_error for CUDA's errors, and
    /// where the callers of a replay do not all run at the same time.
    virtual double run(const allocators::Workload& workload) = 0;
    /// Runs a launch of a churn to its end. @return milliseconds, as run(). @throws as run().
    virtual double churn(const allocators::Churn& churn) = 0;
    /// Inserts or deletes a batch of edges, which may be empty. @return, @throws as run().
    virtual double update(const allocators::EdgeBatch& batch) = 0;
    /// Frees everything, where the allocator can (not CUDA's malloc).
    virtual void reset() = 0;
    virtual std::uint64_t pool_bytes() const = 0;
    virtual std::uint64_t overhead_bytes() const = 0;
    /// What its regions add up to.
    virtual allocators::PoolUse use() const = 0;
};

/// A machine that workloads run on, and what they need of it beside an allocator.
class WorkloadMachine {
public:
    virtual ~WorkloadMachine() = default;

    virtual allocators::Place place() const = 0;
    virtual std::uint32_t multiprocessors() const = 0;
    /// Threads that run at once: at most this many callers call at the same time.
    virtual std::uint32_t threads() const = 0;
    /// How many callers, one a warp, are certain to run at once, with any allocator.
    virtual std::uint32_t resident_callers() const = 0;
    /// Reads or writes all blocks. @return milliseconds, as WorkloadPool::run.
    virtual double touch(const allocators::Touch& touch) = 0;
    /// Fills the arrays of a graph, or reads them. @return milliseconds, as WorkloadPool::run.
    virtual double copy_edges(const allocators::EdgeCopy& copy) = 0;
    /// The way without an allocator (Winter et al. 2021): a prefix sum over the sizes of all slots,
    /// one piece of memory for all, from the system, and a pointer into it for every slot.
    /// @return milliseconds until the pointers are written.
    virtual double place_by_prefix_sum(const allocators::Blocks& blocks) = 0;
    /// Gives the memory of place_by_prefix_sum back. @return milliseconds.
    virtual double release_placed() = 0;
};

/// Makes an allocator's pool on a machine's machine. @throws what its constructor throws.
using MakePool = std::unique_ptr<WorkloadPool> (*)(const allocators::PoolConfig& config,
                                                   unsigned threads);

/// MakePool of a class of pools.
template <class Pool>
std::unique_ptr<WorkloadPool> make_pool(const allocators::PoolConfig& config, unsigned threads) {
    return std::make_unique<Pool>(config, threads);
}

/// The CPU. `threads`: how many, 0 for one a core.
std::unique_ptr<WorkloadMachine> cpu_workloads(unsigned threads);

/// The GPU. @throws std::runtime_error if there is none.
std::unique_ptr<WorkloadMachine> gpu_workloads();

}  // namespace heapwood::app
