/// @file
/// Builds with the single kernel on a machine: the arrays of a scene's builds, larger ones where an
/// estimate was short, and what a build took.
///
/// A machine says where memory lies and how many warps run, and launches the workers:
///     Place place() const;  std::uint32_t warps() const;  std::uint32_t multiprocessors() const;
///     template <class A> double run(const Problem&, const typename A::Ref&) const;  // ms
///     template <class A> void describe(BuildResult&) const;  // registers and the like
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/measure/fragmentation.h"
#include "allocators/memory/array_pool.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/threads.h"
#include "kdtree/build_result.h"
#include "kdtree/depth_search.h"
#include "kdtree/single/build_memory.h"

namespace heapwood::kdtree {

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

/// A scene in a machine's memory, and any number of builds of its tree, with any allocators. Refers
/// to the machine and to options.array_pool.
template <class Machine>
class SingleBuilder {
public:
    /// Makes the arrays and uploads the scene; sets what is known then of the result.
    /// @throws std::invalid_argument for a bad configuration, allocators::BufferError when memory
    /// cannot be had.
    SingleBuilder(const Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                  const BuildOptions& options, BuildResult& result)
        : machine_(machine), config_(config), options_(options), own_pool_(machine.place()) {
        validate(config);
        allocators::ArrayPool& pool =
            options.array_pool != nullptr ? *options.array_pool : own_pool_;
        result.upload_ms = platform::run_timed([&] {
            memory_.emplace(pool, scene, config, machine.warps());
            pool.trim();  // what other builds have left, and these do not use, is room for a pool
            pool.reset_peak();
        });
        result.root_bytes = root_array_bytes(scene.triangles.size());
        budget_ = reference_budget(config, scene.triangles.size());
        depth_.emplace(memory_->problem().max_depth);
        result.warps = machine.warps();
        pool_ = {.place = machine.place(),
                 .bytes = options.pool_bytes,
                 .largest_request = result.root_bytes,
                 .multiprocessors = machine.multiprocessors(),
                 .callers = machine.warps(),
                 .choices = options.choices};
    }

    /// Of an allocator for these builds.
    const allocators::PoolConfig& pool() const { return pool_; }
    BuildMemory& memory() { return *memory_; }

    /// An allocator for these builds; the result says what it took. @throws as make_allocator.
    template <allocators::Allocator A>
    A make_allocator(BuildResult& result) const {
        std::optional<A> allocator;
        result.pool_ms =
            platform::run_timed([&] { allocator.emplace(kdtree::make_allocator<A>(pool_)); });
        result.pool_bytes = allocator->pool_bytes();
        result.overhead_bytes = allocator->overhead_bytes();
        machine_.template describe<A>(result);
        return std::move(*allocator);
    }

    /// One build. Arrays that were only estimated are enlarged and the build is begun anew, so that
    /// an estimate is never a limit. A tree with more references than its budget is built anew to a
    /// smaller depth, and so are all later ones.
    /// @return whether it is done; the result says why it is not.
    template <allocators::Allocator A>
    bool build(A& allocator, BuildResult& result) {
        for (;;) {
            memory_->limit_depth(depth_->depth());
            memory_->reset();
            allocator.reset();
            result.build_ms = machine_.template run<A>(memory_->problem(), allocator.ref());
            const BuildState state = memory_->state();
            result.status = static_cast<Status>(state.status.value);
            if (result.status == Status::done || result.status == Status::over_budget) {
                if (!depth_->settle(over_budget(state))) continue;
                if (depth_->limited()) result.depth_limit = depth_->depth();
                memory_->enlarge_jobs(state);
                return true;
            }
            const bool estimated =
                (result.status == Status::nodes_exhausted && config_.max_nodes == 0) ||
                (result.status == Status::references_exhausted && config_.max_references == 0);
            if (estimated) {
                memory_->enlarge(state);
                continue;
            }
            result.message = explain(result.status, memory_->problem(), state, pool_.bytes);
            if constexpr (allocators::RefusesToOverwrite<A>) {
                const std::string note = allocator.failure_note();
                result.overwritten = !note.empty();
                if (result.overwritten) result.message += "; " + note;
            }
            return false;
        }
    }

    /// The last build's tree, and what is left in the pool and was in use.
    template <allocators::Allocator A>
    void finish(const A& allocator, BuildResult& result) const {
        const allocators::PoolUse use = allocators::measure_pool(allocator);
        result.leaked_bytes = use.allocated_bytes;
        result.external_fragmentation = allocators::external_fragmentation(use);
        result.memory = memory_->use();
        result.memory.pool = result.pool_bytes;
        result.memory.side_tables = result.overhead_bytes;
        if (result.status != Status::done) return;
        result.tree = memory_->tree();
        result.profile = memory_->profile();
    }

private:
    /// Whether the last build's tree has more references than it may. More are reserved than used.
    bool over_budget(const BuildState& state) const {
        return static_cast<Status>(state.status.value) == Status::over_budget ||
               (state.references > budget_ && memory_->tree().references.size() > budget_);
    }

    const Machine& machine_;
    const BuildConfig config_;
    const BuildOptions options_;
    allocators::ArrayPool own_pool_;
    allocators::PoolConfig pool_{};
    std::optional<BuildMemory> memory_;
    std::uint64_t budget_ = 0;
    std::optional<DepthSearch> depth_;
};

/// Builds the tree of a scene with allocator A on a machine, once.
/// @throws std::invalid_argument for a bad configuration, allocators::BufferError when memory
/// outside the pool cannot be had; and what the machine throws.
template <allocators::Allocator A, class Machine>
BuildResult build_on(const Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                     const BuildOptions& options) {
    BuildResult result;
    SingleBuilder<Machine> builder(machine, scene, config, options, result);
    A allocator = builder.template make_allocator<A>(result);
    builder.build(allocator, result);
    builder.finish(allocator, result);
    return result;
}

}  // namespace heapwood::kdtree
