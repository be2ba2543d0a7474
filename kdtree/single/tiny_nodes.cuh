/// @file
/// Tiny nodes, which have so few references that several fit into one warp: where the second stage
/// leaves them for the third (tiny_stage.cuh).
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_state.cuh"

namespace heapwood::kdtree {

/// One warp's tiny nodes: a stack of its own, from which those that are too many go to a list that
/// all warps share.
template <platform::Warp W>
class TinyNodes {
public:
    /// Refers to the problem. `warp_number`: whose stack it is; `any`: whether nodes may be left to
    /// the third stage.
    HEAPWOOD_FN TinyNodes(const W& warp, const Problem& problem, std::uint32_t warp_number,
                          bool any)
        : warp_(warp),
          problem_(problem),
          stack_(problem.tiny_stacks + static_cast<std::size_t>(warp_number) * kTinyStackSize),
          limit_(any ? problem.tiny_limit : 0) {}

    /// Whether a node of so many references is left to the third stage.
    HEAPWOOD_INLINE bool takes(std::uint32_t count) const { return count <= limit_; }

    /// Collective: leaves a piece, of whose count takes() is true, to the third stage.
    HEAPWOOD_INLINE void push(const Piece& piece) {
        if (warp_.lane() == 0) {
            store_wide(stack_ + top_, TinyPiece{.references = piece.references,
                                                .count = piece.count,
                                                .node = piece.node,
                                                .cell = piece.cell,
                                                .depth = piece.depth,
                                                .bad_splits = piece.bad_splits,
                                                .pad = 0});
        }
        if (++top_ == problem_.tiny_block) share();
    }

    /// Collective: moves all to the list. When that is full the newest stay, and it takes no more.
    HEAPWOOD_FN void share() {
        if (top_ == 0) return;
        warp_.sync();
        std::uint32_t first = 0;
        if (warp_.lane() == 0) first = problem_.state->tiny_pieces.ref().add_relaxed(top_);
        first = warp_.shuffle(first, 0);
        const std::uint32_t room =
            first < problem_.tiny_capacity ? problem_.tiny_capacity - first : 0;
        const std::uint32_t n = top_ < room ? top_ : room;
        if (n < top_) limit_ = 0;
        top_ -= n;
        for (std::uint32_t i = warp_.lane(); i < n; i += W::width) {
            store_wide(problem_.tiny_pieces + first + i, load_wide(stack_ + top_ + i));
        }
        warp_.sync();
    }

    /// For the third stage: the stack, and how many nodes it holds.
    HEAPWOOD_INLINE TinyPiece* stack() const { return stack_; }
    HEAPWOOD_INLINE std::uint32_t top() const { return top_; }

private:
    const W warp_;
    const Problem& problem_;
    TinyPiece* const stack_;
    std::uint32_t limit_;
    std::uint32_t top_ = 0;
};

}  // namespace heapwood::kdtree
