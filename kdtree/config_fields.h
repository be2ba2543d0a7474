/// @file
/// The fields of BuildConfig as one list. Validation, command line, JSON, Python and tree files are
/// made from it, so a new field is one member of BuildConfig and one line here.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "kdtree/config.h"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_exact.cuh"

namespace heapwood::kdtree {

/// Nodes of a tree at most: a Node names another in 30 bits (kdtree/tree/tree.h).
inline constexpr std::uint32_t kMostNodes = 1U << 30;

/// What is said of a field wherever users meet it. Ranges are for numbers.
struct Field {
    const char* name = "";      ///< the member's; options spell it with hyphens
    const char* sentence = "";  ///< what the field is, as in a help text
    double least = 0;
    double most = std::numeric_limits<float>::max();
    bool open = false;        ///< `least` itself is not allowed
    bool or_zero = false;     ///< 0 is allowed, too
    bool shapes_tree = true;  ///< the tree depends on the field: tree files have it
    bool has_option = true;   ///< false: an option of another name sets the field

    /// Whether a number is in range. NaN is not.
    bool allows(double value) const;
    /// The range in words: "above 0 and at most 1".
    std::string range() const;
};

/// Calls visit(field, member) for each field of `config`, in the order of tree files.
/// @tparam Config BuildConfig, or const BuildConfig
template <class Config, class Visit>
constexpr void for_each_field(Config& config, const Visit& visit) {
    constexpr double kWords = std::numeric_limits<std::uint32_t>::max();
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    visit(Field{"traversal_cost", "Ct of the SAH: cost of visiting an inner node"},
          config.traversal_cost);
    visit(Field{.name = "intersection_cost",
                .sentence = "Ci of the SAH: cost of one triangle test",
                .open = true},
          config.intersection_cost);
    visit(
        Field{.name = "empty_bonus",
              .sentence = "Factor on the cost of a split that leaves one child empty; 1: no bonus",
              .most = 1,
              .open = true},
        config.empty_bonus);
    visit(Field{"empty_rule",
                "What the bonus is on: whole cost; pays: the same, of cuts that are worth their "
                "cost without it; tests: the cost of the tests alone"},
          config.empty_rule);
    visit(
        Field{.name = "leaf_limit",
              .sentence = "Nodes of at most this many references become leaves, if they are small",
              .most = kWords},
        config.leaf_limit);
    visit(Field{"leaf_area",
                "Such a node is small if its references * area are at most this times the root's "
                "area / triangles; 0: always"},
          config.leaf_area);
    visit(Field{.name = "depth_base",
                .sentence = "Greatest depth: base + factor * log2(triangles), from 0 to 60",
                .least = kLowest},
          config.depth_base);
    visit(Field{.name = "depth_factor", .sentence = "See --depth-base", .least = kLowest},
          config.depth_factor);
    visit(Field{.name = "bad_split_ratio",
                .sentence = "A split is bad if it costs at least this many times what a leaf would",
                .open = true},
          config.bad_split_ratio);
    visit(Field{"bad_splits",
                "On a path this + --bad-splits-per-level * greatest depth may be bad; then there "
                "is a leaf"},
          config.bad_splits);
    visit(Field{"bad_splits_per_level", "See --bad-splits"}, config.bad_splits_per_level);
    visit(Field{"hopeless_ratio",
                "A bad split of fewer than 16 references may cost at most this many leaves; 0: "
                "anything"},
          config.hopeless_ratio);
    visit(Field{.name = "exact_limit",
                .sentence = "Nodes of at most this many references choose among all planes, others "
                            "among bins",
                .most = kExactMax},
          config.exact_limit);
    visit(Field{.name = "planes",
                .sentence = "Planes between the bins, in all three axes",
                .least = 3,
                .most = 3 * (kBins - 1)},
          config.planes);
    visit(Field{"tight_cuts",
                "Bins divide the box around the references, whose faces are planes, too, rather "
                "than the cell (on by default)"},
          config.tight_cuts);
    visit(Field{.name = "snap_limit",
                .sentence = "In nodes of at most this many references planes move to the nearest "
                            "end of a reference",
                .most = 0xffff},
          config.snap_limit);
    visit(Field{.name = "large_limit",
                .sentence = "Nodes above this many references are divided by all warps together; "
                            "0: what suits the machine",
                .most = kWords,
                .shapes_tree = false},
          config.large_limit);
    visit(Field{.name = "chunk",
                .sentence = "Most references of such a node that a warp divides at a time, fewer "
                            "where warps would idle; 0: what suits the machine",
                .least = 32,
                .most = kWords,
                .or_zero = true,
                .shapes_tree = false},
          config.chunk);
    visit(
        Field{"clip", "Clip triangles at split planes rather than cut their boxes (on by default)"},
        config.clip);
    visit(Field{.name = "max_duplication",
                .sentence = "Most references of leaves for each triangle, else the tree is less "
                            "deep; 0: any number",
                .most = kWords},
          config.max_duplication);
    visit(Field{.name = "small_arrays",
                .sentence = "Whether small nodes' arrays come from the allocator, too",
                .shapes_tree = false,
                .has_option = false},
          config.small_arrays);
    visit(Field{.name = "max_nodes",
                .sentence = "Capacity of the node array; 0: estimated, grows if needed",
                .most = kMostNodes,
                .shapes_tree = false},
          config.max_nodes);
    visit(
        Field{.name = "max_references",
              .sentence = "Capacity of the leaves' reference array; 0: estimated, grows if needed",
              .most = kWords,
              .shapes_tree = false},
        config.max_references);
}

}  // namespace heapwood::kdtree
