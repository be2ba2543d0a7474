/// @file
/// The canonical form of a tree by many threads that know nothing of one another, in three passes,
/// level by level. Internal to this folder.
///
/// 1. Downwards each pair of nodes is listed, and checked.
/// 2. Upwards each pair learns how many pairs and references lie below it.
/// 3. Downwards each pair learns its place, which follows from its parent's, and puts its nodes
///    and its leaves' references there.
///
/// A pass does the pairs of one level in any order, and begins when the level before is done: of
/// kernels one after the other on a stream. canonical.cpp is the same for a few threads.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/model/sort_numbers.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree::detail {

/// Two nodes next to one another, and what lies at and below them. The root is a pair of one.
struct ListedPair {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::uint32_t first;       ///< node, in the tree as it was
    std::uint32_t child[2];    ///< numbers of the listed pairs below its nodes; kNone: a leaf
    std::uint32_t pairs;       ///< at and below it
    std::uint32_t references;  ///< below it
    std::uint32_t place;       ///< of the pair among all pairs, in canonical form
    std::uint32_t begin;       ///< of its references there
};

/// What the passes tell one another and the host. At first the list has the root, and all else is
/// 0.
struct ListState {
    static constexpr std::uint32_t kLevels = kMaxDepth + 1;

    std::uint32_t pairs[kLevels] = {1};  ///< of each level
    std::uint32_t begin[kLevels] = {};   ///< number of its first pair
    std::uint32_t fault = 0;        ///< not 0: the nodes are no tree, or references are missing
    std::uint32_t long_leaves = 0;  ///< not 0: references of some leaves are to be sorted
};

/// Where a canonical tree begins in the larger one of which it is a part.
struct TreePlace {
    std::uint32_t pairs = 0;       ///< of nodes, before its own; the root is in none of them
    std::uint32_t references = 0;  ///< before its own
};

/// A tree as a builder leaves it, the list, and where the canonical tree goes. Owns nothing.
struct CanonicalWork {
    /// Of more references than this the host sorts them.
    static constexpr std::uint32_t kMostSorted = 256;

    const Node* nodes;
    std::uint64_t node_end;
    const std::uint32_t* references;
    std::uint64_t reference_end;
    float scale;  ///< that planes are divided by

    ListState* state;
    std::uint32_t* placed;  ///< a bit for each node, at first 0
    /// node_end / 2 + 1 of them, for no node is in two; the first one the root's: all 0.
    ListedPair* list;

    Node* to_nodes;  ///< the root first, then the pairs
    std::uint32_t* to_references;
    TreePlace origin = {};  ///< that numbers of nodes and references count from, as the root's pair

    HEAPWOOD_INLINE std::uint32_t begin(std::uint32_t level) const { return state->begin[level]; }
    HEAPWOOD_INLINE std::uint32_t end(std::uint32_t level) const {
        return state->begin[level] + state->pairs[level];
    }

    /// Pass 1: lists what is below pair i of a level.
    HEAPWOOD_INLINE void list_below(std::uint32_t level, std::uint32_t i) const {
        ListedPair& pair = list[i];
        if (i == begin(level) && level + 1 < ListState::kLevels) {
            state->begin[level + 1] = end(level);
        }
        for (std::uint32_t k = 0; k < nodes_of(i); ++k) {
            const Node node = nodes[pair.first + k];
            pair.child[k] = node.is_leaf() ? leaf(node) : listed(level, end(level), node.child());
        }
    }
    /// Pass 2: counts what is at and below pair i.
    HEAPWOOD_INLINE void count(std::uint32_t i) const {
        ListedPair& pair = list[i];
        std::uint64_t count = 0;
        pair.pairs = 1;
        for (std::uint32_t k = 0; k < nodes_of(i); ++k) {
            const bool is_leaf = pair.child[k] == ListedPair::kNone;
            count += is_leaf ? nodes[pair.first + k].count() : list[pair.child[k]].references;
            if (!is_leaf) pair.pairs += list[pair.child[k]].pairs;
        }
        if (count > reference_end) refused();  // leaves share them
        pair.references = static_cast<std::uint32_t>(count);
    }
    /// Pass 3: puts pair i and its leaves' references where they belong.
    HEAPWOOD_INLINE void put(std::uint32_t i) const {
        const ListedPair pair = list[i];
        std::uint32_t place = pair.place + 1;
        std::uint32_t begin = pair.begin;
        const std::uint32_t to = i == 0 ? 0 : 2 * (pair.place - origin.pairs) - 1;
        for (std::uint32_t k = 0; k < nodes_of(i); ++k) {
            const Node node = nodes[pair.first + k];
            if (node.is_leaf()) {
                to_nodes[to + k] = Node::leaf(begin, node.count());
                put_references(node, to_references + (begin - origin.references));
                begin += node.count();
            } else {
                ListedPair& below = list[pair.child[k]];
                below.place = place;
                below.begin = begin;
                to_nodes[to + k] = Node::inner(node.axis(), node.split() / scale, 2 * place - 1);
                place += below.pairs;
                begin += below.references;
            }
        }
    }

private:
    HEAPWOOD_INLINE static std::uint32_t nodes_of(std::uint32_t i) { return i == 0 ? 1 : 2; }
    HEAPWOOD_INLINE std::uint32_t refused() const {
        platform::AtomicRef(state->fault).store_relaxed(1);
        return ListedPair::kNone;
    }
    HEAPWOOD_INLINE std::uint32_t leaf(const Node& node) const {
        const std::uint64_t end = std::uint64_t{node.first()} + node.count();
        return end <= reference_end ? ListedPair::kNone : refused();
    }
    /// Lists the pair of nodes `first` and `first` + 1 behind those that end at `end`.
    HEAPWOOD_INLINE std::uint32_t listed(std::uint32_t level, std::uint32_t end,
                                         std::uint32_t first) const {
        if (level + 1 == ListState::kLevels || std::uint64_t{first} + 1 >= node_end ||
            !placed_first(first) || !placed_first(first + 1)) {
            return refused();
        }
        const std::uint32_t i = end + platform::AtomicRef(state->pairs[level + 1]).add_relaxed(1);
        list[i].first = first;
        return i;
    }
    /// Whether no thread has placed a node before. The root is placed from the start.
    HEAPWOOD_INLINE bool placed_first(std::uint32_t node) const {
        const std::uint32_t bit = 1U << node % 32;
        return node != 0 && (platform::AtomicRef(placed[node / 32]).or_acquire(bit) & bit) == 0;
    }
    HEAPWOOD_INLINE void put_references(const Node& leaf, std::uint32_t* to) const {
        for (std::uint32_t i = 0; i < leaf.count(); ++i) to[i] = references[leaf.first() + i];
        if (leaf.count() <= kMostSorted) {
            sort_numbers(to, leaf.count());
        } else {
            platform::AtomicRef(state->long_leaves).store_relaxed(1);
        }
    }
};

}  // namespace heapwood::kdtree::detail
