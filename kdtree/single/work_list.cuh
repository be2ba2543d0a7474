/// @file
/// The work of the first stage: a list of items that warps take in order, and which they lengthen
/// while they work, until none is left and none can come.
///
/// Two counters number the list's places: whoever has new items takes places of `tail` for them,
/// and a warp without work takes a place of `head`, at which it waits. So nobody scans, each
/// waiting warp polls a word of its own, and no warp waits for an item while another one is there.
///
/// Items are counted from the time when it is certain that they will come (`expect`) until all
/// that follows from them has been counted, too (`finish`). Whoever finishes the last one puts an
/// end where each warp waits, or will.
///
/// Memory order: whatever a warp did before it entered an item happens before what the warp does
/// that takes it, and all items happen before an end. Of the words that are entered together only
/// the first one is released, for on a GPU each release waits until all that was written before is
/// there: a node of 2,000 chunks took 60 us. So a warp that takes one of the others acquires the
/// first one, too.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/single/task_queue.cuh"

namespace heapwood::kdtree {

/// The counters of a list: all zero at the start but `expected`, which is 1 where items are
/// counted.
struct WorkCounters {
    Counter head;
    Counter tail;
    Counter expected;
};

/// One warp's view of the list. Items are words between kNothing and kEnds.
template <class W>
class WorkList {
public:
    static constexpr std::uint64_t kNothing = 1;
    /// The i-th end is kEnds + i.
    static constexpr std::uint64_t kEnds = std::uint64_t{0xffffffff} << 32;

    /// Whether a word that has been taken is an end: nothing comes after it.
    HEAPWOOD_INLINE static bool is_end(std::uint64_t word) { return word >= kEnds; }

    /// Refers to its arguments. There are places, all 0 at the start, for all items that will ever
    /// be entered, and one for each of `warps` more.
    HEAPWOOD_FN WorkList(const W& warp, std::uint64_t* places, WorkCounters& counters,
                         std::uint32_t warps)
        : warp_(warp), places_(places), counters_(counters), warps_(warps) {}

    /// Lane 0 calls it for its warp: takes places for `n` items, for `enter`.
    HEAPWOOD_INLINE std::uint32_t take_places(std::uint32_t n) const {
        return counters_.tail.ref().add_relaxed(n);
    }

    /// Collective: enters `n` items, which have been expected, at places from lane 0's `first` on:
    /// item_of(i), i from 0, by any lane. kNothing: there is none after all.
    template <class F>
    HEAPWOOD_INLINE void enter(std::uint32_t first, std::uint32_t n, F item_of) const {
        first = warp_.shuffle(first, 0);
        warp_.sync();  // what the other lanes have written for the items
        if (warp_.lane() == 0 && n > 0) {
            platform::AtomicRef(places_[first]).store_release(item_of(0));
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 1 + warp_.lane(); i < n; i += W::width) {
            platform::AtomicRef(places_[first + i]).store_relaxed(item_of(i));
        }
    }

    /// Collective: takes the next item, or waits for one. An end: none will come; kNothing: there
    /// is none at this place. number_of(item): the i for which the item was entered.
    template <class F>
    HEAPWOOD_INLINE std::uint64_t take(F number_of) const {
        std::uint64_t item = 0;
        if (warp_.lane() == 0) {
            const std::uint32_t place = counters_.head.ref().add_relaxed(1);
            // Relaxed first: on a GPU each acquire empties the multiprocessor's cache.
            const platform::AtomicRef word(places_[place]);
            while ((item = word.load_relaxed()) == 0) W::back_off(0);
            if (item != kNothing) {
                const std::uint32_t number =
                    is_end(item) ? static_cast<std::uint32_t>(item) : number_of(item);
                const platform::AtomicRef first(places_[place - number]);
                while (first.load_acquire() == 0) W::back_off(0);
            }
        }
        item = warp_.shuffle(item, 0);
        warp_.sync();
        return item;
    }

    /// One lane calls it, before it or its warp calls `finish`: `n` more items will come.
    HEAPWOOD_INLINE void expect(std::uint32_t n) const {
        counters_.expected.ref().count_relaxed(n);
    }

    /// Collective: an item is done with, and all that will follow from it is expected. After the
    /// last one it enters the ends, and returns true.
    HEAPWOOD_INLINE bool finish() const {
        const std::uint32_t before =
            warp_.shuffle(warp_.lane() == 0 ? counters_.expected.ref().sub_acq_rel(1) : 0U, 0);
        if (before != 1) return false;
        end();
        return true;
    }

    /// Collective: enters an end for each warp. For a list whose items are not counted: whatever
    /// has been entered happens before the call, and nothing will be.
    HEAPWOOD_INLINE void end() const {
        enter(counters_.tail.ref().load_relaxed(), warps_,
              [](std::uint32_t i) { return kEnds + i; });
    }

private:
    const W warp_;
    std::uint64_t* const places_;
    WorkCounters& counters_;
    const std::uint32_t warps_;
};

}  // namespace heapwood::kdtree
