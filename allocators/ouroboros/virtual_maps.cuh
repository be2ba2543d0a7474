/// @file
/// How a virtual queue finds its parts (virtual_queue.cuh): an array of them, or a list.
///
/// Part n has the places from n times the entries of a part on. The Maps of all queues share the
/// table `used`, with a word for each chunk.
/// - `find(c, queue, n, end)`: part n, which has been installed, or is just now, and is not used
/// up.
/// - `is_full(c, queue)`: whether no part can be added; a hint. `install(c, queue, part)`: adds an
///   own chunk as the next part; false: it cannot.
/// - `remove(c, queue, n, all, give)`: part n is used up: its count is `all`. Calls give(part) for
///   parts that are the caller's now.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/virtual_queue.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// A part and its number: {number, part + 1}, of which part + 1 is 0 if there is none.
class NumberedPart {
public:
    using Word = std::uint64_t;

    HEAPWOOD_INLINE static Word make(std::uint32_t n, std::uint32_t part) {
        return (Word{n} << 32) | (part + 1);
    }
    HEAPWOOD_INLINE static std::uint32_t number(Word w) {
        return static_cast<std::uint32_t>(w >> 32);
    }
    /// Or kNone.
    HEAPWOOD_INLINE static std::uint32_t part(Word w) { return static_cast<std::uint32_t>(w) - 1; }
    HEAPWOOD_INLINE static bool is(Word w, std::uint32_t n) {
        return number(w) == n && part(w) != kNone;
    }
};

/// An array of parts for each queue, used as a ring.
///
/// Place i of an array of s is for the parts i, i + s, i + 2 s, ...: it holds {lap, part + 1} of
/// part i + lap * s, and {lap, 0} before that comes. Parts come in order: `next_part` is the number
/// of the next one, and raised once that is in its place, by whoever sees it there. An array is
/// full if the place of the next part still holds the one of the lap before. Who has used up a part
/// empties its place for the next lap.
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
        place_of(queue, n).store_relaxed(NumberedPart::make(lap_of(n) + 1, kNone));
        give(part);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> used(std::uint32_t part) const {
        return platform::AtomicRef<std::uint32_t>(used_[part]);
    }

private:
    HEAPWOOD_INLINE std::uint32_t lap_of(std::uint32_t n) const { return n >> size_shift_; }
    HEAPWOOD_INLINE platform::AtomicRef<Word> place_of(std::uint32_t queue, std::uint32_t n) const {
        const std::uint32_t mask = (1U << size_shift_) - 1;
        return platform::AtomicRef<Word>(parts_[(std::size_t{queue} << size_shift_) + (n & mask)]);
    }
    /// Whether a place holds a part of the lap before part n's.
    HEAPWOOD_INLINE bool is_behind(Word w, std::uint32_t n) const {
        return NumberedPart::number(w) + 1 == lap_of(n);
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

/// A list of parts for each queue, with a word for each chunk that links it to the next part.
///
/// `head` and `tail` are {number, part + 1} of the first part and the last one; part + 1 is 0 if
/// there is none. They and the links change under the queue's lock, which is held for a few
/// instructions, twice in the life of a part. Parts leave the list in order: who has used up a part
/// removes the first one as long as that is used up.
///
/// Who looks for part n has a ticket for a place in it, so it stays; but what it reads on the way
/// may be of parts that have left meanwhile. So it looks at the head again: as long as that is not
/// past a part, the part's link was good. A number is never used for two parts.
template <class Policy>
class ListMap {
    using Word = NumberedPart::Word;

public:
    class Host;

    HEAPWOOD_INLINE std::uint32_t find(Control& c, std::uint32_t, std::uint64_t number,
                                       End end) const {
        const auto n = static_cast<std::uint32_t>(number);
        const Word at =
            platform::AtomicRef<Word>(end == End::front ? c.head : c.tail).load_acquire();
        if (NumberedPart::is(at, n)) return NumberedPart::part(at);
        return search(c, n);
    }
    HEAPWOOD_INLINE bool is_full(Control&, std::uint32_t) const { return false; }

    HEAPWOOD_FN bool install(Control& c, std::uint32_t, std::uint32_t part) const {
        // Release, as all links: a thread that reads what became of a part that has left knows that
        // it has left.
        link(part).store_release(0);
        lock(c);
        const platform::AtomicRef<Word> head(c.head);
        const platform::AtomicRef<Word> tail(c.tail);
        const platform::AtomicRef<std::uint32_t> next(c.next_part);
        const std::uint32_t n = next.load_relaxed();
        const Word word = NumberedPart::make(n, part);
        next.store_relaxed(n + 1);
        Policy::pause();
        // Release: the part's zeroes.
        if (NumberedPart::part(head.load_relaxed()) == kNone) {
            head.store_release(word);
        } else {
            link(NumberedPart::part(tail.load_relaxed())).store_release(part + 1);
        }
        Policy::pause();
        tail.store_release(word);
        unlock(c);
        return true;
    }
    template <class Give>
    HEAPWOOD_FN void remove(Control& c, std::uint32_t, std::uint64_t, std::uint32_t all,
                            Give&& give) const {
        HEAPWOOD_UNROLL(1)
        for (;;) {
            lock(c);
            const platform::AtomicRef<Word> head(c.head);
            const Word first = head.load_relaxed();
            const std::uint32_t part = NumberedPart::part(first);
            // Acquire: from all who used it up.
            const bool done = part != kNone && used(part).load_acquire() == all;
            if (done) {
                const std::uint32_t next = link(part).load_relaxed();
                head.store_release(NumberedPart::make(NumberedPart::number(first) + 1, next - 1));
                if (next == 0) platform::AtomicRef<Word>(c.tail).store_release(0);
            }
            Policy::pause();
            unlock(c);
            if (!done) return;
            give(part);
        }
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> used(std::uint32_t part) const {
        return platform::AtomicRef<std::uint32_t>(used_[part]);
    }

private:
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> link(std::uint32_t part) const {
        return platform::AtomicRef<std::uint32_t>(links_[part]);
    }

    HEAPWOOD_INLINE static void lock(Control& c) {
        const platform::AtomicRef<std::uint32_t> word(c.lock);
        std::uint32_t open = 0;
        HEAPWOOD_UNROLL(1)
        for (unsigned i = 0; !word.cas_acquire(open, 1); ++i) {
            platform::back_off(i);
            open = 0;
        }
    }
    HEAPWOOD_INLINE static void unlock(Control& c) {
        platform::AtomicRef<std::uint32_t>(c.lock).store_release(0);
    }

    /// Part n, from the head on; waits until it can be seen.
    HEAPWOOD_NOINLINE std::uint32_t search(Control& c, std::uint32_t n) const {
        const platform::AtomicRef<Word> head(c.head);
        HEAPWOOD_UNROLL(1)
        for (unsigned i = 0;; ++i) {
            Word at = head.load_acquire();
            HEAPWOOD_UNROLL(1)
            while (NumberedPart::part(at) != kNone && NumberedPart::number(at) != n) {
                Policy::pause();
                const std::uint32_t next = link(NumberedPart::part(at)).load_acquire();
                const std::uint32_t first = NumberedPart::number(head.load_acquire());
                if (static_cast<std::int32_t>(first - NumberedPart::number(at)) > 0) {
                    at = 0;  // it has left the list
                } else {
                    at = NumberedPart::make(NumberedPart::number(at) + 1, next - 1);
                }
            }
            if (NumberedPart::part(at) != kNone) return NumberedPart::part(at);
            platform::back_off(i);
        }
    }

    std::uint32_t* links_;
    std::uint32_t* used_;
};

/// The links.
template <class Policy>
class ListMap<Policy>::Host {
public:
    Host(const Geometry& g, Place place)
        : links_(place, g.chunks * sizeof(std::uint32_t)),
          used_(place, g.chunks * sizeof(std::uint32_t)) {}

    ListMap map() const {
        ListMap m;
        m.links_ = links_.as<std::uint32_t>();
        m.used_ = used_.as<std::uint32_t>();
        return m;
    }
    std::uint64_t bytes() const { return links_.size() + used_.size(); }
    void reset() {}
    /// The chunk that is part n, which exists.
    std::uint32_t part(const Control& c, std::uint32_t, std::uint64_t n) const {
        std::uint32_t part = NumberedPart::part(c.head);
        for (std::uint32_t i = NumberedPart::number(c.head); i != static_cast<std::uint32_t>(n);
             ++i) {
            links_.read(part * sizeof(part), &part, sizeof(part));
            --part;
        }
        return part;
    }

private:
    Buffer links_;
    Buffer used_;
};

}  // namespace heapwood::allocators::ouroboros
