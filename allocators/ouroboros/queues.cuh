/// @file
/// The queues of all classes and shards of an Ouroboros pool. What a single queue does is in
/// standard_queue.cuh and virtual_queue.cuh.
///
/// **Lanes.** The lanes of a warp that ask the same queue at the same time, or put into it, form a
/// group (platform/lanes.cuh). The group's leader lowers the semaphore and draws the tickets for
/// all, each lane accesses its own place, and the leader raises the other semaphore after all lanes
/// have done so. Which lanes form a group makes no difference:
/// - The leader's operations are those of n lanes one after the other, with no other thread in
///   between. That could have happened without a group as well.
/// - What the leader acquires passes to the other lanes by sync().
/// - No lane waits in a place for a lane of its own group: all of them have their tickets, and
///   access their places, before they meet again.
/// If a queue has less than the group asks for, the lowest lanes get it.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// The queues, as kernels see them, on top of the chunks. Owns the queues' entries and Control
/// words. Policy: policy.cuh.
template <class Policy>
class Queues {
public:
    using Queue = typename Policy::template Queue<Policy>;

    Queues() = default;
    Queues(const Chunks<Policy>& chunks, const Queue& queue, Control* controls)
        : chunks_(chunks), queue_(queue), controls_(controls) {}

    HEAPWOOD_INLINE const Chunks<Policy>& chunks() const { return chunks_; }
    HEAPWOOD_INLINE const Geometry& geometry() const { return chunks_.geometry(); }
    HEAPWOOD_INLINE std::uint32_t count() const { return geometry().shards * geometry().classes; }
    HEAPWOOD_INLINE Control& control(std::uint32_t queue) const { return controls_[queue]; }
    HEAPWOOD_INLINE Control& control(std::uint32_t k, std::uint32_t shard) const {
        return controls_[geometry().queue(k, shard)];
    }
    HEAPWOOD_INLINE bool has_entries(std::uint32_t k, std::uint32_t shard) const {
        return entries(control(k, shard)) > 0;
    }
    /// The semaphore of a queue's entries.
    HEAPWOOD_INLINE static platform::AtomicRef<std::uint32_t> filled(Control& c) {
        return platform::AtomicRef<std::uint32_t>(c.filled);
    }
    /// Entries that no thread has been promised; below 0 for a moment where threads ask in vain.
    HEAPWOOD_INLINE static std::int32_t entries(Control& c) {
        return static_cast<std::int32_t>(filled(c).load_relaxed());
    }

    /// Puts an entry for each lane of a group. @return false: the queue has no room for this one.
    template <class Group>
    HEAPWOOD_INLINE bool put(std::uint32_t k, std::uint32_t shard, const Group& group,
                             std::uint32_t entry) const {
        return queue_.put(chunks_, control(k, shard), k, shard, group, entry);
    }
    /// Makes room for more entries. @return false: there is none.
    HEAPWOOD_INLINE bool extend(const Context& context, std::uint32_t k,
                                std::uint32_t shard) const {
        return queue_.extend(chunks_, context, control(k, shard), k, shard);
    }
    /// Puts a chunk, or a page of it, into its queue. @return false: there is no room.
    HEAPWOOD_INLINE bool put_entry(const Context& context, std::uint32_t k, std::uint32_t chunk,
                                   std::uint32_t entry) const {
        const std::uint32_t shard = geometry().shard_of(chunk);
        HEAPWOOD_UNROLL(1)
        while (!put(k, shard, platform::Alone(), entry)) {
            if (!extend(context, k, shard)) return false;
        }
        return true;
    }

    /// An entry, or kNone.
    HEAPWOOD_INLINE std::uint32_t take_entry(const Context& context, std::uint32_t k,
                                             std::uint32_t shard) const {
        return queue_.take(chunks_, context, control(k, shard), k, shard, platform::Alone());
    }
    /// As take_entry(), for all lanes together that ask the same queue.
    HEAPWOOD_INLINE std::uint32_t take_for_all(const Context& context, std::uint32_t k,
                                               std::uint32_t shard) const {
        const platform::Lanes lanes(filled(control(k, shard)));
        return queue_.take(chunks_, context, control(k, shard), k, shard, lanes);
    }

    /// Returns the memory of the pool that a queue has and no entry is in.
    HEAPWOOD_INLINE void trim(const Context& context, std::uint32_t queue) const {
        queue_.trim(chunks_, context, control(queue), queue);
    }

    /// A sum that grows with every entry that is put or taken and every stray (stock.cuh).
    HEAPWOOD_INLINE std::uint64_t changes() const {
        std::uint64_t sum = 0;
        const std::uint32_t queues = count();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < queues; queue += kAtOnce) {
            // All loads first, for each takes a GPU the better part of a microsecond.
            std::uint64_t counts[3 * kAtOnce];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kAtOnce; ++i) {
                Control& c = controls_[queue + i < queues ? queue + i : queue];
                counts[3 * i] = platform::AtomicRef<std::uint64_t>(c.front).load_relaxed();
                counts[3 * i + 1] = platform::AtomicRef<std::uint64_t>(c.back).load_relaxed();
                counts[3 * i + 2] = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed();
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kAtOnce; ++i) {
                if (queue + i < queues)
                    sum += counts[3 * i] + counts[3 * i + 1] + counts[3 * i + 2];
            }
        }
        return sum;
    }

    /// Whether no entry is on its way into a queue, or hidden by threads that ask in vain. An entry
    /// has its ticket, and is part of changes(), before it can be taken. Of what changes while this
    /// looks, the tickets come later than a changes() that was asked for before.
    HEAPWOOD_NOINLINE bool are_settled() const {
        HEAPWOOD_UNROLL(4)
        for (std::uint32_t queue = 0; queue < count(); ++queue) {
            Control& c = controls_[queue];
            const std::uint64_t front = platform::AtomicRef<std::uint64_t>(c.front).load_relaxed();
            const std::uint64_t back = platform::AtomicRef<std::uint64_t>(c.back).load_relaxed();
            // Below 0 where threads ask for entries that there are not.
            const std::int32_t takeable = entries(c);
            if (back != front && back - front != static_cast<std::uint64_t>(takeable)) return false;
        }
        return true;
    }

private:
    /// How many queues' words are loaded together.
    static constexpr std::uint32_t kAtOnce = 16;

    Chunks<Policy> chunks_;
    Queue queue_;
    Control* controls_;
};

}  // namespace heapwood::allocators::ouroboros
