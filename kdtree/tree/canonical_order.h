/// @file
/// Brings a tree into canonical form where it lies, by the passes of canonical_steps.cuh. Internal
/// to this library.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "allocators/memory/array_pool.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/tree/canonical_steps.cuh"
#include "kdtree/tree/unordered_tree.h"

namespace heapwood::kdtree::detail {

enum class CanonicalPass { list, count, put };

/// A pass over the pairs of a level, `begin` the first of them.
template <CanonicalPass kPass>
struct DoPass {
    CanonicalWork work;
    std::uint32_t level;
    std::uint32_t begin;

    HEAPWOOD_FN void operator()(std::uint32_t i) const {
        if constexpr (kPass == CanonicalPass::list) work.list_below(level, begin + i);
        if constexpr (kPass == CanonicalPass::count) work.count(begin + i);
        if constexpr (kPass == CanonicalPass::put) work.put(begin + i);
    }
};

/// Sorts what the passes leave to the host: the references of long leaves.
/// @param nodes of a canonical tree, whose leaves count references from `first_reference`
inline void sort_long_leaves(const Node* nodes, std::uint64_t count, std::uint32_t* references,
                             std::uint32_t first_reference) {
    constexpr std::uint64_t kChunk = std::uint64_t{1} << 15;
    platform::for_chunks(count, kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const Node node = nodes[i];
            if (!node.is_leaf() || node.count() <= CanonicalWork::kMostSorted) continue;
            std::uint32_t* const first = references + (node.first() - first_reference);
            std::sort(first, first + node.count());
        }
    });
}

/// A tree that is being ordered. A machine has
///     void for_each(std::uint32_t n, const F& f);  // f(i) for all i < n, one call after another
/// Memory is the pool's: 14 bytes a node. Refers to machine, pool and tree.
template <class Machine>
class CanonicalOrder {
    using Block = allocators::ArrayPool::Block;

public:
    /// @throws allocators::BufferError when memory cannot be had.
    CanonicalOrder(Machine& machine, allocators::ArrayPool& pool, const UnorderedTree& tree)
        : machine_(machine),
          state_(pool.request(sizeof(ListState), "the levels of a tree")),
          placed_(pool.request((tree.node_end / 32 + 1) * sizeof(std::uint32_t),
                               "the nodes of a tree that have been met")),
          list_(pool.request((tree.node_end / 2 + 1) * sizeof(ListedPair),
                             "the list of a tree's nodes")),
          work_{.nodes = tree.nodes,
                .node_end = tree.node_end,
                .references = tree.references,
                .reference_end = tree.reference_end,
                .scale = tree.scale,
                .state = state_.template as<ListState>(),
                .placed = placed_.template as<std::uint32_t>(),
                .list = list_.template as<ListedPair>(),
                .to_nodes = nullptr,
                .to_references = nullptr} {}

    /// Finds how large the tree is. @return whether it is one, and its leaves' references are
    /// there: canonical() says what is wrong.
    bool measure() {
        if (work_.node_end == 0) return false;
        const ListState start;
        state_.write(0, &start, sizeof start);
        placed_.fill(0, 0, placed_.size());
        all_ = {};
        list_.write(0, &all_, sizeof all_);
        sizes_ = {1};
        levels_ = 0;
        for (std::uint32_t begin = 0; levels_ < ListState::kLevels && sizes_[levels_] > 0;
             begin += sizes_[levels_++]) {
            begins_[levels_] = begin;
            pass<CanonicalPass::list>(levels_);
            if (levels_ + 1 == ListState::kLevels) continue;
            state_.read(offsetof(ListState, pairs) + (levels_ + 1) * sizeof(std::uint32_t),
                        &sizes_[levels_ + 1], sizeof(std::uint32_t));
        }
        if (state().fault != 0) return false;
        for (std::uint32_t level = levels_; level-- > 0;) pass<CanonicalPass::count>(level);
        list_.read(0, &all_, sizeof all_);
        return state().fault == 0;
    }
    /// Nodes and references of the tree that was measured.
    std::uint64_t nodes() const { return 2 * std::uint64_t{all_.pairs} - 1; }
    std::uint64_t references() const { return all_.references; }

    /// Writes the tree that was measured: the root, then the pairs.
    /// @return whether references of long leaves are left to be sorted (sort_long_leaves).
    bool put(Node* nodes, std::uint32_t* references, const TreePlace& place = {}) {
        work_.to_nodes = nodes;
        work_.to_references = references;
        work_.origin = place;
        ListedPair root = all_;
        root.place = place.pairs;
        root.begin = place.references;
        list_.write(0, &root, sizeof root);
        for (std::uint32_t level = 0; level < levels_; ++level) pass<CanonicalPass::put>(level);
        return state().long_leaves != 0;
    }

private:
    template <CanonicalPass kPass>
    void pass(std::uint32_t level) {
        machine_.for_each(sizes_[level], DoPass<kPass>{work_, level, begins_[level]});
    }
    ListState state() const {
        ListState state;
        state_.read(0, &state, sizeof state);
        return state;
    }

    Machine& machine_;
    Block state_;
    Block placed_;
    Block list_;
    CanonicalWork work_;
    ListedPair all_{};  ///< the root's
    std::uint32_t levels_ = 0;
    std::array<std::uint32_t, ListState::kLevels> sizes_{};   ///< pairs of each
    std::array<std::uint32_t, ListState::kLevels> begins_{};  ///< number of its first pair
};

}  // namespace heapwood::kdtree::detail
