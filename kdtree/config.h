/// @file
/// Every parameter of the builder with its default and where the default comes from: the manual.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace heapwood::kdtree {

/// What the bonus for cutting off empty space weighs.
enum class EmptyRule {
    pays,   ///< the whole cost, of cuts that are worth their cost without it, too (ours)
    whole,  ///< the whole cost (Wald & Havran 2006; Mitsuba 0.6)
    tests,  ///< the cost of the tests, but not of the traversal (pbrt-v3)
};

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
    /// Which cost the factor is on. The other rules also cut where nothing is gained: 1 to 3 % more
    /// SAH and 4 to 18 % more nodes (measured).
    EmptyRule empty_rule = EmptyRule::pays;
    /// A node of at most this many references is a leaf, if it is small in the sense of leaf_area
    /// (measured for both together: from 8 and 8 to 32 and 32 the SAH of five scenes rises by 1 to
    /// 3 %, and an H100 takes 10 to 30 % less time).
    std::uint32_t leaf_limit = 16;
    /// Such a node is a leaf if references * area / root's area, which is what testing them
    /// contributes to the cost of a ray, is at most leaf_area / triangles; 0: whatever its area.
    /// So large nodes are divided on, which is what makes rays cheaper, and small ones, of which
    /// there are the most, are not. Ours (measured: 3 to 10 % less SAH than leaf_limit = 4 and 0).
    float leaf_area = 16.0F;
    /// Maximum depth is depth_base + depth_factor * log2(triangles), the logarithm rounded down and
    /// the sum to the nearest (pbrt-v3: 8 and 1.3).
    float depth_base = 8.0F;
    float depth_factor = 1.3F;
    /// A split is bad if it costs at least this many times what a leaf would (pbrt-v3: 1; Vinkler &
    /// Havran: 0.9).
    float bad_split_ratio = 1.0F;
    /// As many splits as bad_splits + bad_splits_per_level * maximum depth, rounded down, may be
    /// bad on the way from the root to a node; where one more would be there is a leaf (Mitsuba 2:
    /// 0; pbrt-v3: 2; Vinkler & Havran: 1 + 0.26 a level).
    float bad_splits = 0.0F;
    float bad_splits_per_level = 0.0F;
    /// A bad split of fewer than 16 references is never made if it costs more than this many times
    /// what a leaf would; 0: no such rule (pbrt-v3: 4).
    float hopeless_ratio = 0.0F;
    /// Nodes above this many references (at most 64) choose among bins, others among all planes
    /// (measured: with snapping, 32 gives the same SAH to 0.4 % and takes a CPU 7 to 15 % less
    /// time, but an H100 7 to 13 % more).
    std::uint32_t exact_limit = 64;
    /// Planes that such nodes choose among, dealt out evenly to the axes, at most 93: 32 bins each.
    std::uint32_t planes = 93;
    /// Whether such nodes also choose among the planes where their references begin and end, and
    /// the bins divide the box around the references, rather than the cell.
    bool tight_cuts = true;
    /// In a node of at most this many references (at most 65535), the best of the bins' planes
    /// moves to the nearest end of a reference if that is cheaper; 0: never. Ours (measured, with
    /// exact_limit = 64: 1 to 2 % less SAH, and 5 to 17 % fewer references).
    std::uint32_t snap_limit = 1024;
    /// Nodes above this many references are divided by many warps together; 0: 64 to 192 on a GPU,
    /// by triangles for each warp, and 4096 on a CPU, whose few threads have other nodes to work
    /// on, and add to shared counters one by one. The limit is higher once few references for each
    /// warp are left.
    std::uint32_t large_limit = 0;
    /// Most references of such a node that a warp divides at a time, fewer where there are not so
    /// many for each warp; 0: 256 or, with more than 1024 triangles for each warp, 512 on a GPU,
    /// and 4096 on a CPU.
    std::uint32_t chunk = 0;
    /// Clip triangles at split planes, rather than cut their boxes only.
    bool clip = true;
    /// References of the leaves that a tree may have for each triangle; 0: any number. Triangles
    /// that overlap in a plane would otherwise have thousands each, and take all memory (real
    /// scenes have 1.6 to 9, with all presets). Where the tree of the largest depth has more, the
    /// maximum depth is the largest one that keeps to it.
    std::uint32_t max_duplication = 32;

    /// Whether every child's array comes from the allocator, as in Vinkler & Havran 2014. If not,
    /// a warp keeps the arrays of nodes of at most exact_limit references in memory of its own,
    /// unless their parent was divided by many warps, their sibling is larger, the memory is full,
    /// or another warp takes the node on.
    bool small_arrays = true;

    /// Capacity of the node array; 0: estimated, and enlarged if the estimate was short. A build
    /// that needs more fails. Where its tree may be over max_duplication it takes more for the time
    /// that it needs to find out.
    std::uint64_t max_nodes = 0;
    /// Capacity of the leaves' reference array; 0: likewise.
    std::uint64_t max_references = 0;
};

/// The rule of Vinkler & Havran (2014, 2015) for nodes of 32 sampled planes, so that builds ask for
/// memory as theirs did: no clipping, no bonus, planes sampled evenly in the cell and nowhere else,
/// Ct = Ci = 1, leaves of at most 3 references, depth 2 + 1.2 log2(triangles), and a counter of
/// splits that save less than a tenth. (The papers do not say which of the planes at equal cost is
/// taken, or whether a node whose empty side is cut off samples anew; here it does not.)
BuildConfig paper_preset();

/// The constants of pbrt-v3's kd-tree: isectCost 80, traversalCost 1, emptyBonus 0.5, maxPrims 1,
/// three bad refines, depth round(8 + 1.3 floor(log2 N)), no clipping. (Its search is not imitated:
/// it looks at all planes of the node's longest axis alone.)
BuildConfig pbrt_preset();

/// The presets by name: "default" (which is BuildConfig{}), "paper" and "pbrt".
const std::map<std::string, BuildConfig>& presets();

/// The rules by name: "pays", "whole" and "tests"; and the name of one.
const std::map<std::string, EmptyRule>& empty_rules();
std::string name(EmptyRule rule);

/// @throws std::invalid_argument with a sentence if a field is out of its range.
void validate(const BuildConfig& config);

/// The largest depth a tree over `triangles` triangles may have under this configuration, at most
/// kMaxDepth.
std::uint32_t max_depth(const BuildConfig& config, std::uint64_t triangles);

/// How many splits on a path from the root may be bad if the path may have `depth` splits.
std::uint32_t max_bad_splits(const BuildConfig& config, std::uint32_t depth);

/// Bound of max_depth: sizes the stacks of builder and traversal.
inline constexpr std::uint32_t kMaxDepth = 60;

}  // namespace heapwood::kdtree
