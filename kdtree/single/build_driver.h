/// @file
/// Runs builds on a machine: memory, repetitions, retries with larger arrays, and the result.
///
/// A machine says where memory lies and how many warps run, and launches the workers:
///     Place place() const;  std::uint32_t warps() const;  std::uint32_t multiprocessors() const;
///     template <class A> double run(const Problem&, const typename A::Ref&) const;  // ms
///     template <class A> void describe(BuildResult&) const;  // registers and the like
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/measure/counting.cuh"
#include "allocators/measure/fragmentation.h"
#include "allocators/measure/tracing.cuh"
#include "allocators/memory/array_pool.h"
#include "allocators/memory/buffer.h"
#include "kdtree/builder.h"
#include "kdtree/single/build_state.cuh"

namespace heapwood::kdtree {

/// All memory of a build but the allocator's pool. It comes from a host pool, so that the next
/// build need not ask the system for it.
class BuildMemory {
    using Block = allocators::ArrayPool::Block;

public:
    /// Uploads the scene. @throws allocators::BufferError, which says for which array.
    BuildMemory(allocators::ArrayPool& pool, const scenes::Scene& scene, const BuildConfig& config,
                std::uint32_t warps);

    /// Counters and queue as at the start of a build.
    void reset();
    /// What the kernel takes.
    const Problem& problem() const { return problem_; }
    /// The counters after a build.
    BuildState state() const;
    /// Where the last build's time went; nothing but in a profiling build.
    std::optional<BuildProfile> profile() const;
    /// The finished tree, in canonical form.
    Tree tree() const;
    /// After a build that ran short of nodes or references: replaces the arrays by ones that are
    /// large enough, but for those whose size the configuration sets.
    void enlarge(const BuildState& state);
    /// After a build that had more large nodes than the job array holds, which it divided by one
    /// warp each: a larger array for the next one, if there is memory for it.
    void enlarge_jobs(const BuildState& state);
    /// Bytes of all these arrays; `spare` is what the pool has held since its last reset_peak, at
    /// most, beyond what was in use.
    MemoryUse use() const;

private:
    void make_outputs(std::uint64_t nodes, std::uint64_t references);

    allocators::ArrayPool& pool_;
    Box scene_bounds_;
    float normalisation_;  ///< of the scene's coordinates, for the build
    std::uint64_t slack_warps_;
    std::uint64_t max_nodes_;
    std::uint64_t max_references_;
    Block triangles_;
    Block nodes_;
    Block references_;
    Block jobs_;
    Block stacks_;
    Block arenas_;
    Block slots_;
    Block state_;
    Block profiles_;
    Problem problem_{};
};

/// A sentence on why the build ended early, and what would have been enough where that is known.
std::string explain(Status status, const Problem& problem, const BuildState& state,
                    std::uint64_t pool_bytes);

/// How the pool looks when most is live in it. Builds once more, and lets the pool freeze when it
/// comes to the peak of the build that the allocator has just counted. Other schedules have lower
/// peaks: where that is not reached, again for a little less than the lowest so far. Nothing, if
/// that does not help or the pool cannot be walked.
template <class Machine, allocators::Allocator A>
std::optional<allocators::PeakUse> measure_peak(const Machine& machine, BuildMemory& memory,
                                                allocators::Counting<A>& allocator) {
    if (!A::traits().walkable) return std::nullopt;
    std::uint64_t peak = allocator.statistics().peak_live_bytes;
    for (const std::uint64_t percent : {100, 98, 90, 70}) {
        allocator.freeze_at(peak * percent / 100);
        allocator.reset();
        memory.reset();
        machine.template run<allocators::Counting<A>>(memory.problem(), allocator.ref());
        const allocators::Statistics live = allocator.statistics();
        if (!allocator.frozen()) {
            peak = std::min(peak, live.peak_live_bytes);
            continue;
        }
        const allocators::PoolUse use = allocators::measure_pool(allocator);
        return allocators::PeakUse{
            .live_bytes = live.live_bytes,
            .allocated_bytes = use.allocated_bytes,
            .internal_fragmentation = live.live_internal_fragmentation,
            .external_fragmentation = allocators::external_fragmentation(use)};
    }
    return std::nullopt;
}

/// Builds once more, and records all requests and frees. `build` builds with an allocator and says
/// whether that was done; the allocator has counted what a build asks for, but another schedule may
/// ask for more: then again, with room for that. Nothing, if a build was not done.
/// @throws std::runtime_error if the records contradict themselves: the allocator is broken.
template <allocators::Allocator A, class Build>
std::optional<allocators::Trace> record_trace(allocators::Observed<A>& allocator,
                                              const Build& build) {
    const allocators::Statistics counted = allocator.statistics();
    for (std::uint64_t calls = counted.requests + counted.frees;;) {
        const std::uint64_t capacity = calls + calls / 8 + 1;
        allocator.inner().record(capacity);
        if (!build(allocator)) return std::nullopt;
        calls = allocator.inner().recorded();
        if (calls <= capacity) return allocator.inner().trace();
    }
}

/// An allocator. @throws allocators::BufferError, which says that it was for the pool.
template <allocators::Allocator A>
A make_allocator(const allocators::PoolConfig& config) {
    try {
        return A(config);
    } catch (const allocators::BufferError& error) {
        throw allocators::BufferError("the allocator's pool of " + std::to_string(config.bytes) +
                                      " bytes: " + error.what());
    }
}

/// Builds the tree of a scene with allocator A on a machine, options.repeat times.
/// @throws std::invalid_argument for a bad configuration, allocators::BufferError when memory
/// outside the pool cannot be had.
template <allocators::Allocator A, class Machine>
BuildResult drive(const Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                  const RunOptions& options) {
    using Clock = std::chrono::steady_clock;
    const auto ms_since = [](Clock::time_point start) {
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    };
    validate(config);
    BuildResult result;
    auto start = Clock::now();
    allocators::ArrayPool own_pool(machine.place(), options.keep);
    allocators::ArrayPool& array_pool =
        options.array_pool != nullptr ? *options.array_pool : own_pool;
    BuildMemory memory(array_pool, scene, config, machine.warps());
    array_pool
        .trim();  // what other builds have left, and this one does not use, is room for a pool
    array_pool.reset_peak();
    result.upload_ms = ms_since(start);
    result.root_bytes = root_array_bytes(scene.triangles.size());
    result.warps = machine.warps();
    const allocators::PoolConfig pool{.place = machine.place(),
                                      .bytes = options.pool_bytes,
                                      .largest_request = result.root_bytes,
                                      .multiprocessors = machine.multiprocessors(),
                                      .callers = machine.warps(),
                                      .choices = options.choices};

    // One build; true if it is done. Arrays that were only estimated are enlarged and the build
    // is begun anew, so that an estimate is never a limit.
    const auto build_once = [&]<class Alloc>(Alloc& allocator, double& ms) {
        for (;;) {
            memory.reset();
            allocator.reset();
            ms = machine.template run<Alloc>(memory.problem(), allocator.ref());
            const BuildState state = memory.state();
            result.status = static_cast<Status>(state.status.value);
            const bool estimated =
                (result.status == Status::nodes_exhausted && config.max_nodes == 0) ||
                (result.status == Status::references_exhausted && config.max_references == 0);
            if (result.status == Status::done) {
                memory.enlarge_jobs(state);
                return true;
            }
            if (!estimated) {
                result.message =
                    explain(result.status, memory.problem(), state, options.pool_bytes);
                if constexpr (allocators::RefusesToOverwrite<Alloc>) {
                    const std::string note = allocator.failure_note();
                    result.overwritten = !note.empty();
                    if (result.overwritten) result.message += "; " + note;
                }
                return false;
            }
            memory.enlarge(state);
        }
    };

    {
        start = Clock::now();
        A allocator = make_allocator<A>(pool);
        result.pool_ms = ms_since(start);
        result.pool_bytes = allocator.pool_bytes();
        result.overhead_bytes = allocator.overhead_bytes();
        machine.template describe<A>(result);
        double ms = 0;
        bool done = true;
        for (unsigned i = 0; done && i < options.warm_up + options.repeat; ++i) {
            done = build_once(allocator, ms);
            if (done && i >= options.warm_up) result.milliseconds.push_back(ms);
        }
        const allocators::PoolUse use = allocators::measure_pool(allocator);
        result.leaked_bytes = use.allocated_bytes;
        result.external_fragmentation = allocators::external_fragmentation(use);
        result.memory = memory.use();
        result.memory.pool = result.pool_bytes;
        result.memory.side_tables = result.overhead_bytes;
        if (!done) return result;
        result.tree = memory.tree();
        result.profile = memory.profile();
    }
    if (options.statistics || options.trace) {
        allocators::Observed<A> allocator(pool);
        double ms = 0;
        bool done = build_once(allocator, ms);
        if (done && options.trace) {
            result.trace = record_trace<A>(
                allocator, [&](auto& observed) { return build_once(observed, ms); });
            done = result.trace.has_value();
        }
        if (done) {
            result.allocations = allocator.statistics();
            if (options.statistics) result.peak = measure_peak(machine, memory, allocator);
        } else {
            result.tree = {};
        }
    }
    return result;
}

}  // namespace heapwood::kdtree
