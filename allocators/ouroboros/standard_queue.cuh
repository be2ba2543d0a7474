/// @file
/// The queue of the standard Ouroboros allocators: an array used as a ring.
///
/// **Protocol.** `room` and `filled` are semaphores: how many entries may still come, and how many
/// may be taken. A thread first gets one of these, or gives up; then a ticket, its place in the
/// ring, from `back` or `front`; then it writes its entry where there is none, or exchanges one for
/// kEmpty; then it raises the other semaphore. A ring that has a place for each entry that there
/// can be is never full, and does without `room`. Lanes that are together (queues.cuh) get n of a
/// semaphore and n tickets at once.
///
/// **Which thread waits for which.** `filled` is raised when the entry is there, so more tickets
/// have been given to threads that put than to threads that take. No more entries are put than the
/// ring has places, so that both are at most a ring apart. A thread that takes place p waits at
/// most for the thread that puts there, which has its ticket already. A thread that puts waits at
/// most for the thread that took the place one ring before, which has its ticket as well. Between
/// its ticket and its entry a thread does nothing but that one access; the chain of waits goes back
/// to ever older places, and ends. Of several threads at one place, any may be served first: there
/// are as many entries as takers.
///
/// **Memory order.** An entry is put with a release and taken with an acquire. The semaphores and
/// tickets only count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/semaphore.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// The standard queues of all classes and shards, as kernels see them. An entry is any number but
/// kNone. Policy: policy.cuh.
template <class Policy>
class StandardQueue {
public:
    class Host;

    /// Whether extend() can make room.
    static constexpr bool kGrows = false;

    /// Puts an entry for each lane of a group. @return false: there is no room for this one.
    template <class Group>
    HEAPWOOD_INLINE bool put(const Chunks<Policy>& chunks, Control& c, std::uint32_t k,
                             std::uint32_t shard, const Group& group, std::uint32_t entry) const {
        const Geometry& g = chunks.geometry();
        const auto [got, place] = draw<Policy>(group, c.back, [&](std::uint32_t n) {
            return is_cut(g, k) ? lower(platform::AtomicRef<std::uint32_t>(c.room), n) : n;
        });
        if (got == 0) return false;
        const bool mine = group.rank() < got;
        if (mine) fill(slot_of(g, k, shard, place), entry);
        Policy::pause();
        group.sync();
        if (group.rank() == 0) platform::AtomicRef<std::uint32_t>(c.filled).count_relaxed(got);
        return mine;
    }

    /// Makes room for more entries. @return false: there is none; a ring does not grow.
    HEAPWOOD_INLINE bool extend(const Chunks<Policy>&, const Context&, Control&, std::uint32_t,
                                std::uint32_t) const {
        return false;
    }

    /// Takes an entry for each lane of a group. @return this one's, or kNone.
    template <class Group>
    HEAPWOOD_INLINE std::uint32_t take(const Chunks<Policy>& chunks, const Context&, Control& c,
                                       std::uint32_t k, std::uint32_t shard,
                                       const Group& group) const {
        const Geometry& g = chunks.geometry();
        const auto [got, place] = draw<Policy>(group, c.front, [&](std::uint32_t n) {
            return lower(platform::AtomicRef<std::uint32_t>(c.filled), n);
        });
        if (got == 0) return kNone;
        const std::uint32_t entry = group.rank() < got ? empty(slot_of(g, k, shard, place)) : kNone;
        if (is_cut(g, k)) {
            Policy::pause();
            group.sync();
            if (group.rank() == 0) platform::AtomicRef<std::uint32_t>(c.room).count_relaxed(got);
        }
        return entry;
    }

    /// Returns memory of the pool that no entry is in: a ring of its own has none.
    HEAPWOOD_INLINE void trim(const Chunks<Policy>&, const Context&, Control&,
                              std::uint32_t) const {}

private:
    static constexpr std::uint32_t kEmpty = 0;

    using Slot = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE static void fill(Slot slot, std::uint32_t entry) {
        std::uint32_t none = kEmpty;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; !slot.cas_release(none, entry + 1); ++n) {
            platform::back_off(n);
            none = kEmpty;
        }
    }
    HEAPWOOD_INLINE static std::uint32_t empty(Slot slot) {
        std::uint32_t found = slot.exchange_acquire(kEmpty);
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; found == kEmpty; ++n) {
            platform::back_off(n);
            found = slot.exchange_acquire(kEmpty);
        }
        return found - 1;
    }
    HEAPWOOD_INLINE Slot slot_of(const Geometry& g, std::uint32_t k, std::uint32_t shard,
                                 std::uint64_t place) const {
        const std::uint64_t ring = std::uint64_t{shard} * shard_slots_ + first_slots_[k];
        const std::uint32_t mask = (1U << entries_shift(g, k)) - 1;
        return Slot(slots_[ring + (static_cast<std::uint32_t>(place) & mask)]);
    }
    /// Log2 of all that a queue may have to hold: all chunks of a shard, or all their pages.
    HEAPWOOD_INLINE static std::uint32_t all_shift(const Geometry& g, std::uint32_t k) {
        return g.shard_shift + (Policy::kQueuesChunks ? 0 : g.pages_shift(k));
    }
    /// Log2 of the entries of a ring.
    HEAPWOOD_INLINE std::uint32_t entries_shift(const Geometry& g, std::uint32_t k) const {
        const std::uint32_t all = all_shift(g, k);
        return all < most_shift_ ? all : most_shift_;
    }
    /// Whether there may be more entries than places.
    HEAPWOOD_INLINE bool is_cut(const Geometry& g, std::uint32_t k) const {
        return all_shift(g, k) > most_shift_;
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
        slots_ = Buffer(place, geometry.shards * queue_.shard_slots_ * sizeof(std::uint32_t));
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
    void for_each_entry(const Control& c, std::uint32_t k, std::uint32_t shard, const Buffer&,
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
    Buffer slots_;
};

}  // namespace heapwood::allocators::ouroboros
