/// @file
/// The queue of the standard Ouroboros allocators: an array used as a ring.
///
/// **Protocol.** `room` and `filled` are semaphores: how many entries may still come, and how many
/// may be taken. A thread first gets one of these, or gives up; then a ticket, its place in the
/// ring, from `back` or `front`; then it writes its entry where there is none, or exchanges one for
/// kEmpty; then it raises the other semaphore.
///
/// **Who waits for whom.** `filled` is raised when the entry is there, so more tickets have been
/// given to those who put than to those who take; and `room` when the place is empty, so they are
/// at most a ring apart. Whoever takes place p waits at most for the one who puts there, and has
/// his ticket already; whoever puts, for the one who took the place one ring before, and has his
/// ticket already as well. Between its ticket and its entry a thread does nothing but that one
/// access; the chain of waits goes back to ever older places, and ends. Of several threads at one
/// place, whichever comes first is served: there are as many entries as takers.
///
/// **Memory order.** An entry is put with a release and taken with an acquire. The semaphores and
/// tickets only count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/heap.h"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// The standard queues of all classes and shards, as kernels see them. An entry is any number but
/// kNone. Policy: core.cuh.
template <class Policy>
class StandardQueue {
public:
    class Host;

    /// @return false: there is no room.
    HEAPWOOD_INLINE bool put(const Chunks<Policy>& chunks, const Context&, Control& c,
                             std::uint32_t k, std::uint32_t shard, std::uint32_t entry) const {
        const platform::AtomicRef<std::uint32_t> room(c.room);
        if (static_cast<std::int32_t>(room.sub_relaxed(1)) <= 0) {
            room.add_relaxed(1);
            return false;
        }
        Policy::pause();
        const std::uint64_t place = platform::AtomicRef<std::uint64_t>(c.back).add_relaxed(1);
        Policy::pause();
        const auto slot = slot_of(chunks.geometry(), k, shard, place);
        std::uint32_t none = kEmpty;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; !slot.cas_release(none, entry + 1); ++n) {
            platform::back_off(n);
            none = kEmpty;
        }
        Policy::pause();
        platform::AtomicRef<std::uint32_t>(c.filled).count_relaxed(1);
        return true;
    }

    /// @return an entry, or kNone.
    HEAPWOOD_INLINE std::uint32_t take(const Chunks<Policy>& chunks, const Context&, Control& c,
                                       std::uint32_t k, std::uint32_t shard) const {
        const platform::AtomicRef<std::uint32_t> filled(c.filled);
        if (static_cast<std::int32_t>(filled.sub_relaxed(1)) <= 0) {
            filled.add_relaxed(1);
            return kNone;
        }
        Policy::pause();
        const std::uint64_t place = platform::AtomicRef<std::uint64_t>(c.front).add_relaxed(1);
        Policy::pause();
        const auto slot = slot_of(chunks.geometry(), k, shard, place);
        std::uint32_t found = slot.exchange_acquire(kEmpty);
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; found == kEmpty; ++n) {
            platform::back_off(n);
            found = slot.exchange_acquire(kEmpty);
        }
        Policy::pause();
        platform::AtomicRef<std::uint32_t>(c.room).count_relaxed(1);
        return found - 1;
    }

    /// Returns memory of the pool that no entry is in: a ring of its own has none.
    HEAPWOOD_INLINE void trim(const Chunks<Policy>&, const Context&, Control&,
                              std::uint32_t) const {}

private:
    static constexpr std::uint32_t kEmpty = 0;

    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> slot_of(const Geometry& g, std::uint32_t k,
                                                               std::uint32_t shard,
                                                               std::uint64_t place) const {
        const std::uint64_t ring = std::uint64_t{shard} * shard_slots_ + first_slots_[k];
        const std::uint32_t mask = (1U << entries_shift(g, k)) - 1;
        return platform::AtomicRef<std::uint32_t>(
            slots_[ring + (static_cast<std::uint32_t>(place) & mask)]);
    }
    /// Log2 of the entries of a ring: for all chunks of a shard, or all their pages.
    HEAPWOOD_INLINE std::uint32_t entries_shift(const Geometry& g, std::uint32_t k) const {
        const std::uint32_t all = g.shard_shift + (Policy::kQueuesChunks ? 0 : g.pages_shift(k));
        return all < most_shift_ ? all : most_shift_;
    }

    static constexpr std::uint32_t kMostClasses = 16;

    std::uint32_t* slots_;
    std::uint64_t shard_slots_;
    std::uint32_t most_shift_;
    std::uint32_t first_slots_[kMostClasses];
};

/// The rings and what is in them.
template <class Policy>
class StandardQueue<Policy>::Host {
public:
    Host(const Geometry& geometry, Place place) : geometry_(geometry) {
        queue_.most_shift_ =
            platform::floor_log2(std::max(Policy::kMostEntries / geometry.shards, 1U));
        queue_.shard_slots_ = 0;
        for (std::uint32_t k = 0; k < geometry.classes; ++k) {
            queue_.first_slots_[k] = static_cast<std::uint32_t>(queue_.shard_slots_);
            queue_.shard_slots_ += std::uint64_t{1} << queue_.entries_shift(geometry, k);
        }
        slots_ = Heap(place, geometry.shards * queue_.shard_slots_ * sizeof(std::uint32_t));
        queue_.slots_ = slots_.as<std::uint32_t>();
    }

    StandardQueue queue() const { return queue_; }
    std::uint64_t bytes() const { return slots_.size(); }
    void reset() { slots_.zero(); }
    void set(Control& c, std::uint32_t k) const {
        c.room = 1U << queue_.entries_shift(geometry_, k);
    }
    /// Calls visit(entry) for all that is in a queue. No kernel runs.
    template <class Visitor>
    void for_each_entry(const Control& c, std::uint32_t k, std::uint32_t shard, const Heap&,
                        Visitor&& visit) const {
        const std::uint64_t size = std::uint64_t{1} << queue_.entries_shift(geometry_, k);
        const std::uint64_t ring = shard * queue_.shard_slots_ + queue_.first_slots_[k];
        std::vector<std::uint32_t> part;
        for (std::uint64_t at = c.front; at < c.back; at += part.size()) {
            const std::uint64_t in_ring = at % size;
            part.resize(std::min(c.back - at, size - in_ring));
            slots_.read((ring + in_ring) * sizeof(std::uint32_t), part.data(),
                        part.size() * sizeof(std::uint32_t));
            for (const std::uint32_t slot : part) visit(slot - 1);
        }
    }

private:
    Geometry geometry_;
    StandardQueue queue_;
    Heap slots_;
};

}  // namespace heapwood::allocators::ouroboros
