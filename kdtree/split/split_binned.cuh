/// @file
/// Split search over up to 32 bins an axis (min-max binning after Shevtsov et al. 2007), for nodes
/// of many references.
///
/// The bins divide evenly a box that contains the node's references: the root's cell, else the box
/// around the parent's references, cut at its plane. Each reference is counted in the bin of its
/// lower and of its upper end, so that the counts on both sides of each of the planes are exact:
/// which bin an end is in is decided by comparing it with the planes themselves, so rounding in the
/// guess cannot make counts and partition disagree.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "kdtree/model/sah.cuh"

namespace heapwood::kdtree {

/// Most bins of an axis.
inline constexpr unsigned kBins = 32;

/// Into how many bins each axis is divided: one more than it has planes.
struct BinGrid {
    std::uint32_t bins[3];
    glm::vec3 share;  ///< of a bin in the whole: 1 / bins

    /// So many planes (BuildConfig::planes) dealt out to the axes.
    static BinGrid of(std::uint32_t planes) {
        const std::uint32_t x = (planes + 2) / 3 + 1;
        const std::uint32_t y = (planes + 1) / 3 + 1;
        const std::uint32_t z = planes / 3 + 1;
        return {
            {x, y, z},
            1.0F / glm::vec3{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)}};
    }
};

/// How many references begin and end in each bin of each axis, and the box around all of them
/// (which has coordinates as integers of the same order, for atomic minima and maxima).
struct Bins {
    std::uint32_t begin[3][kBins];
    std::uint32_t end[3][kBins];
    std::uint32_t lowest[3];
    std::uint32_t highest[3];

    /// Words of the counts.
    static constexpr unsigned kWords = 2 * 3 * kBins;
    HEAPWOOD_INLINE std::uint32_t* words() { return &begin[0][0]; }
    HEAPWOOD_INLINE const std::uint32_t* words() const { return &begin[0][0]; }

    /// The box around all references.
    HEAPWOOD_INLINE Box tight() const {
        return {{platform::ordered_bits_float(lowest[0]), platform::ordered_bits_float(lowest[1]),
                 platform::ordered_bits_float(lowest[2])},
                {platform::ordered_bits_float(highest[0]), platform::ordered_bits_float(highest[1]),
                 platform::ordered_bits_float(highest[2])}};
    }
};

/// Where the bins of a box are. Plane b of an axis, 0 < b < BinGrid::bins, is at lo + b * step.
struct BinFrame {
    glm::vec3 lo;
    glm::vec3 step;
    glm::vec3 inverse;  ///< of the step
    /// Whether planes are so far apart, for the size of their coordinates, that rounding moves none
    /// by more than an eighth of a bin (nearest_plane).
    bool apart;

    HEAPWOOD_FN static BinFrame of(const Box& box, const BinGrid& grid) {
        BinFrame f;
        f.lo = box.lo;
        // Divided before the subtraction, which could overflow.
        f.step = {box.hi.x * grid.share.x - box.lo.x * grid.share.x,
                  box.hi.y * grid.share.y - box.lo.y * grid.share.y,
                  box.hi.z * grid.share.z - box.lo.z * grid.share.z};
        f.inverse = {1 / f.step.x, 1 / f.step.y, 1 / f.step.z};
        f.apart = are_apart(box.lo.x, box.hi.x, f.step.x) &&
                  are_apart(box.lo.y, box.hi.y, f.step.y) &&
                  are_apart(box.lo.z, box.hi.z, f.step.z);
        return f;
    }

    HEAPWOOD_INLINE float plane(unsigned axis, unsigned b) const {
        return plane(component(lo, axis), component(step, axis), b);
    }
    HEAPWOOD_INLINE static float plane(float lo, float step, unsigned b) {
        return lo + static_cast<float>(b) * step;
    }

    /// How many planes are at or below x.
    HEAPWOOD_INLINE static unsigned planes_to(float lo, float step, float inverse, float x) {
        unsigned b = guess(lo, inverse, x);
        HEAPWOOD_UNROLL(1)
        while (b > 0 && x < plane(lo, step, b)) --b;
        HEAPWOOD_UNROLL(1)
        while (b + 1 < kBins && plane(lo, step, b + 1) <= x) ++b;
        return b;
    }
    /// How many planes are below x, or `least`, if these are fewer.
    HEAPWOOD_INLINE static unsigned planes_below(float lo, float step, float inverse, float x,
                                                 unsigned least = 0) {
        unsigned b = guess(lo, inverse, x);
        if (b < least) b = least;
        HEAPWOOD_UNROLL(1)
        while (b > least && x <= plane(lo, step, b)) --b;
        HEAPWOOD_UNROLL(1)
        while (b + 1 < kBins && plane(lo, step, b + 1) < x) ++b;
        return b;
    }

    /// Where planes are apart: how many are at or below the lower end of an extent, and how many
    /// are below the upper end, without a branch.
    HEAPWOOD_INLINE static unsigned planes_to_apart(float lo, float step, float inverse, float x) {
        float plane = 0;
        const int nearest = nearest_plane(lo, step, inverse, x, plane);
        return not_negative(nearest - (x < plane ? 1 : 0));
    }
    HEAPWOOD_INLINE static unsigned planes_below_apart(float lo, float step, float inverse,
                                                       float x) {
        float plane = 0;
        const int nearest = nearest_plane(lo, step, inverse, x, plane);
        return not_negative(nearest - (x <= plane ? 1 : 0));
    }

private:
    HEAPWOOD_INLINE static unsigned not_negative(int n) {
        return static_cast<unsigned>(n > 0 ? n : 0);
    }

    /// The plane nearest to x among all kBins, and its place. With u = 2^-24 and the largest
    /// coordinate m, the quotient is wrong by 4 u kBins bins at most, and a plane by
    /// u (kBins + m / step). With step >= m 2^-20 both are less than 1/8 together, so x lies
    /// between the planes next to this one, which need no comparison.
    HEAPWOOD_INLINE static int nearest_plane(float lo, float step, float inverse, float x,
                                             float& plane) {
        float g = (x - lo) * inverse;
        g = g < 0 ? 0.0F : g < kBins - 1 ? g : float{kBins - 1};
        // The sum's last bit has the value 1: it is rounded to the nearest whole number.
        constexpr float kWhole = 8388608.0F;
        const float whole = g + kWhole;
        plane = lo + (whole - kWhole) * step;
        return static_cast<int>(platform::float_bits(whole) & (kBins - 1));
    }

    HEAPWOOD_INLINE static bool are_apart(float lo, float hi, float step) {
        constexpr float kShare = 1.0F / (1U << 20);
        constexpr float kSmallest = 1e-30F;  // its inverse is finite
        // Where all planes are the same the quotient is not a number, or infinite: then the last
        // plane is the nearest one, and as good as any.
        return step == 0 || (step >= kSmallest && step >= kShare * lo && step >= -kShare * lo &&
                             step >= kShare * hi && step >= -kShare * hi);
    }

    HEAPWOOD_INLINE static unsigned guess(float lo, float inverse, float x) {
        const float g = (x - lo) * inverse;
        // Clamped before the conversion; a NaN of a flat axis ends at the last bin.
        return static_cast<unsigned>(g < 0 ? 0.0F : g < kBins - 1 ? g : float{kBins - 1});
    }
};

/// Counts a reference's box in `bins`, which the other lanes of the warp count in at the same time.
HEAPWOOD_INLINE void count_in_bins(Bins& bins, const BinFrame& frame, const Box& box) {
    const auto count = [&](unsigned axis, unsigned begin, unsigned end) {
        platform::AtomicRef(bins.begin[axis][begin]).count_relaxed(1);
        // What lies in a plane goes right of it (Side::right): it ends where it begins.
        platform::AtomicRef(bins.end[axis][end < begin ? begin : end]).count_relaxed(1);
    };
    if (frame.apart) {
        const auto along = [&](unsigned axis, float lo, float step, float inverse, float from,
                               float to) {
            count(axis, BinFrame::planes_to_apart(lo, step, inverse, from),
                  BinFrame::planes_below_apart(lo, step, inverse, to));
        };
        along(0, frame.lo.x, frame.step.x, frame.inverse.x, box.lo.x, box.hi.x);
        along(1, frame.lo.y, frame.step.y, frame.inverse.y, box.lo.y, box.hi.y);
        along(2, frame.lo.z, frame.step.z, frame.inverse.z, box.lo.z, box.hi.z);
        return;
    }
    HEAPWOOD_UNROLL(1)
    for (unsigned axis = 0; axis < 3; ++axis) {
        const float lo = component(frame.lo, axis);
        const float step = component(frame.step, axis);
        const float inverse = component(frame.inverse, axis);
        const unsigned begin = BinFrame::planes_to(lo, step, inverse, component(box.lo, axis));
        count(axis, begin,
              BinFrame::planes_below(lo, step, inverse, component(box.hi, axis), begin));
    }
}

/// Collective: sets all counts of `bins` to 0, and the box to an empty one.
template <class W>
HEAPWOOD_INLINE void clear_bins(const W& warp, Bins& bins) {
    HEAPWOOD_UNROLL(1)
    for (unsigned i = warp.lane(); i < Bins::kWords; i += W::width) bins.words()[i] = 0;
    for (unsigned i = warp.lane(); i < 3; i += W::width) {
        bins.lowest[i] = 0xffffffffU;
        bins.highest[i] = 0;
    }
}

/// Collective: copies bins. No sync is implied.
template <class W>
HEAPWOOD_INLINE void copy_bins(const W& warp, Bins& to, const Bins& from) {
    HEAPWOOD_UNROLL_ALL
    for (unsigned i = warp.lane(); i < Bins::kWords; i += W::width) to.words()[i] = from.words()[i];
    for (unsigned i = warp.lane(); i < 3; i += W::width) {
        to.lowest[i] = from.lowest[i];
        to.highest[i] = from.highest[i];
    }
}

/// Collective: makes the union of the lanes' boxes the box of the bins. No sync is implied.
template <class W>
HEAPWOOD_FN void store_box(const W& warp, Bins& bins, const GrowingBox& mine) {
    const std::uint32_t lowest[3] = {warp.min(platform::float_ordered_bits(mine.lo.x)),
                                     warp.min(platform::float_ordered_bits(mine.lo.y)),
                                     warp.min(platform::float_ordered_bits(mine.lo.z))};
    const std::uint32_t highest[3] = {warp.max(platform::float_ordered_bits(mine.hi.x)),
                                      warp.max(platform::float_ordered_bits(mine.hi.y)),
                                      warp.max(platform::float_ordered_bits(mine.hi.z))};
    if (warp.lane() != 0) return;
    HEAPWOOD_UNROLL_ALL
    for (unsigned axis = 0; axis < 3; ++axis) {
        bins.lowest[axis] = lowest[axis];
        bins.highest[axis] = highest[axis];
    }
}

/// Collective: adds a warp's bins to those that many warps add to at the same time, relaxed: a
/// warp that reads the sums has to wait for all of them by other means.
template <class W>
HEAPWOOD_FN void add_bins(const W& warp, Bins& to, const Bins& from) {
    HEAPWOOD_UNROLL(1)
    for (unsigned i = warp.lane(); i < Bins::kWords; i += W::width) {
        const std::uint32_t n = from.words()[i];
        if (n > 0) platform::AtomicRef(to.words()[i]).count_relaxed(n);
    }
    for (unsigned axis = warp.lane(); axis < 3; axis += W::width) {
        platform::AtomicRef(to.lowest[axis]).min_relaxed(from.lowest[axis]);
        platform::AtomicRef(to.highest[axis]).max_relaxed(from.highest[axis]);
    }
}

/// Collective: offers the planes that cut empty space off a cell at the box `tight` around its n
/// references.
template <class W>
HEAPWOOD_INLINE void offer_cuts(const W& warp, const CellMeasure& measure, const Box& cell,
                                const Box& tight, std::uint32_t n, BestSplit& best) {
    for (unsigned c = warp.lane(); c < 6; c += W::width) {
        const unsigned axis = c >> 1;
        if ((c & 1U) == 0) {
            const float position = component(tight.lo, axis);
            if (component(cell.lo, axis) < position) {
                best.offer(measure.cost(axis, position, 0U, n), axis, Side::right, position, 0, n);
            }
        } else {
            const float position = component(tight.hi, axis);
            if (position < component(cell.hi, axis)) {
                best.offer(measure.cost(axis, position, n, 0U), axis, Side::left, position, n, 0);
            }
        }
    }
}

/// The planes at the lower ends of bins, with how many references are on either side. A lane has
/// those of one bin, one for each axis.
struct BinPlanes {
    float position[3];
    std::uint32_t left[3];
    std::uint32_t right[3];
};

/// Collective: what the bins of n references say of their planes.
template <class W>
HEAPWOOD_INLINE BinPlanes sum_bins(const W& warp, const Bins& bins, const BinFrame& frame,
                                   std::uint32_t n) {
    static_assert(W::width == kBins);
    const unsigned b = warp.lane();
    std::uint32_t here[6];  // what begins in this bin on each axis, and what ends
    std::uint32_t to_here[6];
    HEAPWOOD_UNROLL_ALL
    for (unsigned i = 0; i < 6; ++i) {
        to_here[i] = here[i] = i < 3 ? bins.begin[i][b] : bins.end[i - 3][b];
    }
    warp.inclusive_sums(to_here);
    BinPlanes planes;
    HEAPWOOD_UNROLL_ALL
    for (unsigned axis = 0; axis < 3; ++axis) {
        planes.position[axis] = frame.plane(axis, b);
        planes.left[axis] = to_here[axis] - here[axis];
        planes.right[axis] = n - (to_here[3 + axis] - here[3 + axis]);
    }
    return planes;
}

/// Collective: the best of the bins' planes, and of the planes that cut empty space off at the box
/// `tight` around the references, for a cell that holds n references. `tight` may be the cell
/// itself: then the bins' planes are the only ones.
///
/// The cell is not the bins' frame: it may reach beyond it, and it may be smaller where empty space
/// has been cut off since the counting; planes outside it are passed over.
template <class W>
HEAPWOOD_FN Choice split_binned(const W& warp, const BinPlanes& planes, const BinGrid& grid,
                                const Box& cell, const Box& tight, std::uint32_t n,
                                const CostModel& model) {
    const CellMeasure measure(cell, model);
    BestSplit best;
    offer_cuts(warp, measure, cell, tight, n, best);
    const unsigned b = warp.lane();
    HEAPWOOD_UNROLL_ALL
    for (unsigned axis = 0; axis < 3; ++axis) {
        const float position = planes.position[axis];
        if (b > 0 && b < grid.bins[axis] && component(cell.lo, axis) < position &&
            position < component(cell.hi, axis)) {
            best.offer(measure.cost(axis, position, planes.left[axis], planes.right[axis]), axis,
                       Side::right, position, planes.left[axis], planes.right[axis]);
        }
    }
    return choose(warp, best);
}

}  // namespace heapwood::kdtree
