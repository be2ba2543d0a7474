/// @file
/// Builds with the single kernel on a machine: the arrays of builds, larger ones where an estimate
/// was short, and what a build took.
///
/// A machine says where memory lies and how many warps run, and begins builds:
///     Place place() const;  std::uint32_t warps() const;  std::uint32_t cache_users() const;
///     std::uint32_t multiprocessors() const;
///     std::uint32_t lanes() const;  // of a warp
///     template <class A> Launch launch(const Problem&, const typename A::Ref&) const;
///         // launch.ms() waits until the build has ended, and has its milliseconds
///     template <class A> void enqueue(const Problem&, const typename A::Ref&) const;  // untimed
///     void wait() const;  // until builds have ended
///     void gather(const Frame&, float scale, Triangle* to, BuildState&) const;
///     void widen(const Frame&, WideningBox&) const;
///     template <class A> void describe(BuildResult&) const;  // registers and the like
/// The last four are for those who use them. On a GPU all goes to the StreamScope's stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/heap/growth_limits.h"
#include "allocators/measure/adaptor.h"
#include "allocators/measure/fragmentation.h"
#include "allocators/memory/array_pool.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/threads.h"
#include "kdtree/build_result.h"
#include "kdtree/depth_search.h"
#include "kdtree/single/build_input.h"
#include "kdtree/single/build_memory.h"
#include "kdtree/single/frame.cuh"
#include "kdtree/single/pool_growth.h"

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

/// A scene in a machine's memory, and any number of builds of its tree, with any allocators; then
/// another scene. Refers to run.array_pool.
template <class Machine>
class SingleBuilder {
public:
    /// Makes arrays for scenes of at most so many triangles.
    /// @throws std::invalid_argument for a bad configuration or number, allocators::BufferError
    /// when memory cannot be had.
    SingleBuilder(const Machine& machine, std::uint64_t triangles, const BuildConfig& config,
                  const RunConfig& run)
        : machine_(machine),
          config_(config),
          default_pool_(run.pool_bytes == 0),
          growth_(run.grow_to),
          own_pool_(machine.place()),
          array_pool_(run.array_pool != nullptr ? *run.array_pool : own_pool_) {
        validate(config);
        arrays_ms_ = platform::run_timed([&] {
            memory_.emplace(array_pool_, config, machine.warps(), triangles, machine.lanes());
            forget_others();
        });
        pool_ = {.place = machine.place(),
                 .bytes = default_pool_ ? pool_bytes_for(triangles) : run.pool_bytes,
                 .largest_request = root_array_bytes(triangles),
                 .multiprocessors = machine.multiprocessors(),
                 .callers = machine.warps(),
                 .cache_users = machine.cache_users(),
                 .choices = run.choices};
    }
    /// The same for this scene, which is loaded.
    SingleBuilder(const Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                  const RunConfig& run, BuildResult& result)
        : SingleBuilder(machine, scene.triangles.size(), config, run) {
        load(scene, result);
    }

    /// Uploads a scene, for which it makes larger arrays if they are too small; sets what is known
    /// then of the result. @return whether pool() has changed: an allocator of before may refuse
    /// the root's array. @throws as the constructor.
    bool load(const scenes::Scene& scene, BuildResult& result) {
        return begin_scene(scene.triangles.size(), result, [&] {
            memory_->load(scene);
            gather_ = nullptr;
        });
    }
    /// The box around a frame's triangles; lo > hi on an axis without a finite corner. Waits.
    scenes::Bounds bounds(const Frame& frame) {
        make_room(frame.triangle_count);
        memory_->reset();
        machine_.widen(frame, memory_->problem().state->box);
        return bounds_of(memory_->state().box);
    }
    /// The same of a frame in place, whose triangles are read anew at the beginning of each build.
    /// @throws also std::invalid_argument for a box that is none.
    bool load(const Frame& frame, BuildResult& result) {
        for (unsigned axis = 0; axis < 3; ++axis) {
            const float lo = component(frame.bounds.lo, axis);
            const float hi = component(frame.bounds.hi, axis);
            if (lo <= hi && std::isfinite(lo) && std::isfinite(hi)) continue;
            throw std::invalid_argument(
                "a frame needs finite bounds that hold all its triangles, or, where it has none, a "
                "triangle with finite coordinates");
        }
        return begin_scene(frame.triangle_count, result, [&] {
            const float scale = normalisation(frame.bounds, {});
            memory_->expect(frame.triangle_count, frame.bounds, scale);
            gather_ = [this, frame, scale] {
                machine_.gather(frame, scale, memory_->triangles(), *memory_->problem().state);
            };
        });
    }

    /// Of an allocator for these builds.
    const allocators::PoolConfig& pool() const { return pool_; }
    BuildMemory& memory() { return *memory_; }
    /// The tree of the last build that settle() was told of, if it is done.
    const TreeInPlace& tree_in_place() const { return made_; }
    const BuildMemory& memory() const { return *memory_; }

    /// An allocator for these builds; the result says what it took. @throws as make_allocator.
    template <allocators::Allocator A>
    A make_allocator(BuildResult& result) {
        std::optional<A> allocator;
        // If there is no memory for this pool, the next one is as large as its scene needs.
        const std::uint64_t largest_request = std::exchange(pool_.largest_request, 0);
        result.pool_ms = platform::run_timed([&] {
            allocators::PoolConfig pool = pool_;
            pool.largest_request = largest_request;
            allocator.emplace(kdtree::make_allocator<A>(pool));
        });
        pool_.largest_request = largest_request;
        result.pool_ms +=
            platform::run_timed([&] { growth_.let_grow(*allocator, largest_request); });
        result.pool_bytes = allocator->pool_bytes();
        result.overhead_bytes = allocator->overhead_bytes();
        growth_.begin(*allocator, result);
        machine_.template describe<A>(result);
        return std::move(*allocator);
    }

    /// Lets the pool of an allocator that can grow do so while a build runs.
    /// @throws std::runtime_error with a sentence where a GPU cannot do that.
    template <allocators::Allocator A>
    void let_grow(A& allocator) const {
        growth_.let_grow(allocator, pool_.largest_request);
    }
    /// Waits until a build whose pool may grow has ended. A copy from the device that waited for it
    /// would keep the copies from the device's memory's growth.
    template <allocators::Allocator A>
    void wait_for(const A&) const {
        if constexpr (allocators::GrowsAutomatically<A>) machine_.wait();
    }
    /// See BuildPoolGrowth.
    template <allocators::Allocator A>
    void note_growth(const A& allocator, BuildResult& result) const {
        growth_.note(allocator, result);
    }
    template <allocators::Allocator A>
    void unite_parts(A& allocator) {
        growth_.unite_parts(allocator);
    }

    /// One build. Arrays that were only estimated are enlarged and the build is begun anew, so that
    /// an estimate is never a limit. A tree with more references than its budget is built anew to a
    /// smaller depth, and so are all later ones of this scene.
    /// @return whether it is done; the result says why it is not.
    /// @throws std::invalid_argument for a frame in place that is faulty.
    template <allocators::Allocator A>
    bool build(A& allocator, BuildResult& result) {
        for (;;) {
            prepare(allocator);
            const auto launch = machine_.template launch<A>(memory_->problem(), allocator.ref());
            wait_for(allocator);
            const BuildState state = memory_->state();  // waits
            result.build_ms = launch.ms();
            if (settle(state, allocator, result)) return result.status == Status::done;
        }
    }

    /// Begins one build: puts it on the StreamScope's stream. No decision is the host's.
    template <allocators::Allocator A>
    void enqueue(A& allocator) {
        prepare(allocator);
        machine_.template enqueue<A>(memory_->problem(), allocator.ref());
    }

    /// After a build has ended with these counters: what came of it. Makes ready for the next
    /// build.
    /// @return whether this was the last build. If not, the status says what was too small, or that
    /// the tree is over its budget, and the next build has what it needs.
    template <allocators::Allocator A>
    bool settle(const BuildState& state, const A& allocator, BuildResult& result) {
        if (state.faults != 0) throw std::invalid_argument(explain_faults(state.faults));
        made_ = memory_->tree_in_place(state);
        result.status = static_cast<Status>(state.status.value);
        const bool exhausted = result.status == Status::nodes_exhausted ||
                               result.status == Status::references_exhausted;
        const bool over = over_budget(state);
        // Whether a tree that the configuration's limits are too small for is over its budget tells
        // a build without them.
        if (exhausted && !over &&
            (memory_->estimates(result.status) || state.references > budget_)) {
            memory_->enlarge(state, result.status);
            result.enlarged = true;
            return false;
        }
        if (const auto exceeded = memory_->restore_limits(state)) {
            result.enlarged = true;
            if (!over && !ends_build(result.status)) result.status = *exceeded;
        }
        if (over || result.status == Status::done) {
            if (!depth_->settle(over)) {
                if (over) result.status = Status::over_budget;
                return false;
            }
            if (depth_->unknown()) {
                result.status = Status::pool_exhausted;
                return true;  // with the message of the build that the pool was too small for
            }
            result.message.clear();
            result.overwritten = false;
            if (depth_->limited()) result.depth_limit = depth_->depth();
            if (memory_->enlarge_large_arrays(state)) result.enlarged = true;
            return true;
        }
        result.message = explain(result.status, memory_->problem(), state, bytes_of(allocator)) +
                         growth_.why_not_larger(allocator, result.status);
        if constexpr (allocators::RefusesToOverwrite<A>) {
            const std::string note = allocator.failure_note();
            result.overwritten = !note.empty();
            if (result.overwritten) result.message += "; " + note;
        }
        // Whether a tree that the pool is too small for is over its budget tells a build to a
        // smaller depth.
        if (result.status == Status::pool_exhausted && state.references > budget_ &&
            depth_->depth() > 0) {
            result.status = Status::over_budget;
            return depth_->settle(BudgetVerdict::unknown);
        }
        return true;
    }

    /// The next build that is settled is the first of its scene: to the largest depth, whatever was
    /// settled before. To be called for each build that enqueue() began, or a graph repeated.
    void begin_settling(BuildResult& result) {
        depth_.emplace(full_depth_);
        result.message.clear();
        result.overwritten = false;
        result.depth_limit.reset();
        result.enlarged = false;
    }

    /// What was in use, and the profile.
    void note_memory(BuildResult& result) const {
        result.memory = memory_->use();
        result.memory.pool = result.pool_bytes;
        result.memory.side_tables = result.overhead_bytes;
        if (result.status == Status::done) result.profile = memory_->profile();
    }
    /// The same, the last build's tree, and what is left in the pool.
    template <allocators::Allocator A>
    void finish(const A& allocator, BuildResult& result) const {
        note_growth(allocator, result);
        note_memory(result);
        const allocators::PoolUse use = growth_.left_in(allocator);
        result.leaked_bytes = use.allocated_bytes;
        result.external_fragmentation = allocators::external_fragmentation(use);
        if (result.status == Status::done) result.tree = memory_->tree();
    }

private:
    void make_room(std::uint64_t triangles) {
        require_triangles(triangles);
        if (!memory_->reserve(triangles)) return;
        grown_ = true;
        forget_others();
    }
    /// What all scenes begin with; `fill` makes the problem.
    template <class Fill>
    bool begin_scene(std::uint64_t triangles, BuildResult& result, const Fill& fill) {
        bool grown = false;
        result.upload_ms = std::exchange(arrays_ms_, 0) + platform::run_timed([&] {
                               make_room(triangles);
                               grown = std::exchange(grown_, false);
                               fill();
                           });
        result.root_bytes = root_array_bytes(triangles);
        result.warps = machine_.warps();
        budget_ = reference_budget(config_, triangles);
        full_depth_ = memory_->problem().max_depth;
        begin_settling(result);
        result.status = Status::done;
        result.enlarged = grown;
        const bool larger = result.root_bytes > pool_.largest_request;
        if (larger) {
            pool_.largest_request = result.root_bytes;
            if (default_pool_) pool_.bytes = pool_bytes_for(triangles);
        }
        memory_->limit_tiny_nodes(BuildPoolGrowth::tiny_share(pool_.bytes, result.root_bytes));
        return larger;
    }
    /// What other builds have left in the pool of arrays, and these do not use, is room for an
    /// allocator's pool.
    void forget_others() {
        array_pool_.trim();
        array_pool_.reset_peak();
    }

    /// Of the pool: what was asked for, and what it has grown by.
    template <allocators::Allocator A>
    std::uint64_t bytes_of(const A& allocator) const {
        if constexpr (allocators::GrowsAutomatically<A>) return allocator.pool_bytes();
        return pool_.bytes;
    }
    /// Counters, triangles and pool as at the start of a build.
    template <allocators::Allocator A>
    void prepare(A& allocator) {
        growth_.settle(allocator);
        if constexpr (allocators::GrowsAutomatically<A>) {
            const std::uint64_t root = root_array_bytes(memory_->problem().count);
            // An allocator may round what it was asked for.
            const std::uint64_t bytes = std::max(pool_.bytes, allocator.pool_bytes());
            memory_->limit_tiny_nodes(
                BuildPoolGrowth::tiny_share(growth_.expected_bytes(bytes, root), root));
        }
        memory_->limit_depth(depth_->depth());
        memory_->reset();
        if (gather_) gather_();
        allocator.reset();
    }

    /// Whether the last build's tree is known to have more references than it may. Of a build that
    /// has failed only the places are known that were reserved, which are more than are used.
    bool over_budget(const BuildState& state) const {
        if (state.references > memory_->problem().most_references) return true;
        return static_cast<Status>(state.status.value) == Status::done &&
               state.references > budget_ && memory_->tree().references.size() > budget_;
    }

    const Machine machine_;
    const BuildConfig config_;
    const bool default_pool_;
    BuildPoolGrowth growth_;
    TreeInPlace made_;
    bool grown_ = false;  ///< arrays, since the last scene began
    allocators::ArrayPool own_pool_;
    allocators::ArrayPool& array_pool_;
    allocators::PoolConfig pool_{};
    double arrays_ms_ = 0;  ///< of making the arrays, for the first scene's result
    std::optional<BuildMemory> memory_;
    std::uint64_t budget_ = 0;
    std::uint32_t full_depth_ = 0;  ///< of the scene's tree, before any search
    std::optional<DepthSearch> depth_;
    std::function<void()> gather_;  ///< puts the kernel on the stream that reads a frame in place
};

}  // namespace heapwood::kdtree
