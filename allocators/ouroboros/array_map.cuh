/// @file
/// How a virtual queue finds its parts by an array of them (map.cuh).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/map.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// An array of parts for each queue, used as a ring.
///
/// Place i of an array of s is for the parts i, i + s, i + 2 s, ...: it holds {lap, part + 1} of
/// part i + lap * s, and {lap, 0} before that comes. Parts come in order: `next_part` is the number
/// of the next one, and raised once that is in its place, by any thread that sees it there. An
/// array is full if the place of the next part still holds the one of the lap before. The thread
/// that has used up a part empties its place for the next lap.
template <class Policy>
class ArrayMap {
    using Word = NumberedPart::Word;

public:
    class Host;

    HEAPWOOD_INLINE std::uint32_t find(Control&, std::uint32_t queue, std::uint64_t number,
                                       End) const {
        const auto n = static_cast<std::uint32_t>(number);
        Word found = place_of(queue, n).load_acquire();
        HEAPWOOD_UNROLL(1)
        for (unsigned i = 0; !NumberedPart::is(found, lap_of(n)); ++i) {
            platform::back_off(i);  // not yet visible
            found = place_of(queue, n).load_acquire();
        }
        return NumberedPart::part(found);
    }
    HEAPWOOD_FN bool is_full(Control& c, std::uint32_t queue) const {
        const std::uint32_t n = platform::AtomicRef<std::uint32_t>(c.next_part).load_relaxed();
        return is_behind(place_of(queue, n).load_relaxed(), n);
    }
    HEAPWOOD_FN bool install(Control& c, std::uint32_t queue, std::uint32_t part) const {
        const platform::AtomicRef<std::uint32_t> next(c.next_part);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t n = next.load_relaxed();;) {
            Word w = NumberedPart::make(lap_of(n), kNone);
            Policy::pause();
            // Release: the part's zeroes.
            const bool installed =
                place_of(queue, n).cas_release(w, NumberedPart::make(lap_of(n), part));
            if (!installed && is_behind(w, n)) return false;
            Policy::pause();
            std::uint32_t now = n;
            if (next.cas_relaxed(now, n + 1)) now = n + 1;
            if (installed) return true;
            n = now;
        }
    }
    template <class Give>
    HEAPWOOD_FN void remove(Control&, std::uint32_t queue, std::uint64_t number, std::uint32_t,
                            Give&& give) const {
        const auto n = static_cast<std::uint32_t>(number);
        const std::uint32_t part = NumberedPart::part(place_of(queue, n).load_relaxed());
        place_of(queue, n).store_relaxed(NumberedPart::make(next_lap(lap_of(n)), kNone));
        give(part);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> used(std::uint32_t part) const {
        return platform::AtomicRef<std::uint32_t>(used_[part]);
    }

private:
    /// Numbers of parts have 32 bits, and begin at 0 again. So do laps, which have fewer.
    HEAPWOOD_INLINE std::uint32_t lap_of(std::uint32_t n) const { return n >> size_shift_; }
    HEAPWOOD_INLINE std::uint32_t next_lap(std::uint32_t lap) const {
        return (lap + 1) & (~0U >> size_shift_);
    }
    HEAPWOOD_INLINE platform::AtomicRef<Word> place_of(std::uint32_t queue, std::uint32_t n) const {
        const std::uint32_t mask = (1U << size_shift_) - 1;
        return platform::AtomicRef<Word>(parts_[(std::size_t{queue} << size_shift_) + (n & mask)]);
    }
    /// Whether a place holds a part of the lap before part n's.
    HEAPWOOD_INLINE bool is_behind(Word w, std::uint32_t n) const {
        return next_lap(NumberedPart::number(w)) == lap_of(n);
    }

    Word* parts_;
    std::uint32_t* used_;
    std::uint32_t size_shift_;
};

/// The arrays.
template <class Policy>
class ArrayMap<Policy>::Host {
public:
    Host(const Geometry& g, Place place)
        : size_shift_(size_shift(g)),
          parts_(place, (std::uint64_t{g.shards} * g.classes * sizeof(Word)) << size_shift_),
          used_(place, g.chunks * sizeof(std::uint32_t)) {}

    ArrayMap map() const {
        ArrayMap m;
        m.parts_ = parts_.as<Word>();
        m.used_ = used_.as<std::uint32_t>();
        m.size_shift_ = size_shift_;
        return m;
    }
    std::uint64_t bytes() const { return parts_.size() + used_.size(); }
    void reset() { parts_.zero(); }
    /// The chunk that is part n, which exists.
    std::uint32_t part(const Control&, std::uint32_t queue, std::uint64_t n) const {
        Word word = 0;
        const std::uint64_t place = n & ((std::uint64_t{1} << size_shift_) - 1);
        parts_.read(((std::uint64_t{queue} << size_shift_) + place) * sizeof(word), &word,
                    sizeof(word));
        return NumberedPart::part(word);
    }

private:
    /// Log2 of an array's places: enough for all smallest pages of a shard, and some whose takers
    /// are late.
    static std::uint32_t size_shift(const Geometry& g) {
        const std::uint64_t entries = std::uint64_t{1} << (g.shard_shift + g.pages_shift(0));
        const std::uint64_t parts = (entries >> (g.chunk_shift - 2)) + 4;
        const std::uint32_t most = std::max(Policy::kMostParts / g.shards, 1U);
        return platform::floor_log2(
            std::bit_ceil(static_cast<std::uint32_t>(std::min<std::uint64_t>(parts, most))));
    }

    std::uint32_t size_shift_;
    Buffer parts_;
    Buffer used_;
};

}  // namespace heapwood::allocators::ouroboros
