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

/// References begin to end of a node, and its split.
struct Stretch {
    const Reference* references;
    std::uint32_t begin;
    std::uint32_t end;
    Split split;
};

/// Collective: how many references of a stretch go to either side.
template <class W>
HEAPWOOD_INLINE void count_sides(const W& warp, const Stretch& stretch,
                                 std::uint32_t (&counts)[2]) {
    const Split split = stretch.split;
    counts[0] = counts[1] = 0;
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t i = stretch.begin + warp.lane(); i < stretch.end; i += W::width) {
        const Reference& r = stretch.references[i];
        const float lo = component(r.lo, split.axis);
        const float hi = component(r.hi, split.axis);
        counts[0] += goes_left(lo, hi, split.position, split.side);
        counts[1] += goes_right(lo, hi, split.position, split.side);
    }
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

/// Collective: puts a stretch's references in their places, cut where they cross the plane; either
/// side's go on from used[side]. Counts those of the sides that `bin` names in their bins, which
/// have been cleared.
HEAPWOOD_MAY_CALL_HOST
template <class W, class Places>
HEAPWOOD_FN void divide(const W& warp, const Triangle* triangles, bool clip, const Stretch& stretch,
                        const std::uint32_t (&used)[2], const bool (&bin)[2], Bins (&bins)[2],
                        const BinFrame (&frames)[2], const Places& places) {
    if constexpr (W::width == 1) {
        divide_serially(warp, triangles, clip, stretch, used, bin, bins, frames, places);
        return;
    }
    const Split split = stretch.split;
    const std::uint32_t lower_lanes = (1U << warp.lane()) - 1U;
    std::uint32_t next[2] = {used[0], used[1]};
    GrowingBox around[2];
    HEAPWOOD_UNROLL(1)
    for (std::uint32_t base = stretch.begin; base < stretch.end; base += W::width) {
        const std::uint32_t i = base + warp.lane();
        const bool here = i < stretch.end;
        Reference below{};
        bool to[2] = {false, false};
        if (here) {
            below = load_wide(stretch.references + i);
            const float lo = component(below.lo, split.axis);
            const float hi = component(below.hi, split.axis);
            to[0] = goes_left(lo, hi, split.position, split.side);
            to[1] = goes_right(lo, hi, split.position, split.side);
        }
        Reference above = below;
        if (to[0] && to[1]) cut(triangles, clip, split.axis, split.position, below, above);
        HEAPWOOD_UNROLL_ALL
        for (unsigned side = 0; side < 2; ++side) {
            const Reference& part = side == 0 ? below : above;
            const std::uint32_t lanes = warp.ballot(to[side]);
            if (to[side]) {
                places.put(side, next[side] + platform::popcount(lanes & lower_lanes), part);
                if (bin[side]) around[side].add(part.lo, part.hi);
            }
            next[side] += platform::popcount(lanes);
        }
        // Lanes count for one child each, then those that cut a reference for the other.
        HEAPWOOD_UNROLL(1)
        for (unsigned round = 0; round < 2 && (bin[0] || bin[1]); ++round) {
            const unsigned side = round == 0 && to[0] ? 0 : 1;
            if (!(side == 0 ? bin[0] : bin[1]) || !(round == 0 ? here : to[0] && to[1])) continue;
            const Reference& part = round == 0 ? below : above;
            count_in_bins(bins[side], frames[side], {part.lo, part.hi});
        }
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
