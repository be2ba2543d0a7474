/// @file
/// Both split searches against searches that are obvious, on any machine of
/// tests/allocators/platform/machines.h.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "kdtree/single/build_state.cuh"
#include "kdtree/split/decide.cuh"
#include "kdtree/split/split_binned_serial.h"
#include "kdtree/split/split_segment.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/kdtree/split/split_cases.h"

namespace heapwood::kdtree::tests {

/// Most references of a node that is binned: several blocks of bin_serially, and a part of one.
inline constexpr unsigned kMostBinned = 300;

/// Counts the boxes of every node in bins and searches them. Lane 0 of the only warp reports.
struct BinnedBody {
    const SplitCase* nodes;
    unsigned count;
    const Box* boxes;
    Bins* bins;
    Choice* choices;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        for (unsigned i = 0; i < count; ++i) {
            const SplitCase& node = nodes[i];
            const BinFrame frame = BinFrame::of(node.frame, node.grid);
            clear_bins(warp, bins[i]);
            warp.sync();
            if constexpr (W::width == 1) {
                Reference references[kMostBinned];
                std::transform(boxes + node.first, boxes + node.first + node.count, references,
                               reference_of);
                GrowingBox around;
                bin_serially(references, node.count, bins[i], frame, around);
                // A wrong box is reported as wrong counts.
                if (around.lo != node.tight.lo || around.hi != node.tight.hi) bins[i] = {};
            } else {
                for (unsigned j = warp.lane(); j < node.count; j += W::width) {
                    count_in_bins(bins[i], frame, boxes[node.first + j]);
                }
            }
            warp.sync();
            if constexpr (W::width == 1) {
                choices[i] = split_binned_serially(bins[i], frame, node.grid, node.cell, node.tight,
                                                   node.count, node.model);
            } else {
                const Choice choice =
                    split_binned(warp, sum_bins(warp, bins[i], frame, node.count), node.grid,
                                 node.cell, node.tight, node.count, node.model);
                if (warp.lane() == 0) choices[i] = choice;
            }
        }
    }
};

/// Searches every node exactly.
template <class Search>
struct ExactBody {
    const SplitCase* nodes;
    unsigned count;
    const Reference* references;
    Search* search;
    Choice* choices;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        for (unsigned i = 0; i < count; ++i) {
            const SplitCase& node = nodes[i];
            warp.sync();
            count_planes(warp, *search, references + node.first, node.count);
            const Choice choice = search->best(warp, node.cell, node.count, node.model);
            if (warp.lane() == 0) choices[i] = choice;
        }
    }
};

/// Searches the nodes, of at most kSegmentMost references, as many at a time as fit into a warp.
struct SegmentBody {
    const SplitCase* nodes;
    unsigned count;
    const Reference* references;
    Choice* choices;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (w != 0) return;
        for (unsigned i = 0; i < count;) {
            // The lane's node, and where that begins; the lanes after the last one have none.
            unsigned mine = count;
            unsigned first = warp.lane();
            unsigned longest = 0;
            for (unsigned end = 0; i < count && end + nodes[i].count <= W::width; ++i) {
                if (end <= warp.lane() && warp.lane() < end + nodes[i].count) {
                    mine = i;
                    first = end;
                }
                end += nodes[i].count;
                longest = longest < nodes[i].count ? nodes[i].count : longest;
            }
            const SplitCase& node = nodes[mine < count ? mine : 0];
            const Segment<W> segment(warp, first, mine < count ? node.count : 0);
            Reference reference{};
            if (mine < count) reference = references[node.first + segment.rank()];
            const Choice choice =
                best_of_segment(segment, reference, node.cell, longest, node.model);
            if (segment.leads()) choices[mine] = choice;
        }
    }
};

template <class Machine>
class SplitTest : public ::testing::Test {
protected:
    template <class T>
    using Array = typename Machine::template Array<T>;

#if defined(__SANITIZE_THREAD__)
    static constexpr unsigned kCases = Machine::Warp::width == 1 ? 300 : 20;
#else
    static constexpr unsigned kCases = Machine::Warp::width == 1 ? 4000 : 200;
#endif
    /// Whether cases of every kind are surely among them.
    static constexpr bool kMany = kCases >= 200;

    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }

    static void expect_choice(const Choice& choice, const std::optional<Choice>& wanted,
                              unsigned i) {
        if (!wanted) {
            ASSERT_TRUE(std::isnan(choice.cost)) << "case " << i;
            return;
        }
        ASSERT_EQ(choice.cost, wanted->cost) << "case " << i;
        ASSERT_EQ(choice.split.axis, wanted->split.axis) << "case " << i;
        ASSERT_EQ(choice.split.position, wanted->split.position) << "case " << i;
        ASSERT_EQ(choice.split.side, wanted->split.side) << "case " << i;
        ASSERT_EQ(choice.split.left, wanted->split.left) << "case " << i;
        ASSERT_EQ(choice.split.right, wanted->split.right) << "case " << i;
    }

    /// The choices are those of a search of all planes at which a reference begins or ends.
    static void expect_best_planes(const SplitCases& cases, const Choice* choices) {
        unsigned planar_left = 0;
        unsigned planar_right = 0;
        for (unsigned i = 0; i < kCases; ++i) {
            const SplitCase& node = cases.nodes[i];
            NaiveSearch naive(node, cases.boxes.data());
            for (unsigned axis = 0; axis < 3; ++axis) {
                const float lo = component(node.cell.lo, axis);
                const float hi = component(node.cell.hi, axis);
                if (lo == hi) continue;
                for (std::uint32_t j = node.first; j < node.first + node.count; ++j) {
                    const Box& box = cases.boxes[j];
                    for (const Side side : {Side::right, Side::left}) {
                        const float position =
                            component(side == Side::right ? box.lo : box.hi, axis);
                        if (position < lo || position > hi) continue;
                        const Sides n = count_sides(node, cases.boxes.data(), axis, position, side);
                        // One child would be the node again.
                        if (n.left == 0 && position == lo) continue;
                        if (n.right == 0 && position == hi) continue;
                        naive.offer(axis, position, side);
                    }
                }
            }
            expect_choice(choices[i], naive.best(), i);
            if (HasFatalFailure()) return;
            if (std::isnan(choices[i].cost)) continue;
            ++(choices[i].split.side == Side::left ? planar_left : planar_right);
        }
        if (kMany) {
            EXPECT_GT(planar_left, kCases / 20);
            EXPECT_GT(planar_right, kCases / 20);
        }
    }
};

TYPED_TEST_SUITE_P(SplitTest);

TYPED_TEST_P(SplitTest, BinsCountAndFindTheBestPlane) {
    using T = TestFixture;
    Dice dice;
    const SplitCases cases = random_split_cases(dice, T::kCases, kMostBinned);
    typename T::template Array<SplitCase> nodes(cases.nodes.size());
    typename T::template Array<Box> boxes(cases.boxes.size());
    std::copy(cases.nodes.begin(), cases.nodes.end(), nodes.data());
    std::copy(cases.boxes.begin(), cases.boxes.end(), boxes.data());
    typename T::template Array<Bins> bins(cases.nodes.size());
    typename T::template Array<Choice> choices(cases.nodes.size());
    TypeParam::run(1,
                   BinnedBody{nodes.data(), T::kCases, boxes.data(), bins.data(), choices.data()});

    unsigned cuts = 0;
    unsigned found = 0;
    for (unsigned i = 0; i < T::kCases; ++i) {
        const SplitCase& node = cases.nodes[i];
        const BinFrame frame = BinFrame::of(node.frame, node.grid);
        NaiveSearch naive(node, cases.boxes.data());
        for (unsigned axis = 0; axis < 3; ++axis) {
            const float tight_lo = component(node.tight.lo, axis);
            const float tight_hi = component(node.tight.hi, axis);
            const float cell_lo = component(node.cell.lo, axis);
            const float cell_hi = component(node.cell.hi, axis);
            if (cell_lo < tight_lo) naive.offer(axis, tight_lo, Side::right);
            if (tight_hi < cell_hi) naive.offer(axis, tight_hi, Side::left);
            std::uint32_t left = 0;
            std::uint32_t right = node.count;
            for (unsigned b = 1; b < kBins; ++b) {
                left += bins[i].begin[axis][b - 1];
                right -= bins[i].end[axis][b - 1];
                const float position = frame.plane(axis, b);
                // Where the planes of a narrow frame coincide, the last one counts.
                if (b + 1 < node.grid.bins[axis] && frame.plane(axis, b + 1) == position) continue;
                const Sides n = count_sides(node, cases.boxes.data(), axis, position, Side::right);
                if (cell_lo < position && position < cell_hi && b < node.grid.bins[axis]) {
                    ASSERT_EQ(left, n.left) << "case " << i << " axis " << axis << " plane " << b;
                    ASSERT_EQ(right, n.right) << "case " << i << " axis " << axis << " plane " << b;
                    naive.offer(axis, position, Side::right);
                }
            }
            left += bins[i].begin[axis][kBins - 1];
            right -= bins[i].end[axis][kBins - 1];
            ASSERT_EQ(left, node.count) << "case " << i;
            ASSERT_EQ(right, 0U) << "case " << i;
        }
        T::expect_choice(choices[i], naive.best(), i);
        if (this->HasFatalFailure()) return;
        if (!std::isnan(choices[i].cost)) {
            ++found;
            cuts += choices[i].split.left == 0 || choices[i].split.right == 0;
        }
    }
    if (T::kMany) {
        EXPECT_GT(cuts, T::kCases / 20);
        EXPECT_GT(found, cuts + T::kCases / 20);
    }
}

TYPED_TEST_P(SplitTest, ExactSearchFindsTheBestPlane) {
    using T = TestFixture;
    Dice dice;
    const SplitCases cases = random_split_cases(dice, T::kCases, kExactMax);
    typename T::template Array<SplitCase> nodes(cases.nodes.size());
    typename T::template Array<Reference> references(cases.boxes.size());
    std::copy(cases.nodes.begin(), cases.nodes.end(), nodes.data());
    std::transform(cases.boxes.begin(), cases.boxes.end(), references.data(), reference_of);
    using Search = decltype(Scratch<typename TypeParam::Warp>::exact);
    typename T::template Array<Search> search(1);
    typename T::template Array<Choice> choices(cases.nodes.size());
    TypeParam::run(1, ExactBody<Search>{nodes.data(), T::kCases, references.data(), search.data(),
                                        choices.data()});

    this->expect_best_planes(cases, choices.data());
}

TYPED_TEST_P(SplitTest, SegmentsFindTheBestPlanes) {
    using T = TestFixture;
    using W = typename TypeParam::Warp;
    if (W::width == 1) GTEST_SKIP() << "a segment has several lanes";
    Dice dice;
    const SplitCases cases = random_split_cases(dice, T::kCases, kSegmentMost);
    typename T::template Array<SplitCase> nodes(cases.nodes.size());
    typename T::template Array<Reference> references(cases.boxes.size());
    std::copy(cases.nodes.begin(), cases.nodes.end(), nodes.data());
    std::transform(cases.boxes.begin(), cases.boxes.end(), references.data(), reference_of);
    typename T::template Array<Choice> choices(cases.nodes.size());
    TypeParam::run(1, SegmentBody{nodes.data(), T::kCases, references.data(), choices.data()});
    this->expect_best_planes(cases, choices.data());
}

REGISTER_TYPED_TEST_SUITE_P(SplitTest, BinsCountAndFindTheBestPlane, ExactSearchFindsTheBestPlane,
                            SegmentsFindTheBestPlanes);

}  // namespace heapwood::kdtree::tests
