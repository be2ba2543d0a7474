/// @file
/// What goes into a build beside a scene and a configuration, and what comes out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/memory/array_pool.h"
#include "allocators/platform/macros.cuh"
#include "kdtree/build_profile.h"
#include "kdtree/config.h"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// How a build ended. Of several failures the last one in this order is reported.
enum class Status : std::uint32_t {
    done,
    references_exhausted,  ///< the leaves' reference array was too small
    nodes_exhausted,       ///< the node array was too small
    // What follows ends a build early.
    pool_exhausted,  ///< the allocator returned nullptr
    over_budget,     ///< more references than BuildConfig::max_duplication allows
    interrupted,     ///< RunConfig::stop was requested
};
/// Whether warps give up when they see it: from then on they only free what they meet.
HEAPWOOD_INLINE constexpr bool ends_build(Status status) {
    return status >= Status::pool_exhausted;
}

/// How a build runs, beside what is built.
struct RunConfig {
    std::uint64_t pool_bytes = 0;  ///< of the allocator's pool; 0: pool_bytes_for()
    /// Bytes that the pool may have in the end: it grows while a build runs, rather than end the
    /// build. 0, and an allocator other than Growing (allocators/heap/growing.cuh): it does not.
    std::uint64_t grow_to = 0;
    unsigned threads = 0;              ///< CPU only: threads, each a warp; 0: one a core
    allocators::Choices choices = {};  ///< of the values of the allocator's options
    /// Where arrays outside the allocator's pool come from, to be used again by the next build;
    /// nullptr: a pool that ends with the build.
    allocators::ArrayPool* array_pool = nullptr;
    /// CPU only: a build ends early, as interrupted, once this is requested, by any thread.
    std::stop_token stop = {};
};

/// Bytes of everything that a build takes where it runs, at its peak.
struct MemoryUse {
    std::uint64_t pool = 0;         ///< the allocator's
    std::uint64_t side_tables = 0;  ///< the allocator's
    std::uint64_t triangles = 0;
    std::uint64_t nodes = 0;        ///< the tree's
    std::uint64_t references = 0;   ///< the leaves'
    std::uint64_t large_nodes = 0;  ///< and the list of what is left to single warps
    std::uint64_t stacks = 0;       ///< the warps', and their own small arrays
    std::uint64_t queue = 0;        ///< its slots, and the build's counters
    std::uint64_t levels = 0;       ///< the level method's arrays of two levels
    std::uint64_t spare = 0;        ///< held by the array pool beyond these

    std::uint64_t total() const {
        return pool + side_tables + triangles + nodes + references + large_nodes + stacks + queue +
               levels + spare;
    }
};

/// How far a pool has grown while builds ran.
struct PoolGrowth {
    std::uint32_t times = 0;  ///< how many parts came
    std::uint64_t bytes = 0;  ///< of all these parts
};

/// What a build made, and what it took. If status is not done, `message` says what ran out and what
/// would have been enough, and the tree is empty.
struct BuildResult {
    Status status = Status::done;
    std::string message;
    /// The pool was exhausted in the sense that the allocator would have had to hand out memory in
    /// use, noticed that, and refused.
    bool overwritten = false;
    Tree tree;
    /// Nodes at this depth became leaves, for a deeper tree would have had more references than
    /// BuildConfig::max_duplication allows. Nothing: no such limit was needed.
    std::optional<std::uint32_t> depth_limit;
    /// The build: CUDA events around the kernel, or the threads' time. Of builds that were begun
    /// anew (arrays enlarged, a smaller depth) the last one.
    double build_ms = 0;
    double upload_ms = 0;              ///< making the build's arrays, and the scene into them
    double pool_ms = 0;                ///< making the pool
    std::uint64_t pool_bytes = 0;      ///< with all that it has grown by
    std::uint64_t overhead_bytes = 0;  ///< the allocator's side tables
    std::optional<PoolGrowth> growth;  ///< nothing: a pool that cannot grow
    std::uint64_t root_bytes = 0;      ///< the root node's primitive array
    /// The build replaced arrays, mostly because they were too small, its pool has grown, or the
    /// next build like this one will have larger arrays and take less time. The caller captures its
    /// graphs again.
    bool enlarged = false;
    MemoryUse memory;
    std::optional<BuildProfile> profile;
    /// Of the pool after the build, when everything has been freed; negative: unknown.
    double external_fragmentation = -1;
    /// Bytes still allocated after the build, whether it is done or not; for a full allocator a
    /// leak unless 0 (and 0 where the allocator cannot be walked).
    std::uint64_t leaked_bytes = 0;
    unsigned registers = 0;    ///< of the build kernel, per thread (0 on a CPU)
    unsigned spill_bytes = 0;  ///< local memory of the build kernel, per thread
    unsigned warps = 0;        ///< resident warps, or threads
};

/// Bytes of the root node's primitive array for a scene of that many triangles: the unit in which
/// pools are measured (papers: 20 and 200 times).
std::uint64_t root_array_bytes(std::uint64_t triangles);

/// The pool of a build that has none chosen: 32 times the root node's array, and 1 MiB for small
/// scenes. Builds need 2 to 6 times; with more the allocator looks for memory less often.
std::uint64_t pool_bytes_for(std::uint64_t triangles);

}  // namespace heapwood::kdtree
