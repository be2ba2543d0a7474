/// @file
/// Several nodes in one warp: each lane holds a reference, and a node's lanes are neighbours.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::kdtree {

/// Most references of a node in a segment.
inline constexpr unsigned kSegmentMost = 12;

/// The lanes of a warp that hold the references of one node: `count` neighbours from lane `first`
/// on, at most kSegmentMost. Lanes that belong to no node have a count of 0.
///
/// All collectives are called by the whole warp, whatever segments it has.
template <class W>
class Segment {
public:
    HEAPWOOD_FN Segment(const W& warp, unsigned first, unsigned count)
        : warp_(warp), first_(first), count_(count), lanes_(((1U << count) - 1U) << first) {}

    HEAPWOOD_INLINE unsigned count() const { return count_; }
    /// This lane's number in the segment.
    HEAPWOOD_INLINE unsigned rank() const { return warp_.lane() - first_; }
    /// Whether this lane belongs to a node, and whether it speaks for the node.
    HEAPWOOD_INLINE bool holds() const { return rank() < count_; }
    HEAPWOOD_INLINE bool leads() const { return count_ > 0 && rank() == 0; }
    /// The lane of the segment's k-th reference; this one if there are not so many.
    HEAPWOOD_INLINE unsigned lane_of(unsigned k) const {
        return k < count_ ? first_ + k : warp_.lane();
    }

    /// Collective: bit i tells whether lane i of the warp passed true and is of this segment.
    HEAPWOOD_INLINE std::uint32_t ballot(bool p) const { return warp_.ballot(p) & lanes_; }
    /// Collective: how many lower lanes of the segment passed true.
    HEAPWOOD_INLINE unsigned rank_among(bool p) const {
        return platform::popcount(ballot(p) & ((1U << warp_.lane()) - 1U));
    }
    /// Collective: the v of a lane of the warp, or of the segment's first one.
    template <class T>
    HEAPWOOD_INLINE T shuffle(T v, unsigned lane) const {
        return warp_.shuffle(v, lane);
    }
    template <class T>
    HEAPWOOD_INLINE T from_first(T v) const {
        return warp_.shuffle(v, first_);
    }
    /// Collective: whether any lane of any segment passed true.
    HEAPWOOD_INLINE bool any(bool p) const { return warp_.any(p); }
    /// Collective: the least v of the segment.
    HEAPWOOD_INLINE std::uint32_t min(std::uint32_t v) const {
        HEAPWOOD_UNROLL_ALL
        for (unsigned d = 1; d < kSegmentMost; d *= 2) {
            const std::uint32_t other = warp_.shuffle(v, (warp_.lane() + d) % W::width);
            v = rank() + d < count_ && other < v ? other : v;
        }
        return from_first(v);
    }

private:
    const W warp_;
    unsigned first_;
    unsigned count_;
    std::uint32_t lanes_;
};

}  // namespace heapwood::kdtree
