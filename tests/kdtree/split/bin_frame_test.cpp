/// @file
/// Which bins an extent's ends are in, without branches and with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kdtree/split/split_binned.cuh"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {
namespace {

/// A frame of which one axis is of interest, with planes on both sides of where they are apart.
BinFrame frame_of(float lo, float width) {
    return BinFrame::of({{lo, lo, lo}, {lo + width, lo + width, lo + width}}, BinGrid::of(93));
}

/// Coordinates around each plane, and outside.
template <class F>
void for_each_coordinate(const BinFrame& frame, F f) {
    for (unsigned b = 0; b <= kBins; ++b) {
        float below = frame.plane(0, b);
        float above = below;
        f(below);
        for (int i = 0; i < 3; ++i) {
            below = std::nextafterf(below, -std::numeric_limits<float>::infinity());
            above = std::nextafterf(above, std::numeric_limits<float>::infinity());
            f(below);
            f(above);
        }
        f(frame.plane(0, b) + frame.step.x / 2);
    }
    f(frame.lo.x - frame.step.x);
    f(frame.plane(0, kBins) + 40 * frame.step.x);
}

/// The number of planes that a comparison holds of, one by one.
template <class Compare>
unsigned planes(const BinFrame& frame, Compare holds) {
    unsigned n = 0;
    for (unsigned b = 1; b < kBins; ++b) n += holds(frame.plane(0, b)) ? 1 : 0;
    return n;
}

void expect_bins(const BinFrame& frame) {
    const float lo = frame.lo.x;
    const float step = frame.step.x;
    const float inverse = frame.inverse.x;
    for_each_coordinate(frame, [&](float x) {
        const unsigned to = planes(frame, [&](float plane) { return plane <= x; });
        const unsigned below = planes(frame, [&](float plane) { return plane < x; });
        ASSERT_EQ(BinFrame::planes_to(lo, step, inverse, x), to) << lo << ' ' << step << ' ' << x;
        for (const unsigned least : {0U, to}) {
            ASSERT_EQ(BinFrame::planes_below(lo, step, inverse, x, least), std::max(below, least))
                << lo << ' ' << step << ' ' << x;
        }
        if (!frame.apart) return;
        ASSERT_EQ(BinFrame::planes_to_apart(lo, step, inverse, x), to)
            << lo << ' ' << step << ' ' << x;
        // An extent ends where it begins, or beyond.
        ASSERT_EQ(std::max(BinFrame::planes_below_apart(lo, step, inverse, x), to),
                  std::max(below, to))
            << lo << ' ' << step << ' ' << x;
    });
}

TEST(BinFrame, EndsAreInTheBinsThatThePlanesSay) {
    Dice dice;
    unsigned apart = 0;
    constexpr unsigned kFrames = 4000;
    for (unsigned i = 0; i < kFrames; ++i) {
        const float lo = std::ldexp(dice.uniform(-1.0F, 1.0F), dice.integer(-20, 20));
        // From a step that is lost in the coordinates to one that is much larger.
        const float width = std::ldexp(std::abs(lo) + 1e-6F, dice.integer(-27, 8));
        const BinFrame frame = frame_of(lo, width);
        apart += frame.apart ? 1 : 0;
        expect_bins(frame);
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(apart, kFrames / 4);
    EXPECT_LT(apart, 9 * kFrames / 10);
}

TEST(BinFrame, AFlatBoxHasAllPlanesInOnePlace) {
    for (const float lo : {0.0F, 3.0F, -1e6F, 1e-35F}) {
        const BinFrame frame = frame_of(lo, 0);
        EXPECT_TRUE(frame.apart) << lo;
        expect_bins(frame);
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
