/// @file
/// All memory of the single kernel but the allocator's pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allocators/memory/array_pool.h"
#include "kdtree/build_result.h"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/tree_in_place.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// All memory of builds but the allocator's pool: arrays that one build after another uses. They
/// come from an array pool, so that arrays of others need not ask the system for them. In a
/// StreamScope all that it writes is in the stream's order.
class BuildMemory {
    using Block = allocators::ArrayPool::Block;

public:
    /// Arrays for scenes of at most so many triangles, and so many warps of so many lanes. @throws
    /// as reserve, and std::invalid_argument for none, or 2^30 or more.
    BuildMemory(allocators::ArrayPool& pool, const BuildConfig& config, std::uint32_t warps,
                std::uint64_t triangles, std::uint32_t lanes = 1);
    /// Arrays for this scene, which is loaded. @throws the same.
    BuildMemory(allocators::ArrayPool& pool, const scenes::Scene& scene, const BuildConfig& config,
                std::uint32_t warps, std::uint32_t lanes = 1);

    /// The triangles that there is room for.
    std::uint64_t capacity() const { return capacity_; }
    /// If that is less than n: replaces all arrays by larger ones. No build may be going on.
    /// @return whether it was less.
    /// @throws allocators::BufferError, which says for which array: then there are no arrays.
    bool reserve(std::uint64_t n);
    /// The next builds are of this scene, of at most capacity() triangles: writes them.
    void load(const scenes::Scene& scene);
    /// The next builds are of n triangles, at most capacity(), that somebody writes to triangles()
    /// before each, multiplied by `scale`. They lie within `bounds`.
    void expect(std::uint64_t n, const scenes::Bounds& bounds, float scale);
    Triangle* triangles() const { return triangles_.as<Triangle>(); }

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
    /// The finished tree where it lies, after a build with these counters, until the next build.
    TreeInPlace tree_in_place(const BuildState& state) const;
    /// The tree of a build that goes on, for work behind it on its stream.
    TreeInPlace tree_in_flight() const;
    /// The next builds are to a depth of at most this.
    void limit_depth(std::uint32_t depth) { problem_.max_depth = depth; }
    /// The next builds of this scene leave at most this share, 0 to 1, of the tiny nodes that there
    /// is room for to the third stage, whose nodes all have their arrays at the same time. With 0
    /// there is no third stage, as in builds by warps of one lane.
    void limit_tiny_nodes(double share);
    /// Whether the array is an estimate that a build ran short of, not a limit of the
    /// configuration.
    bool estimates(Status short_of) const;
    /// After a build that ran short of nodes or references: replaces the arrays by ones that are
    /// large enough, but for the other one if the configuration sets its size. No build may be
    /// going on. @throws std::invalid_argument for a tree that no array could hold; as reserve.
    void enlarge(const BuildState& state, Status short_of);
    /// After a build with these counters in arrays that enlarge() has made larger than the
    /// configuration allows: takes them back if the build has used more.
    /// @return what it has used too much of; nothing if all is within the limits.
    std::optional<Status> restore_limits(const BuildState& state);
    /// After a build that had more large nodes than there is room for, of which it left some to one
    /// warp each: room for more in the next one, if there is memory for it. @return whether there
    /// is more room.
    bool enlarge_large_arrays(const BuildState& state);
    /// Bytes of all these arrays; `spare` is what the pool has held since its last reset_peak, at
    /// most, beyond what was in use.
    MemoryUse use() const;

private:
    /// @throws allocators::BufferError: then the former arrays stay.
    void make_large_arrays(std::uint32_t nodes, std::uint32_t items);
    /// Of the lists of the first stage's work, with room for so many items, and of the pieces below
    /// so many large nodes.
    std::uint64_t work_bytes(std::uint32_t nodes, std::uint32_t items) const;
    void make_outputs(std::uint64_t nodes, std::uint64_t references);
    /// Warps that lose some of the nodes and references that they reserve, in a scene of so many
    /// triangles.
    std::uint64_t slack_warps(std::uint64_t triangles) const;

    /// Sets from where on nodes of a scene of so many triangles are large, and their chunks.
    void set_division(std::uint64_t triangles);

    /// Most references of a tiny node. With more, fewer nodes are left to warps that work on one at
    /// a time; but each takes longer, which a small scene has no other work to hide.
    std::uint32_t tiny_limit(std::uint64_t triangles) const;

    allocators::ArrayPool& pool_;
    const BuildConfig config_;
    const std::uint32_t lanes_;  ///< of a warp
    std::uint64_t capacity_ = 0;
    Box scene_bounds_{};
    float normalisation_ = 1;  ///< of the scene's coordinates, for the build
    Block triangles_;
    Block nodes_;
    Block references_;
    Block large_nodes_;
    Block work_;
    Block pieces_;
    Block stacks_;
    Block tiny_stacks_;
    Block tiny_pieces_;
    std::uint32_t tiny_room_ = 0;  ///< of the list of tiny nodes
    Block arenas_;
    Block slots_;
    Block state_;
    Block profiles_;
    Problem problem_{};
};

/// A sentence on why the build ended early, and what would have been enough where that is known.
std::string explain(Status status, const Problem& problem, const BuildState& state,
                    std::uint64_t pool_bytes);

}  // namespace heapwood::kdtree
