/// @file
/// Builds that are measured: repeated, counted, recorded, and stopped at the pool's peak. Compiled
/// for every allocator and machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocators/heap/growth_limits.h"
#include "allocators/measure/counting.cuh"
#include "allocators/measure/heap_map.h"
#include "allocators/measure/tracing.cuh"
#include "app/backends/measured_build.h"
#include "kdtree/builder.h"

namespace heapwood::app {

/// How the pool looks when most is live in it. Builds once more, and lets the pool freeze when it
/// comes to the peak of the build that the allocator has just counted. Other schedules have lower
/// peaks: where that is not reached, again for a little less than the lowest so far. Nothing, if
/// that does not help or the pool cannot be walked.
/// @param regions gets those of the pool at that moment, unless nullptr.
template <class Machine, allocators::Allocator A>
std::optional<allocators::PeakUse> measure_peak(const Machine& machine, kdtree::BuildMemory& memory,
                                                allocators::Counting<A>& allocator,
                                                std::vector<allocators::Region>* regions) {
    if (!A::traits().walkable) return std::nullopt;
    std::uint64_t peak = allocator.statistics().peak_live_bytes;
    for (const std::uint64_t percent : {100, 98, 90, 70}) {
        allocator.freeze_at(peak * percent / 100);
        allocator.reset();
        memory.reset();
        machine.template launch<allocators::Counting<A>>(memory.problem(), allocator.ref()).ms();
        const allocators::Statistics live = allocator.statistics();
        if (!allocator.frozen()) {
            peak = std::min(peak, live.peak_live_bytes);
            continue;
        }
        if (regions != nullptr) *regions = allocators::regions_of(allocator);
        const allocators::PoolUse use = allocators::measure_pool(allocator);
        return allocators::PeakUse{
            .live_bytes = live.live_bytes,
            .allocated_bytes = use.allocated_bytes,
            .internal_fragmentation = live.live_internal_fragmentation,
            .external_fragmentation = allocators::external_fragmentation(use)};
    }
    return std::nullopt;
}

/// Looks at the pool at its peak and, for a map of it, as the allocator's last build left it.
template <class Machine, allocators::Allocator A>
void measure_pool_use(const Machine& machine, kdtree::BuildMemory& memory,
                      allocators::Counting<A>& allocator, const RunOptions& run,
                      MeasuredBuild& result) {
    if (!run.heap_map) {
        result.peak = measure_peak(machine, memory, allocator, nullptr);
        return;
    }
    const std::vector<allocators::Region> at_end = allocators::regions_of(allocator);
    std::vector<allocators::Region> at_peak;
    result.peak = measure_peak(machine, memory, allocator, &at_peak);
    if (result.peak) result.heap_map = allocators::heap_map(at_peak, at_end);
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

/// Builds the tree of a scene with allocator A on a machine, run.warm_up + run.repeat times, and
/// more often for what else is asked for. The tree is that of the timed builds.
/// @throws what kdtree::build_on does; std::runtime_error for a trace that contradicts itself.
template <allocators::Allocator A, class Machine>
MeasuredBuild run_builds(const Machine& machine, const scenes::Scene& scene,
                         const kdtree::BuildConfig& config, const RunOptions& run) {
    allocators::ArrayPool own_pool(machine.place(), run.keep);
    MeasuredBuild result;
    kdtree::SingleBuilder<Machine> builder(machine, scene, config, run.config(own_pool), result);
    {
        std::optional<A> allocator = builder.template make_allocator<A>(result);
        bool done = true;
        for (unsigned i = 0; done && i < run.warm_up + run.repeat; ++i) {
            if constexpr (allocators::GrowsAutomatically<A>) {
                // Each build begins with the pool that was asked for: its time is that with growth.
                if (allocator->part_count() > 1) {
                    allocator.reset();
                    allocator.emplace(builder.template make_allocator<A>(result));
                }
            }
            done = builder.build(*allocator, result);
            if (done && i >= run.warm_up) result.milliseconds.push_back(result.build_ms);
        }
        builder.finish(*allocator, result);
        if (!done) return result;
    }
    if (!run.statistics && !run.trace) return result;
    allocators::Observed<A> allocator(builder.pool());
    builder.let_grow(allocator);
    bool done = builder.build(allocator, result);
    if (done && run.trace) {
        result.trace = record_trace<A>(
            allocator, [&](auto& observed) { return builder.build(observed, result); });
        done = result.trace.has_value();
    }
    if (!done) {
        result.tree = {};
    } else if (run.statistics) {
        result.allocations = allocator.statistics();
        measure_pool_use(machine, builder.memory(), allocator, run, result);
    }
    return result;
}

}  // namespace heapwood::app
