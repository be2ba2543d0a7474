/// @file
/// The counting of split_binned.cuh for a warp of width 1: whole arrays at a time, in loops for
/// which a compiler uses vector instructions.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/split/split_binned.cuh"

namespace heapwood::kdtree {

/// Counts references in bins, and adds their boxes to another: what count_in_bins and
/// GrowingBox::add do for one.
class SerialBinning {
public:
    SerialBinning(Bins& bins, const BinFrame& frame, GrowingBox& around)
        : bins_(bins), frame_(frame), around_(around) {}

    void add(const Reference* references, std::uint32_t n) {
        for (; n > kBlock; references += kBlock, n -= kBlock) add_block(references, kBlock);
        add_block(references, n);
    }

private:
    static constexpr std::uint32_t kBlock = 64;
    static constexpr std::int32_t kUnsettled = kBins;

    void add_block(const Reference* references, std::uint32_t n) {
        float lo[3][kBlock];
        float hi[3][kBlock];
        GrowingBox around = around_;
        for (std::uint32_t i = 0; i < n; ++i) {
            const Reference& r = references[i];
            around.add(r.lo, r.hi);
            for (int axis = 0; axis < 3; ++axis) {
                lo[axis][i] = r.lo[axis];
                hi[axis][i] = r.hi[axis];
            }
        }
        around_ = around;
        for (int axis = 0; axis < 3; ++axis) {
            count(bins_.begin[axis], bins_.end[axis], frame_.lo[axis], frame_.step[axis],
                  frame_.inverse[axis], lo[axis], hi[axis], n);
        }
    }

    static void count(std::uint32_t* begin, std::uint32_t* end, float first, float step,
                      float inverse, const float* lo, const float* hi, std::uint32_t n) {
        std::int32_t begins[kBlock];
        std::int32_t ends[kBlock];
        guess(first, step, inverse, lo, n, begins, [](float a, float b) { return a <= b; });
        guess(first, step, inverse, hi, n, ends, [](float a, float b) { return a < b; });
        for (std::uint32_t i = 0; i < n; ++i) {
            auto b = static_cast<unsigned>(begins[i]);
            auto e = static_cast<unsigned>(ends[i]);
            if (b == kUnsettled) b = BinFrame::planes_to(first, step, inverse, lo[i]);
            if (e == kUnsettled) e = BinFrame::planes_below(first, step, inverse, hi[i]);
            ++begin[b];
            ++end[e < b ? b : e];
        }
    }

    /// For each x the number of the last plane p with before(p, x), which is what
    /// BinFrame::planes_to and planes_below tell; or kUnsettled where the first guess is wrong,
    /// for it is right almost always.
    template <class Before>
    static void guess(float first, float step, float inverse, const float* xs, std::uint32_t n,
                      std::int32_t* results, Before before) {
        constexpr auto kLast = static_cast<std::int32_t>(kBins - 1);
        for (std::uint32_t i = 0; i < n; ++i) {
            const float x = xs[i];
            float g = (x - first) * inverse;
            g = g < float{kLast} ? g : float{kLast};  // a NaN as well
            g = g < 0 ? 0.0F : g;
            const auto b = static_cast<std::int32_t>(g);
            const float here = first + static_cast<float>(b) * step;
            const float next = first + static_cast<float>(b + 1) * step;
            // Not 0 if b is too large, or too small.
            const std::int32_t too_large = before(here, x) ? 0 : b;
            const std::int32_t too_small = before(next, x) ? kLast - b : 0;
            results[i] = (too_large | too_small) != 0 ? kUnsettled : b;
        }
    }

    Bins& bins_;
    const BinFrame& frame_;
    GrowingBox& around_;
};

}  // namespace heapwood::kdtree
