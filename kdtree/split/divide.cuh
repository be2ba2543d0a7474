/// @file
/// The division of a node's references among its children, and of a scene's triangles into the
/// root's references: one algorithm for the single kernel and for the level method.
///
/// The caller says where references go by a `Places`:
///     void put(unsigned side, std::uint32_t i, const Reference&) const;  // the i-th of a side
/// and, for a warp of width 1, which puts several at a time,
///     Reference* from(unsigned side, std::uint32_t i) const;  // where the i-th and more can lie
///     void done(unsigned side, std::uint32_t i, const Reference*, std::uint32_t n) const;
#pragma once

#include <cstdint>

#include "kdtree/model/clip.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/split/divide_serial.h"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_binned_serial.h"

namespace heapwood::kdtree {

/// How a GPU's loops over references are compiled: with few instructions, for code that must stay
/// in a multiprocessor's cache, or with several loads on their way at a time.
enum class Loops { short_code, many_loads };

/// Collective: calls f(extent) for references begin to end, each by one lane, with their extent
/// along an axis.
template <Loops kLoops, class W, class F>
HEAPWOOD_INLINE void for_each_extent(const W& warp, const Reference* references,
                                     std::uint32_t begin, std::uint32_t end, unsigned axis, F f) {
    constexpr unsigned kAtOnce = kLoops == Loops::short_code || W::width == 1 ? 1 : 8;
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t base = begin + warp.lane(); base < end; base += kAtOnce * W::width) {
        Extent extents[kAtOnce];
        HEAPWOOD_UNROLL_ALL
        for (unsigned k = 0; k < kAtOnce; ++k) {
            const std::uint32_t i = base + k * W::width;
            // No branch, so that all loads are on their way before the first one is waited for.
            extents[k] = load_extent(references + (i < end ? i : base), axis);
        }
        HEAPWOOD_UNROLL_ALL
        for (unsigned k = 0; k < kAtOnce; ++k) {
            if (base + k * W::width < end) f(extents[k]);
        }
    }
}

/// References begin to end of a node, and its split.
struct Stretch {
    const Reference* references;
    std::uint32_t begin;
    std::uint32_t end;
    Split split;
};

/// Collective: how many references of a stretch go to either side.
template <Loops kLoops = Loops::short_code, class W>
HEAPWOOD_INLINE void count_sides(const W& warp, const Stretch& stretch,
                                 std::uint32_t (&counts)[2]) {
    const Split split = stretch.split;
    counts[0] = counts[1] = 0;
    for_each_extent<kLoops>(
        warp, stretch.references, stretch.begin, stretch.end, split.axis,
        [&](const Extent& extent) {
            counts[0] += goes_left(extent.lo, extent.hi, split.position, split.side);
            counts[1] += goes_right(extent.lo, extent.hi, split.position, split.side);
        });
    counts[0] = warp.sum(counts[0]);
    counts[1] = warp.sum(counts[1]);
}

/// The same as divide() for a warp of width 1, in loops of few branches.
template <class W, class Places>
void divide_serially(const W& warp, const Triangle* triangles, bool clip, const Stretch& stretch,
                     const std::uint32_t (&used)[2], const bool (&bin)[2], Bins (&bins)[2],
                     const BinFrame (&frames)[2], const Places& places) {
    const Split split = stretch.split;
    std::uint32_t next[2] = {used[0], used[1]};
    GrowingBox around[2];
    for (std::uint32_t base = stretch.begin; base < stretch.end; base += SerialSides::kMost) {
        const Reference* from = stretch.references + base;
        const std::uint32_t rest = stretch.end - base;
        const std::uint32_t n = rest < SerialSides::kMost ? rest : SerialSides::kMost;
        Reference* const start[2] = {places.from(0, next[0]), places.from(1, next[1])};
        Reference* to[2] = {start[0], start[1]};
        divide_block(triangles, clip, from, n, split, to);
        for (unsigned side = 0; side < 2; ++side) {
            const auto count = static_cast<std::uint32_t>(to[side] - start[side]);
            places.done(side, next[side], start[side], count);
            next[side] += count;
            if (bin[side]) {
                bin_serially(start[side], count, bins[side], frames[side], around[side]);
            }
        }
    }
    for (unsigned side = 0; side < 2; ++side) {
        if (bin[side]) store_box(warp, bins[side], around[side]);
    }
}

/// The same as divide() in few instructions: a reference is cut as soon as its lane has met it.
template <class W, class Places>
HEAPWOOD_FN void divide_shortly(const W& warp, const Triangle* triangles, bool clip,
                                const Stretch& stretch, const std::uint32_t (&used)[2],
                                const bool (&bin)[2], Bins (&bins)[2], const BinFrame (&frames)[2],
                                const Places& places) {
    const Split split = stretch.split;
    const std::uint32_t lower_lanes = (1U << warp.lane()) - 1U;
    std::uint32_t next[2] = {used[0], used[1]};
    GrowingBox around[2];
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t base = stretch.begin; base < stretch.end; base += W::width) {
        const std::uint32_t i = base + warp.lane();
        const bool some = i < stretch.end;
        Reference part{};
        if (some) part = load_wide(stretch.references + i);
        const float lo = component(part.lo, split.axis);
        const float hi = component(part.hi, split.axis);
        const bool left = some && goes_left(lo, hi, split.position, split.side);
        const bool right = some && goes_right(lo, hi, split.position, split.side);
        Reference above = part;
        if (left && right) cut(triangles, clip, split.axis, split.position, part, above);
        HEAPWOOD_UNROLL(1)
        for (unsigned side = 0; side < 2; ++side) {
            const bool here = side == 0 ? left : right;
            if (side == 1) part = above;
            const std::uint32_t lanes = warp.ballot(here);
            if (here) {
                const std::uint32_t before = platform::popcount(lanes & lower_lanes);
                places.put(side, (side == 0 ? next[0] : next[1]) + before, part);
                if (side == 0 ? bin[0] : bin[1]) {
                    if (side == 0) {
                        around[0].add(part.lo, part.hi);
                    } else {
                        around[1].add(part.lo, part.hi);
                    }
                    count_in_bins(bins[side], frames[side], {part.lo, part.hi});
                }
            }
            (side == 0 ? next[0] : next[1]) += platform::popcount(lanes);
        }
    }
    if (bin[0]) store_box(warp, bins[0], around[0]);
    if (bin[1]) store_box(warp, bins[1], around[1]);
}

/// Most numbers that divide() keeps of references that cross the plane: twice a GPU's warp.
inline constexpr unsigned kCrossing = 64;

/// Collective: puts a stretch's references in their places, cut where they cross the plane; either
/// side's go on from used[side]. Counts those of the sides that `bin` names in their bins, which
/// have been cleared. `crossing` is memory for kCrossing numbers that the lanes share; only a warp
/// of many lanes and with many loads needs it.
///
/// Few references cross a plane. With many loads a warp keeps their numbers, and cuts them when
/// there is one for each lane, or no other is left.
HEAPWOOD_MAY_CALL_HOST
template <Loops kLoops = Loops::short_code, class W, class Places>
HEAPWOOD_FN void divide(const W& warp, const Triangle* triangles, bool clip, const Stretch& stretch,
                        const std::uint32_t (&used)[2], const bool (&bin)[2], Bins (&bins)[2],
                        const BinFrame (&frames)[2], std::uint32_t* crossing,
                        const Places& places) {
    if constexpr (W::width == 1) {
        divide_serially(warp, triangles, clip, stretch, used, bin, bins, frames, places);
        return;
    } else if constexpr (kLoops == Loops::short_code) {
        divide_shortly(warp, triangles, clip, stretch, used, bin, bins, frames, places);
        return;
    }
    const Split split = stretch.split;
    const std::uint32_t lower_lanes = (1U << warp.lane()) - 1U;
    std::uint32_t next[2] = {used[0], used[1]};
    GrowingBox around[2];
    std::uint32_t base = stretch.begin;
    static_assert(2 * W::width <= kCrossing);
    std::uint32_t kept = 0;       // numbers in `crossing`
    std::uint32_t cut_lanes = 0;  // lanes that have cut a reference, and not put the upper part yet
    Reference above{};
    Reference following{};
    if (base + warp.lane() < stretch.end) {
        following = load_wide(stretch.references + base + warp.lane());
    }
    HEAPWOOD_UNROLL(1)
    for (;;) {
        // Each lane has at most one part to put at a time.
        Reference part{};
        bool here = false;
        bool right = false;
        if (cut_lanes > 0) {
            here = warp.lane() < cut_lanes;
            right = true;
            part = above;
            cut_lanes = 0;
        } else if (kept >= W::width || (base >= stretch.end && kept > 0)) {
            cut_lanes = kept < W::width ? kept : W::width;
            kept -= cut_lanes;
            here = warp.lane() < cut_lanes;
            warp.sync();  // the other lanes' numbers
            if (here) {
                part = load_wide(stretch.references + crossing[kept + warp.lane()]);
                above = part;
                cut(triangles, clip, split.axis, split.position, part, above);
            }
            warp.sync();
        } else if (base < stretch.end) {
            const std::uint32_t i = base + warp.lane();
            base += W::width;
            const bool some = i < stretch.end;
            part = following;
            if (i + W::width < stretch.end) {
                following = load_wide(stretch.references + i + W::width);
            }
            const float lo = component(part.lo, split.axis);
            const float hi = component(part.hi, split.axis);
            const bool left = goes_left(lo, hi, split.position, split.side);
            right = goes_right(lo, hi, split.position, split.side);
            const bool crosses = some && left && right;
            here = some && !crosses;
            const std::uint32_t lanes = warp.ballot(crosses);
            if (crosses) crossing[kept + platform::popcount(lanes & lower_lanes)] = i;
            kept += platform::popcount(lanes);
        } else {
            break;
        }
        const std::uint32_t lanes[2] = {warp.ballot(here && !right), warp.ballot(here && right)};
        if (here) {
            const unsigned side = right ? 1 : 0;
            const std::uint32_t before =
                platform::popcount((right ? lanes[1] : lanes[0]) & lower_lanes);
            places.put(side, (right ? next[1] : next[0]) + before, part);
            if (right ? bin[1] : bin[0]) {
                if (right) {
                    around[1].add(part.lo, part.hi);
                } else {
                    around[0].add(part.lo, part.hi);
                }
                count_in_bins(bins[side], frames[side], {part.lo, part.hi});
            }
        }
        next[0] += platform::popcount(lanes[0]);
        next[1] += platform::popcount(lanes[1]);
    }
    if (bin[0]) store_box(warp, bins[0], around[0]);
    if (bin[1]) store_box(warp, bins[1], around[1]);
}

/// Collective: makes the references of triangles begin to end, and counts them in bins, which have
/// been cleared, if `bin`.
HEAPWOOD_MAY_CALL_HOST
template <class W>
HEAPWOOD_FN void fill_root(const W& warp, const Triangle* triangles, std::uint32_t begin,
                           std::uint32_t end, Reference* references, bool bin, Bins& bins,
                           const BinFrame& frame) {
    GrowingBox around;
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t i = begin + warp.lane(); i < end; i += W::width) {
        const Reference r = whole_reference(load_wide(triangles + i), i);
        store_wide(references + i, r);
        if constexpr (W::width > 1) {
            around.add(r.lo, r.hi);
            if (bin) count_in_bins(bins, frame, {r.lo, r.hi});
        }
    }
    if (!bin) return;
    if constexpr (W::width == 1) {
        bin_serially(references + begin, end - begin, bins, frame, around);
    }
    store_box(warp, bins, around);
}

/// Collective: counts references begin to end in bins, which have been cleared.
template <class W>
HEAPWOOD_FN void bin_references(const W& warp, const Reference* references, std::uint32_t begin,
                                std::uint32_t end, Bins& bins, const BinFrame& frame) {
    GrowingBox around;
    if constexpr (W::width == 1) {
        bin_serially(references + begin, end - begin, bins, frame, around);
    } else {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = begin + warp.lane(); i < end; i += W::width) {
            const Reference r = load_wide(references + i);
            around.add(r.lo, r.hi);
            count_in_bins(bins, frame, {r.lo, r.hi});
        }
    }
    store_box(warp, bins, around);
}

}  // namespace heapwood::kdtree
