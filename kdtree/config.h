/// @file
/// Every parameter of the builder with its default and where the default comes from: the manual.
#pragma once

#include <cstdint>

namespace heapwood::kdtree {

/// How a tree is built. The tree depends on nothing but the triangles and these fields, and not
/// on those that only say how the work is divided (large_limit, chunk, small_arrays) or how much
/// memory there is (max_nodes, max_references).
struct BuildConfig {
    /// Ct of the SAH: cost of visiting an inner node, in triangle tests' currency.
    float traversal_cost = 1.0F;
    /// Ci of the SAH: cost of one triangle test. Ct : Ci = 1 : 1.5 after Wald & Havran 2006.
    float intersection_cost = 1.5F;
    /// Factor on the cost of a split that leaves one child empty (Wald & Havran 2006: 0.8).
    float empty_bonus = 0.8F;
    /// A node of at most this many references is a leaf.
    std::uint32_t leaf_limit = 4;
    /// Maximum depth is depth_base + depth_factor * log2(triangles) (pbrt, Mitsuba: 8 + 1.3 log2).
    float depth_base = 8.0F;
    float depth_factor = 1.3F;
    /// Nodes above this many references (at most 64) choose among 32 bins an axis, others among
    /// all planes.
    std::uint32_t exact_limit = 64;
    /// Nodes above this many references are shared by many warps; 0: 512 on a GPU, 4096 on a CPU,
    /// whose few threads have other nodes to work on, and add to shared counters one by one.
    std::uint32_t large_limit = 0;
    /// Most references of such a node that a warp takes at a time, fewer while other warps idle; 0:
    /// 256 on a GPU, 4096 on a CPU.
    std::uint32_t chunk = 0;
    /// Clip triangles at split planes, rather than cut their boxes only.
    bool clip = true;

    /// Whether every child's array comes from the allocator, as in Vinkler & Havran 2014. If not,
    /// a warp keeps the arrays of nodes of at most exact_limit references in memory of its own,
    /// unless their parent was divided by many warps, their sibling is larger, the memory is full,
    /// or another warp takes the node on.
    bool small_arrays = true;

    /// Capacity of the node array; 0: estimated, and enlarged if the estimate was short.
    std::uint64_t max_nodes = 0;
    /// Capacity of the leaves' reference array; 0: likewise.
    std::uint64_t max_references = 0;
};

/// @throws std::invalid_argument with a sentence if a field is out of its range.
void validate(const BuildConfig& config);

/// The largest depth a tree over `triangles` triangles may have under this configuration, at most
/// kMaxDepth.
std::uint32_t max_depth(const BuildConfig& config, std::uint64_t triangles);

/// Bound of max_depth: sizes the stacks of builder and traversal.
inline constexpr std::uint32_t kMaxDepth = 60;

}  // namespace heapwood::kdtree
