/// @file
/// All memory of the single kernel but the allocator's pool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allocators/memory/array_pool.h"
#include "kdtree/build_result.h"
#include "kdtree/single/build_state.cuh"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// All memory of a build but the allocator's pool. It comes from an array pool, so that the next
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
    /// The next builds are to a depth of at most this.
    void limit_depth(std::uint32_t depth) { problem_.max_depth = depth; }
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
    std::uint64_t most_references_;  ///< BuildState has it
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

}  // namespace heapwood::kdtree
