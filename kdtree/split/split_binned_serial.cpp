/// @file
/// Loops without branches over arrays of ends, for which a compiler uses vector instructions.
#include "kdtree/split/split_binned_serial.h"

#include <bit>

#include "allocators/platform/warp.cuh"
#include "kdtree/split/cost_bits.h"

namespace heapwood::kdtree {
namespace {

/// References that are counted at a time.
constexpr std::uint32_t kBlock = 64;
constexpr std::int32_t kUnsettled = kBins;

/// For each x the number of the last plane p with before(p, x), which is what BinFrame::planes_to
/// and planes_below tell; or kUnsettled where the first guess is wrong, for it is right almost
/// always.
template <class Before>
inline void guess(float first, float step, float inverse, const float* xs, std::uint32_t n,
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

inline void count(std::uint32_t* begin, std::uint32_t* end, float first, float step, float inverse,
                  const float* lo, const float* hi, std::uint32_t n) {
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

/// Of at most kBlock references.
inline void bin_block(const Reference* references, std::uint32_t n, Bins& bins,
                      const BinFrame& frame, GrowingBox& all) {
    float lo[3][kBlock];
    float hi[3][kBlock];
    GrowingBox around = all;
    for (std::uint32_t i = 0; i < n; ++i) {
        const Reference& r = references[i];
        around.add(r.lo, r.hi);
        for (int axis = 0; axis < 3; ++axis) {
            lo[axis][i] = r.lo[axis];
            hi[axis][i] = r.hi[axis];
        }
    }
    all = around;
    for (int axis = 0; axis < 3; ++axis) {
        count(bins.begin[axis], bins.end[axis], frame.lo[axis], frame.step[axis],
              frame.inverse[axis], lo[axis], hi[axis], n);
    }
}

/// The costs, as bits, of the planes at the lower ends of an axis' bins; kNoCost for those that are
/// none. @return the lowest.
inline std::int32_t plane_costs(const CellMeasure::Axis& measure, float first, float step,
                                std::uint32_t planes, float lo, float hi,
                                const std::int32_t (&left)[kBins],
                                const std::int32_t (&right)[kBins], std::int32_t (&costs)[kBins]) {
    std::int32_t lowest = kNoCost;
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(kBins); ++b) {
        const float position = first + static_cast<float>(b) * step;
        const bool is_plane =
            (b > 0) & (b < static_cast<std::int32_t>(planes)) & (lo < position) & (position < hi);
        const std::int32_t cost = cost_bits(measure.cost(position, left[b], right[b]), is_plane);
        costs[b] = cost;
        lowest = cost < lowest ? cost : lowest;
    }
    return lowest;
}

}  // namespace

void bin_serially(const Reference* references, std::uint32_t n, Bins& bins, const BinFrame& frame,
                  GrowingBox& around, CpuVersion version) {
    run_version(version, [&] {
        for (std::uint32_t begin = 0; begin < n; begin += kBlock) {
            const std::uint32_t rest = n - begin;
            bin_block(references + begin, rest < kBlock ? rest : kBlock, bins, frame, around);
        }
    });
}

Choice split_binned_serially(const Bins& bins, const BinFrame& frame, const BinGrid& grid,
                             const Box& cell, const Box& tight, std::uint32_t n,
                             const CostModel& model, CpuVersion version) {
    return run_version(version, [&] {
        const CellMeasure measure(cell, model);
        BestSplit best;
        offer_cuts(platform::SerialWarp{}, measure, cell, tight, n, best);
        std::int32_t left[3][kBins];
        std::int32_t right[3][kBins];
        std::int32_t costs[3][kBins];
        std::int32_t lowest = kNoCost;
        unsigned cheapest = 0;
        for (unsigned axis = 0; axis < 3; ++axis) {
            std::uint32_t begun = 0;
            std::uint32_t ended = 0;
            for (unsigned b = 0; b < kBins; ++b) {
                left[axis][b] = static_cast<std::int32_t>(begun);
                right[axis][b] = static_cast<std::int32_t>(n - ended);
                begun += bins.begin[axis][b];
                ended += bins.end[axis][b];
            }
            const std::int32_t here =
                plane_costs(measure.along(axis), component(frame.lo, axis),
                            component(frame.step, axis), grid.bins[axis], component(cell.lo, axis),
                            component(cell.hi, axis), left[axis], right[axis], costs[axis]);
            cheapest = here < lowest ? axis : cheapest;
            lowest = here < lowest ? here : lowest;
        }
        for (unsigned b = 0; b < kBins && lowest != kNoCost; ++b) {
            if (costs[cheapest][b] != lowest) continue;
            best.offer(std::bit_cast<float>(lowest), cheapest, Side::right,
                       frame.plane(cheapest, b), static_cast<std::uint32_t>(left[cheapest][b]),
                       static_cast<std::uint32_t>(right[cheapest][b]));
        }
        return best.choice();
    });
}

}  // namespace heapwood::kdtree
