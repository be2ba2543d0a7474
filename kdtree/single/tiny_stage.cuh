/// @file
/// The third stage of a build: each warp makes tiny nodes, as many at the same time as have a
/// reference for each of its lanes.
///
/// It is a stage of its own, for two reasons. A warp seldom has enough such nodes at the same time
/// before. And a multiprocessor's cache for instructions is smaller than the kernel: warps that go
/// to and fro between this code and the second stage's take longer than they save.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/model/clip.cuh"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/tiny_nodes.cuh"
#include "kdtree/split/split_segment.cuh"

namespace heapwood::kdtree {

/// One warp's part in the third stage.
///
/// A step makes the newest nodes of the warp's stack. A node becomes a leaf, or loses empty space,
/// or is divided; children that are not leaves at once go to the stack.
template <platform::Warp W, class NodeArraysOf>
class TinyStage {
public:
    /// Refers to its arguments but the nodes.
    HEAPWOOD_FN TinyStage(const W& warp, const Problem& problem, BuildOutput<W>& output,
                          const NodeArraysOf& arrays, const TinyNodes<W>& nodes)
        : warp_(warp),
          problem_(problem),
          output_(output),
          arrays_(arrays),
          stack_(nodes.stack()),
          top_(nodes.top()) {}

    /// Makes this warp's nodes, and those of the list that no other takes. Whatever warps have put
    /// in the list must happen before the call.
    HEAPWOOD_FN void run() {
        BuildState& state = *problem_.state;
        failed_ = warp_.any(ends_build(static_cast<Status>(state.status.ref().load_relaxed())));
        const std::uint32_t listed = state.tiny_pieces.ref().load_relaxed();
        const std::uint32_t end = listed < problem_.tiny_capacity ? listed : problem_.tiny_capacity;
        // Few at a time where there are few for each warp.
        const std::uint32_t even = end / problem_.warps + 1;
        const std::uint32_t most = even < kTinyBlock ? even : kTinyBlock;
        bool more = end > 0;
        HEAPWOOD_UNROLL(1)
        for (;;) {
            if (more && top_ < most) more = take_listed(most, end);
            if (top_ == 0) return;
            make_newest();
        }
    }

private:
    /// What becomes of a node; `none`: the lane has no node. A dropped one is only freed, a cut one
    /// loses empty space.
    enum class Outcome { none, dropped, leaf, cut, divided };

    /// What is made of a node: the same in all lanes of its segment.
    struct Making {
        TinyPiece node;
        Outcome outcome = Outcome::none;
        Split split;
        std::uint32_t leaves = 0;    ///< bit i: child i is a leaf; of a leaf, bit 0: itself
        std::uint32_t children = 0;  ///< node number of the left one; the right one follows
        Reference* arrays[2] = {nullptr, nullptr};  ///< the children's
        std::uint64_t first = 0;  ///< where in the tree the leaves' references begin

        HEAPWOOD_INLINE bool splits() const {
            return outcome == Outcome::cut || outcome == Outcome::divided;
        }
        HEAPWOOD_INLINE bool is_leaf(unsigned side) const { return (leaves >> side & 1U) != 0; }
        /// References that go to a side. A leaf is all its left side.
        HEAPWOOD_INLINE std::uint32_t count(unsigned side) const {
            if (outcome == Outcome::leaf) return side == 0 ? node.count : 0;
            return side == 0 ? split.left : split.right;
        }
        HEAPWOOD_INLINE std::uint32_t leaf_count(unsigned side) const {
            return is_leaf(side) ? count(side) : 0;
        }
    };

    /// Collective: takes up to n nodes from the list, which has `end`. False: it has no more.
    HEAPWOOD_INLINE bool take_listed(std::uint32_t n, std::uint32_t end) {
        std::uint32_t first = 0;
        if (warp_.lane() == 0) first = problem_.state->tiny_taken.ref().add_relaxed(n);
        first = warp_.shuffle(first, 0);
        if (first >= end) return false;
        const std::uint32_t taken = end - first < n ? end - first : n;
        for (std::uint32_t i = warp_.lane(); i < taken; i += W::width) {
            store_wide(stack_ + top_ + i, load_wide(problem_.tiny_pieces + first + i));
        }
        top_ += taken;
        return true;
    }

    /// Collective, when the stack has a node: makes the newest ones.
    HEAPWOOD_FN void make_newest() {
        warp_.sync();  // what lanes have put on the stack
        const unsigned lane = warp_.lane();
        // Lane i looks at the i-th node from the top. Those are made that fit into the warp.
        const std::uint32_t most = top_ > kCrowded ? 1 : top_;
        const std::uint32_t count = lane < most ? stack_[top_ - 1 - lane].count : W::width + 1;
        const std::uint32_t end = warp_.inclusive_sum(count);
        const bool fits = end <= W::width;
        const std::uint32_t nodes = platform::popcount(warp_.ballot(fits));
        const std::uint32_t firsts = warp_.sum(fits ? 1U << (end - count) : 0U);
        const std::uint32_t longest = warp_.max(fits ? count : 0U);
        const bool used = lane < warp_.shuffle(end, nodes - 1);
        // The last node whose first lane is not above this one.
        const std::uint32_t up_to_here = firsts & ((2U << lane) - 1U);
        Making making;
        making.node = load_wide(stack_ + top_ - platform::popcount(up_to_here));
        const Segment<W> segment(warp_, platform::floor_log2(up_to_here),
                                 used ? making.node.count : 0);
        top_ -= nodes;
        Reference reference{};
        if (used) reference = load_wide(making.node.references + segment.rank());

        decide(segment, reference, longest, making);
        reserve(segment, making);
        if (segment.leads()) write_nodes(making);
        divide(segment, reference, making);
        warp_.sync();
        release(segment, making);
        push_children(segment, making);
    }

    HEAPWOOD_INLINE void decide(const Segment<W>& segment, const Reference& reference,
                                std::uint32_t longest, Making& making) const {
        TinyPiece& node = making.node;
        const Choice choice =
            best_of_segment(segment, reference, node.cell, longest, problem_.model);
        if (segment.count() == 0) return;
        if (failed_) {
            making.outcome = Outcome::dropped;
            return;
        }
        struct {
            std::uint32_t count;
            std::uint16_t bad_splits;
            Split split;
        } decided{node.count, node.bad_splits, {}};
        if (problem_.must_be_leaf(node.count, node.depth, node.cell) ||
            !problem_.accept(decided, choice)) {
            making.outcome = Outcome::leaf;
            making.leaves = 1;
            return;
        }
        node.bad_splits = decided.bad_splits;
        making.split = decided.split;
        making.outcome = making.split.parts() ? Outcome::divided : Outcome::cut;
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            const bool is_leaf = making.count(side) == 0 ||
                                 problem_.must_be_leaf(making.count(side), node.depth + 1U,
                                                       part_of(node.cell, making.split, side));
            making.leaves |= is_leaf ? 1U << side : 0U;
        }
    }

    /// Collective: places for children, arrays and leaves. A node for which there is no memory is
    /// dropped.
    HEAPWOOD_INLINE void reserve(const Segment<W>& segment, Making& making) {
        making.children =
            segment.from_first(output_.reserve_pair_each(segment.leads() && making.splits()));
        const bool divides = making.outcome == Outcome::divided;
        if (!arrays_.allocate_children_each(segment.leads() && divides, making.split, output_,
                                            making.arrays)) {
            failed_ = true;
        }
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            making.arrays[side] = reinterpret_cast<Reference*>(segment.from_first(
                std::uint64_t{reinterpret_cast<std::uintptr_t>(making.arrays[side])}));
        }
        if (divides && making.arrays[0] == nullptr) {
            making.outcome = Outcome::dropped;
            making.leaves = 0;
        }
        making.first = segment.from_first(output_.reserve_references_each(
            segment.leads() ? making.leaf_count(0) + making.leaf_count(1) : 0));
    }

    /// Writes a node, and those of its children that are leaves.
    HEAPWOOD_INLINE void write_nodes(const Making& making) const {
        const std::uint32_t number = making.node.node;
        std::uint64_t first = making.first;
        if (making.outcome == Outcome::leaf) {
            output_.write_node(number,
                               Node::leaf(static_cast<std::uint32_t>(first), making.node.count));
        }
        if (!making.splits()) return;
        output_.write_node(number,
                           Node::inner(making.split.axis, making.split.position, making.children));
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            if (!making.is_leaf(side)) continue;
            const std::uint32_t count = making.count(side);
            // One without references is the same in every tree.
            const auto place = static_cast<std::uint32_t>(count == 0 ? 0 : first);
            output_.write_node(making.children + side, Node::leaf(place, count));
            first += count;
        }
    }

    /// Collective: puts the lanes' references in the children's arrays, cut where they cross the
    /// plane, and those of leaves in the tree.
    HEAPWOOD_INLINE void divide(const Segment<W>& segment, Reference reference,
                                const Making& making) const {
        const Split& split = making.split;
        const float lo = component(reference.lo, split.axis);
        const float hi = component(reference.hi, split.axis);
        const bool all_left = making.outcome == Outcome::leaf;
        const bool left = making.splits() && goes_left(lo, hi, split.position, split.side);
        const bool right = making.splits() && goes_right(lo, hi, split.position, split.side);
        Reference above = reference;
        if (left && right) {
            cut(problem_.triangles, problem_.clip, split.axis, split.position, reference, above);
        }
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            const bool here = segment.holds() && (side == 0 ? left || all_left : right);
            const std::uint32_t i = segment.rank_among(here);
            if (here && making.outcome == Outcome::divided) {
                store_wide((side == 0 ? making.arrays[0] : making.arrays[1]) + i, reference);
            }
            if (here && making.is_leaf(side)) {
                output_.write_reference(making.first + (side == 0 ? 0 : making.leaf_count(0)) + i,
                                        reference.primitive);
            }
            reference = above;
        }
    }

    /// Collective: frees the arrays of nodes that are made, and those of children that are leaves.
    HEAPWOOD_INLINE void release(const Segment<W>& segment, const Making& making) const {
        // A node that has lost empty space goes on with its array, unless that is a leaf.
        const bool goes_on = making.outcome == Outcome::cut && making.leaves != 3U;
        const std::uint32_t done =
            (making.outcome == Outcome::divided ? making.leaves : 0U) | (goes_on ? 0U : 4U);
        arrays_.release_each(segment, making.node.references, making.node.count, making.split,
                             making.arrays, done);
    }

    /// Collective: the children that are not leaves go to the stack.
    HEAPWOOD_INLINE void push_children(const Segment<W>& segment, const Making& making) {
        const TinyPiece& node = making.node;
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            const bool stays = segment.leads() && making.splits() && !making.is_leaf(side);
            const std::uint32_t staying = warp_.ballot(stays);
            if (stays) {
                Reference* array = side == 0 ? making.arrays[0] : making.arrays[1];
                if (making.outcome == Outcome::cut) array = node.references;
                const std::uint32_t lower = staying & ((1U << warp_.lane()) - 1U);
                store_wide(stack_ + top_ + platform::popcount(lower),
                           TinyPiece{.references = array,
                                     .count = making.count(side),
                                     .node = making.children + side,
                                     .cell = part_of(node.cell, making.split, side),
                                     .depth = static_cast<std::uint16_t>(node.depth + 1U),
                                     .bad_splits = node.bad_splits,
                                     .pad = 0});
            }
            top_ += platform::popcount(staying);
        }
    }

    /// With more nodes than this only one is made at a time, so that there is always room: below
    /// one node are at most kMaxDepth that wait.
    static constexpr std::uint32_t kCrowded = kTinyStackSize - kStackSize - W::width;

    const W warp_;
    const Problem& problem_;
    BuildOutput<W>& output_;
    const NodeArraysOf& arrays_;
    TinyPiece* const stack_;
    std::uint32_t top_;
    bool failed_ = false;  ///< the build has failed: arrays are only freed
};

}  // namespace heapwood::kdtree
