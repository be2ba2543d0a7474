/// @file
/// Trees of animated scenes: a builder that keeps everything between builds.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "allocators/memory/stream_scope.h"
#include "kdtree/single/single_builder.h"

namespace heapwood::kdtree {

/// Builds tree after tree with allocator A on a machine (CpuMachine, or GpuMachine<A>). Arrays and
/// pool are made once, for a number of triangles. A further build of no more triangles takes no
/// memory from the system or the device, unless what was estimated proves too small: then the
/// arrays grow, result().enlarged says so, and builds after it find them large enough. Arrays never
/// shrink.
///
/// Every tree is, bit for bit, the one that build_on makes of the same scene. It stays where it was
/// built until the next build begins.
///
/// On a GPU each build puts this on the caller's stream, in this order:
/// 1. the build's counters (BuildState) by a small kernel that has them as its parameters, and the
///    queue's slots by a memset;
/// 2. for a frame in place, a kernel that reads the triangles; a scene of the host is copied before
///    1., from pageable memory (48 bytes a triangle), which CUDA may wait for;
/// 3. the allocator's reset(): memsets, and small kernels where it writes tables (atomicmalloc: one
///    memset of 8 bytes);
/// 4. the build kernel, by a cooperative launch: it starts when the GPU has room for all its
/// blocks. rebuild() then copies the counters to the host and waits for the stream: once, unless
/// the build has to begin anew, because arrays grew or the tree had too many references
/// (BuildConfig::max_duplication). enqueue() does 1. to 4. and decides nothing on the host, so it
/// can be captured in a CUDA graph (with an allocator whose reset() writes at most 64 KiB at a
/// time, and reads nothing); finish() copies and waits. For a frame without a box rebuild() begins
/// with a kernel that finds it, and waits for that, too.
///
/// For one thread at a time. A build must have ended (rebuild, finish), and what reads its tree in
/// place, before the next one begins on another stream, and before the builder goes. Neither
/// movable nor copyable.
template <allocators::Allocator A, class Machine>
class Builder {
public:
    /// Makes arrays for scenes of at most so many triangles, and the pool.
    /// @throws std::invalid_argument for a bad configuration, allocators::BufferError when memory
    /// cannot be had, and what the machine throws.
    Builder(const Machine& machine, std::uint64_t triangles, const BuildConfig& config,
            const RunConfig& run)
        : arrays_(machine, triangles, config, run) {
        allocator_.emplace(arrays_.template make_allocator<A>(result_));
    }
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    /// Builds the tree of a scene of the host. A scene of more triangles than there is room for
    /// gets larger arrays, and a new pool: of the same size, or of pool_bytes_for(). The
    /// scene may go afterwards.
    /// @param stream GPU only: a cudaStream_t of the current device; nullptr: the default stream
    /// @return whether it is done. If not, result() says what ran out, and the next build is as
    /// good as any.
    /// @throws std::invalid_argument for a scene without triangles or with too many,
    /// allocators::BufferError when memory cannot be had, after which the next build tries again.
    bool rebuild(const scenes::Scene& scene, void* stream = nullptr) {
        const allocators::StreamScope scope(stream);
        load(scene);
        return build();
    }

    /// Builds the tree of a frame that is where the machine's memory is, from which it reads on the
    /// stream; where its box is empty, it is found first. @throws also std::invalid_argument for a
    /// frame that is not within its bounds, or has no such positions.
    bool rebuild(const Frame& frame, void* stream = nullptr) {
        const allocators::StreamScope scope(stream);
        load(with_bounds(frame));
        return build();
    }

    /// Begins a build of a frame in place, and does not wait. In a graph it is what each launch
    /// repeats, of the positions that are there then.
    /// @throws std::invalid_argument for a frame of more triangles than there is room for, or
    /// without a box.
    void enqueue(const Frame& frame, void* stream = nullptr) {
        if (frame.triangle_count > arrays_.memory().capacity()) {
            throw std::invalid_argument("a frame of " + std::to_string(frame.triangle_count) +
                                        " triangles is too large for a builder of " +
                                        std::to_string(arrays_.memory().capacity()) +
                                        ": rebuild() it, which makes room");
        }
        const allocators::StreamScope scope(stream);
        load(frame);
        arrays_.enqueue(*allocator_);
    }

    /// Waits for the build that was begun, or launched with a graph, and says whether it is done.
    /// If it is not, result().message says why. Where arrays have grown (result().enlarged) a graph
    /// has to be captured anew.
    /// @throws as rebuild.
    bool finish(void* stream = nullptr) {
        const allocators::StreamScope scope(stream);
        arrays_.begin_settling(result_);
        arrays_.wait_for(*allocator_);
        const BuildState state = arrays_.memory().state();
        const bool settled = arrays_.settle(state, *allocator_, result_);
        arrays_.note_growth(*allocator_, result_);
        if (!settled) {
            result_.message =
                result_.status == Status::over_budget
                    ? "the tree may have too many references: rebuild() finds the depth at "
                      "which it has not"
                    : "the arrays were too small and have been enlarged: enqueue the "
                      "frame anew";
        }
        return result_.status == Status::done;
    }

    /// What is known of the last build, but for its tree and memory. After finish() the times are
    /// those of another.
    const BuildResult& result() const { return result_; }
    /// The last build's tree in canonical form, copied to the host. Only after a build that is
    /// done.
    Tree tree() const { return arrays_.memory().tree(); }
    /// The last build's tree where it is: of rebuild(), or of finish(). Only after a build that is
    /// done.
    TreeInPlace tree_in_place() const { return arrays_.tree_in_place(); }
    /// The tree of a build that enqueue() began, or a graph repeats, for work behind it on the same
    /// stream, such as RayTree::lay_out.
    TreeInPlace tree_in_flight() const { return arrays_.memory().tree_in_flight(); }
    /// result() and the memory in use, which the host knows.
    BuildResult summary() const {
        BuildResult known = result_;
        arrays_.note_memory(known);
        return known;
    }
    /// All that is known of the last build: result() with the tree, the memory in use, and what is
    /// left in the pool.
    BuildResult report() const {
        BuildResult all = result_;
        arrays_.finish(*allocator_, all);
        return all;
    }

private:
    Frame with_bounds(Frame frame) {
        const scenes::Bounds& box = frame.bounds;
        const bool empty = box.lo.x > box.hi.x && box.lo.y > box.hi.y && box.lo.z > box.hi.z;
        if (empty) frame.bounds = arrays_.bounds(frame);
        return frame;
    }
    bool build() {
        const bool done = arrays_.build(*allocator_, result_);
        arrays_.note_growth(*allocator_, result_);
        arrays_.unite_parts(*allocator_);
        return done;
    }
    template <class Source>
    void load(const Source& source) {
        if (arrays_.load(source, result_))
            allocator_.reset();  // there may be no room for two pools
        if (!allocator_) allocator_.emplace(arrays_.template make_allocator<A>(result_));
    }

    SingleBuilder<Machine> arrays_;
    BuildResult result_;
    std::optional<A> allocator_;
};

/// Builds the tree of a scene with allocator A on a machine, once.
/// @throws std::invalid_argument for a bad configuration, allocators::BufferError when memory
/// outside the pool cannot be had; and what the machine throws.
template <allocators::Allocator A, class Machine>
BuildResult build_on(const Machine& machine, const scenes::Scene& scene, const BuildConfig& config,
                     const RunConfig& run) {
    Builder<A, Machine> builder(machine, scene.triangles.size(), config, run);
    builder.rebuild(scene);
    return builder.report();
}

}  // namespace heapwood::kdtree
