/// @file
/// How a virtual queue finds its parts by a list of them (map.cuh).
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/map.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// A list of parts for each queue, with a word for each chunk that links it to the next part.
///
/// `head` and `tail` are {number, part + 1} of the first part and the last one; part + 1 is 0 if
/// there is none. They and the links change under the queue's lock, which is held for a few
/// instructions, twice in the life of a part. Parts leave the list in order: a thread that has used
/// up a part removes the first part, as long as that is used up.
///
/// A thread that looks for part n has a ticket for a place in it, so the part stays. But what it
/// reads on the way may belong to parts that have left meanwhile. So it looks at the head again: as
/// long as the head is not past a part, the part's link was good. No two parts that the pool can
/// have at a time share a number.
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
            // Acquire: from all threads that used it up.
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
