/// @file
/// Where requests begin to search if every multiprocessor has a share of the pool (layout.h): the
/// hints of its stretches, of its chunk for requests of medium size, and of the chunk for large
/// requests, which all shares have in common.
///
/// **Annexes.** A request that its share has no room for is served from the chunk for large ones.
/// Thousands of requests may want that chunk at the same time, and one after the other can cut it.
/// So the request that takes a block there cuts off an extent behind it, if its share has used up
/// its own memory, or if it has lost the chunk to another before. This extent is the share's annex:
/// a hint leads later requests of the share there. Any request may take what is in it.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/divisor.cuh"
#include "allocators/circular/hint.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// How many times a request that lost a chunk to another moves to another stretch.
inline constexpr std::uint32_t kMostMoves = 8;

/// A hint, and the stretch of the pool that it stays in.
struct Home {
    std::uint32_t hint;
    std::uint32_t begin;
    std::uint32_t end;
};

/// The hints of all shares. Sizes and places are in granules.
template <class Policy>
class Homes {
public:
    HEAPWOOD_INLINE Hint hint(const Home& home) const { return hint_of(hints_, home.hint); }
    /// How many shares there are, at least 1.
    HEAPWOOD_INLINE std::uint32_t shares() const { return shares_; }
    /// Whether requests of that size are for the chunk before all shares.
    HEAPWOOD_INLINE bool is_large(std::uint32_t size) const { return size > medium_; }
    /// The largest size that is found in a share.
    HEAPWOOD_INLINE std::uint32_t medium() const { return medium_; }
    /// The size by which an aligned request finds its home: what is aligned is found where the
    /// smaller requests do not go.
    HEAPWOOD_INLINE std::uint32_t aligned_size(std::uint32_t need) const {
        return need <= small_ && small_ < medium_ ? medium_ : need;
    }

    /// Where a request of that size searches, at first and after `move` moves.
    HEAPWOOD_INLINE Home home_of(const Context& context, std::uint32_t size,
                                 std::uint32_t move) const {
        if (is_large(size)) return large_home();
        const std::uint32_t share = shares_.remainder(context.multiprocessor + move);
        return size > small_ ? medium_home(share) : small_home(share, context.warp);
    }
    /// Where all large requests begin, and where a share's annex is, at first and after `move`
    /// moves.
    HEAPWOOD_INLINE Home large_home() const { return {hints_of_shares() + shares_, 0, begin_}; }
    HEAPWOOD_INLINE Home annex_of(const Context& context, std::uint32_t move) const {
        const std::uint32_t share = shares_.remainder(context.multiprocessor + move);
        return {hints_of_shares() + shares_ + 1 + share, 0, begin_};
    }
    /// Where an annex ends that begins with a free chunk [from, end): it is as large as a share's
    /// medium chunk, or several times what is asked for, but at most half of the chunk. `end`
    /// itself if that leaves no annex.
    HEAPWOOD_INLINE std::uint32_t end_of_annex(std::uint32_t need, std::uint32_t from,
                                               std::uint32_t end) const {
        const std::uint32_t half = (end - from) / 2;
        const std::uint32_t several = need > half / kSeveral ? half : need * kSeveral;
        const std::uint32_t share = share_size_ - stretch_size_ * (stretch_mask_ + 1);
        const std::uint32_t wanted = share > several ? share : several;
        const std::uint32_t middle = from + (wanted < half ? wanted : half);
        const std::uint32_t at = middle - middle % unit_;
        return at < from + need ? end : at;
    }
    /// Sends the hints of a caller to a block that it has freed: it is in the cache.
    HEAPWOOD_INLINE void remember_freed(const Context& context, std::uint32_t at) const {
        const std::uint32_t share = shares_.remainder(context.multiprocessor);
        if (at < begin_) return hint(annex_of(context, 0)).store_relaxed(at);
        remember(small_home(share, context.warp), at);
        remember(medium_home(share), at);
    }
    /// Sends a hint past what was taken, or to where its stretch begins.
    HEAPWOOD_INLINE void remember_taken(const Home& home, std::uint32_t past) const {
        hint(home).store_relaxed(home.begin < past && past < home.end ? past : home.begin);
    }
    /// Where the stretch ends in which a granule lies. When blocks are freed they merge no further,
    /// so that a stretch's first header stays one. `granules`: of the pool.
    HEAPWOOD_INLINE std::uint32_t end_of(std::uint32_t at, std::uint32_t granules) const {
        if (at < begin_) return begin_;
        const std::uint32_t share = share_size_.quotient(at - begin_);
        if (share == shares_) return granules;
        const std::uint32_t begin = begin_ + share * share_size_;
        const std::uint32_t stretch = stretch_size_.quotient(at - begin);
        const std::uint32_t next =
            stretch - stretch % Policy::kStretchesTogether + Policy::kStretchesTogether;
        return stretch <= stretch_mask_ ? begin + next * stretch_size_ : begin + share_size_;
    }

private:
    template <class>
    friend class CircularMalloc;

    HEAPWOOD_INLINE Home medium_home(std::uint32_t share) const {
        const std::uint32_t begin = begin_ + share * share_size_;
        return {hints_of_shares() + share, begin + stretch_size_ * (stretch_mask_ + 1),
                begin + share_size_};
    }
    HEAPWOOD_INLINE Home small_home(std::uint32_t share, std::uint32_t warp) const {
        const std::uint32_t begin = begin_ + share * share_size_;
        // Multiplicative hashing: the upper bits are the mixed ones.
        const std::uint32_t stretch = ((warp * 0x9e3779b1U) >> 16) & stretch_mask_;
        const std::uint32_t first = stretch - stretch % Policy::kStretchesTogether;
        return {share * (stretch_mask_ + 1) + stretch, begin + first * stretch_size_,
                begin + (first + Policy::kStretchesTogether) * stretch_size_};
    }
    HEAPWOOD_INLINE void remember(const Home& home, std::uint32_t at) const {
        if (home.begin <= at && at < home.end) hint(home).store_relaxed(at);
    }
    /// The first of the hints for chunks of medium size; behind them come that for large ones and
    /// those of the annexes.
    HEAPWOOD_INLINE std::uint32_t hints_of_shares() const { return shares_ * (stretch_mask_ + 1); }

    /// How many requests an annex is for, at least, where there is so much.
    static constexpr std::uint32_t kSeveral = 16;

    std::uint32_t* hints_;
    std::uint32_t unit_;   // annexes end at multiples of it
    std::uint32_t small_;  // requests of at most so many granules move when they lose a chunk
    std::uint32_t medium_;
    std::uint32_t begin_;  // of the first share
    Divisor shares_;
    Divisor share_size_;
    Divisor stretch_size_;
    std::uint32_t stretch_mask_;
};

}  // namespace heapwood::allocators::circular
