/// @file
/// Where the finished parts of a tree go, and where failures are recorded.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "kdtree/build_result.h"
#include "kdtree/single/build_state.cuh"

namespace heapwood::kdtree {

/// One warp's way to the node array and the leaves' reference array. It reserves places in blocks,
/// for an addition to the one counter costs more than the places that are lost in the end.
///
/// When an array is full nothing more is written to it, but the counting goes on, so that the
/// caller learns how much would have been enough. Only `report` tells of it, for a call in the hot
/// code takes registers from it.
template <class W>
class BuildOutput {
public:
    /// Refers to its argument.
    HEAPWOOD_FN BuildOutput(const W& warp, const Problem& problem)
        : warp_(warp), problem_(problem) {}

    /// Collective: the index of the first of two adjacent new nodes.
    HEAPWOOD_INLINE std::uint32_t reserve_pair() {
        if (pair_ == pair_end_) new_pairs();
        return 2 * pair_++;
    }

    /// Collective: where `count` references of a leaf go.
    HEAPWOOD_INLINE std::uint64_t reserve_references(std::uint32_t count) {
        if (count > reference_end_ - reference_) {
            const bool own = count >= kReferenceBlock;
            std::uint64_t first = 0;
            if (leader()) {
                first = platform::AtomicRef(state().references)
                            .add_relaxed(own ? count : kReferenceBlock);
            }
            first = warp_.shuffle(first, 0);
            end_beyond_budget(first);
            if (own) {
                // For report(). The rest of the block is lost, but so is the tree.
                if (first + count > problem_.reference_capacity) {
                    reference_ = reference_end_ = first + count;
                }
                return first;
            }
            reference_ = first;
            reference_end_ = first + kReferenceBlock;
        }
        const std::uint64_t first = reference_;
        reference_ += count;
        return first;
    }

    /// Collective: the same for each lane that needs them.
    HEAPWOOD_INLINE std::uint32_t reserve_pair_each(bool needs) {
        const std::uint32_t lanes = warp_.ballot(needs);
        if (lanes == 0) return 0;
        const std::uint32_t n = platform::popcount(lanes);
        const std::uint32_t rank = platform::popcount(lanes & ((1U << warp_.lane()) - 1U));
        const std::uint32_t left = pair_end_ - pair_;
        std::uint32_t mine = pair_ + rank;
        if (n <= left) {
            pair_ += n;
        } else {
            static_assert(W::width <= kPairBlock);
            new_pairs();
            if (rank >= left) mine = pair_ + rank - left;
            pair_ += n - left;
        }
        return 2 * mine;
    }

    /// Collective: where `count` references of each lane's leaves go.
    HEAPWOOD_INLINE std::uint64_t reserve_references_each(std::uint32_t count) {
        const std::uint32_t end = warp_.inclusive_sum(count);
        const std::uint32_t total = warp_.shuffle(end, W::width - 1);
        if (total == 0) return 0;
        const auto left = static_cast<std::uint32_t>(reference_end_ - reference_);
        if (total <= left) {
            reference_ += total;
            return reference_ - total + (end - count);
        }
        // The first lane that does not fit, and all lanes above it, go to a new block.
        const bool fits = end <= left;
        const std::uint32_t before = warp_.max(fits ? end : 0U);
        const std::uint32_t rest = total - before;
        const std::uint32_t block = rest > kReferenceBlock ? rest : kReferenceBlock;
        std::uint64_t first = 0;
        if (leader()) first = platform::AtomicRef(state().references).add_relaxed(block);
        first = warp_.shuffle(first, 0);
        end_beyond_budget(first);
        const std::uint64_t mine = (fits ? reference_ : first - before) + (end - count);
        reference_ = first + rest;
        reference_end_ = first + block;
        return mine;
    }

    /// Any lane may call it.
    HEAPWOOD_INLINE void write_node(std::uint32_t index, Node node) const {
        if (index < problem_.node_capacity) problem_.nodes[index] = node;
    }

    /// Any lane may call it.
    HEAPWOOD_INLINE void write_reference(std::uint64_t index, std::uint32_t primitive) const {
        if (index < problem_.reference_capacity) problem_.references[index] = primitive;
    }

    /// Collective: makes a leaf of a piece.
    HEAPWOOD_FN void write_leaf(const Piece& piece) {
        const std::uint64_t first = reserve_references(piece.count);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = warp_.lane(); i < piece.count; i += W::width) {
            write_reference(first + i, piece.references[i].primitive);
        }
        if (leader()) {
            write_node(piece.node, Node::leaf(static_cast<std::uint32_t>(first), piece.count));
        }
    }

    /// Collective: cuts empty space off a piece: writes the inner node and its empty leaf, and
    /// makes the piece the other child. The references stay where they are.
    HEAPWOOD_INLINE void cut_empty(Piece& piece, const Split& split) {
        const std::uint32_t child = reserve_pair();
        const bool left_empty = split.left == 0;
        if (leader()) {
            write_node(piece.node, Node::inner(split.axis, split.position, child));
            write_node(left_empty ? child : child + 1, Node::leaf(0, 0));
        }
        piece.node = left_empty ? child + 1 : child;
        piece.cell = part_of(piece.cell, split, left_empty ? 1 : 0);
        ++piece.depth;
    }

    /// Records that the allocator had no memory for a request, which ends the build. Any lane may
    /// call it.
    HEAPWOOD_INLINE void record_exhausted(std::uint64_t bytes) const {
        record_exhausted(state(), bytes);
    }

    /// One lane calls it at the end: records whether an array was too small for what the warp has
    /// reserved.
    HEAPWOOD_INLINE void report() const {
        // A warp's places only rise, so its last ones tell of all.
        const bool too_few_nodes = 2 * std::uint64_t{pair_} > problem_.node_capacity;
        if (!too_few_nodes && reference_ <= problem_.reference_capacity) return;
        record(state(), too_few_nodes ? Status::nodes_exhausted : Status::references_exhausted);
    }

private:
    /// Node pairs, and leaf references, that are reserved at a time.
    static constexpr std::uint32_t kPairBlock = 32;
    static constexpr std::uint32_t kReferenceBlock = 256;

    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }
    /// Collective: reserves the next block of pairs.
    HEAPWOOD_INLINE void new_pairs() {
        std::uint64_t first = 0;
        if (leader()) first = platform::AtomicRef(state().nodes).add_relaxed(kPairBlock);
        first = warp_.shuffle(first, 0);
        // Far beyond any capacity it only matters that no index wraps around.
        pair_ = static_cast<std::uint32_t>(first < Node::kLimit ? first : Node::kLimit);
        pair_end_ = pair_ + kPairBlock;
    }
    HEAPWOOD_INLINE BuildState& state() const { return *problem_.state; }

    /// Ends a build whose references from `first` on are beyond its array, and beyond its budget.
    HEAPWOOD_INLINE void end_beyond_budget(std::uint64_t first) const {
        if (first > problem_.reference_capacity && first > problem_.most_references && leader()) {
            record(state(), Status::over_budget);
        }
    }

    /// Records a failure, unless the build has a graver one: a maximum, so that the order in which
    /// warps fail does not matter.
    HEAPWOOD_INLINE static void record(BuildState& state, Status failure) {
        state.status.ref().max_relaxed(static_cast<std::uint32_t>(failure));
    }

    /// Out of line, for it is rare. Static, for a call with `this` would force the whole object
    /// from registers into memory.
    HEAPWOOD_NOINLINE static void record_exhausted(BuildState& state, std::uint64_t bytes) {
        record(state, Status::pool_exhausted);
        platform::AtomicRef(state.failed_bytes).max_relaxed(bytes);
    }

    const W warp_;
    const Problem& problem_;
    std::uint32_t pair_ = 0;
    std::uint32_t pair_end_ = 0;
    std::uint64_t reference_ = 0;
    std::uint64_t reference_end_ = 0;
};

}  // namespace heapwood::kdtree
