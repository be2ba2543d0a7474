/// @file
/// The queues of the virtualised Ouroboros allocators: a ring whose entries lie in chunks of the
/// pool itself. Each such chunk is a part of the queue, of as many entries as fit; parts follow one
/// another without end, and exist from when entries come to them until all of them are taken.
/// What finds the part of a place is a Map: an array of parts, or a list (array_map.cuh,
/// list_map.cuh).
///
/// **Protocol.** As the standard queue's: a semaphore, a ticket, the access, the other semaphore.
/// But every place is used once. `room` counts the places that parts have been installed for. If
/// there is none, a thread that puts takes a chunk for the next part, or gives up: one thread at a
/// time, for which other threads wait, but not for ever. A place is empty until its entry is put.
/// The thread that takes the entry counts that in the part's `used`, and the last thread to do so
/// returns the part to the pool.
///
/// **Which thread waits for which.** As there, but threads that put never wait for threads that
/// take. Both may have to wait until they can see what the Map has already been told.
///
/// **Memory order.** An entry is put with a release and taken with an acquire. A part is zeroed
/// before it is published with a release. Each count in `used` is a release, and the last one
/// acquires all of them, so that no thread looks at a part that has been returned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/map.cuh"
#include "allocators/ouroboros/semaphore.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/clear.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// The virtual queues of all classes and shards, as kernels see them. An entry is any number below
/// kHole. Policy: policy.cuh.
template <class Policy, template <class> class Map>
class VirtualQueue {
public:
    class Host;

    /// Whether extend() can make room.
    static constexpr bool kGrows = true;

    /// Puts an entry for each lane of a group. @return false: there is no room for this one.
    template <class Group>
    HEAPWOOD_INLINE bool put(const Chunks<Policy>& chunks, Control& c, std::uint32_t k,
                             std::uint32_t shard, const Group& group, std::uint32_t entry) const {
        const std::uint32_t queue = chunks.geometry().queue(k, shard);
        const auto [got, place] = draw<Policy>(group, c.back, [&](std::uint32_t n) {
            return lower(platform::AtomicRef<std::uint32_t>(c.room), n);
        });
        if (got == 0) return false;
        const bool mine = group.rank() < got;
        if (mine) fill(chunks, c, queue, place, entry);
        Policy::pause();
        group.sync();
        if (group.rank() == 0) platform::AtomicRef<std::uint32_t>(c.filled).count_relaxed(got);
        return mine;
    }

    /// Takes an entry for each lane of a group. @return this one's, or kNone.
    template <class Group>
    HEAPWOOD_INLINE std::uint32_t take(const Chunks<Policy>& chunks, const Context& context,
                                       Control& c, std::uint32_t k, std::uint32_t shard,
                                       const Group& group) const {
        const std::uint32_t queue = chunks.geometry().queue(k, shard);
        const auto [got, place] = draw<Policy>(group, c.front, [&](std::uint32_t n) {
            return lower(platform::AtomicRef<std::uint32_t>(c.filled), n);
        });
        if (got == 0) return kNone;
        std::uint32_t part = kNone;
        std::uint32_t entry = kNone;
        if (group.rank() < got) {
            part = part_of(chunks, c, queue, place);
            entry = look(chunks, part, place);
        }
        // All lanes have read what they came for: the leader counts that.
        group.sync();
        if (group.rank() == 0) use_up(chunks, context, c, queue, place, part, got);
        return entry == kHole ? take_one(chunks, context, c, k, shard) : entry;
    }

    /// Makes room for more entries, or sees another thread do so: if all that find none took a
    /// chunk, thousands would. @return false: there is no chunk.
    HEAPWOOD_NOINLINE bool extend(const Chunks<Policy>& chunks, Context context, Control& c,
                                  std::uint32_t k, std::uint32_t shard) const {
        const std::uint32_t queue = chunks.geometry().queue(k, shard);
        const platform::AtomicRef<std::uint32_t> room(c.room);
        const platform::AtomicRef<std::uint32_t> extending(c.extending);
        HEAPWOOD_UNROLL(1)
        for (unsigned turn = 0; turn < Policy::kPatience; ++turn) {
            std::uint32_t idle = 0;
            if (extending.cas_relaxed(idle, 1)) {
                const bool done = static_cast<std::int32_t>(room.load_relaxed()) > 0 ||
                                  add_part(chunks, context, c, queue);
                extending.store_relaxed(0);
                return done;
            }
            platform::back_off(turn);
            if (static_cast<std::int32_t>(room.load_relaxed()) > 0) return true;
            if (chunks.are_exhausted()) return false;
        }
        return add_part(chunks, context, c, queue);
    }

    /// Returns a part that no entry is in.
    HEAPWOOD_NOINLINE void trim(const Chunks<Policy>& chunks, Context context, Control& c,
                                std::uint32_t queue) const {
        const platform::AtomicRef<std::uint64_t> front(c.front);
        const platform::AtomicRef<std::uint64_t> back(c.back);
        const platform::AtomicRef<std::uint32_t> room(c.room);
        std::uint32_t rest = room.load_relaxed();
        if (static_cast<std::int32_t>(rest) <= 0 || front.load_relaxed() != back.load_relaxed() ||
            !room.cas_relaxed(rest, 0)) {
            return;
        }
        // All places that are left are this thread's, to put something there. If it is its turn to
        // take as well, no other thread ever looks at them.
        Policy::pause();
        const std::uint64_t begin = back.add_relaxed(rest);
        const std::uint64_t end = begin + rest;
        Policy::pause();
        std::uint64_t expected = begin;
        if (!front.cas_relaxed(expected, end)) {
            HEAPWOOD_UNROLL(1)
            for (std::uint64_t place = begin; place < end; ++place) {
                fill(chunks, c, queue, place, kHole);
            }
            platform::AtomicRef<std::uint32_t>(c.filled).count_relaxed(rest);
            return;
        }
        use_up(chunks, context, c, queue, begin, part_of(chunks, c, queue, begin), rest);
    }

private:
    static constexpr std::uint32_t kEmpty = 0;
    /// An entry that is none.
    static constexpr std::uint32_t kHole = 0xfffffffeU;

    HEAPWOOD_INLINE static std::uint32_t part_shift(const Chunks<Policy>& chunks) {
        return chunks.geometry().chunk_shift - 2;
    }
    HEAPWOOD_INLINE static platform::AtomicRef<std::uint32_t> slot_of(const Chunks<Policy>& chunks,
                                                                      std::uint32_t part,
                                                                      std::uint64_t place) {
        const std::uint32_t mask = (1U << part_shift(chunks)) - 1;
        return platform::AtomicRef<std::uint32_t>(
            chunks.words(part)[static_cast<std::uint32_t>(place) & mask]);
    }
    HEAPWOOD_INLINE void fill(const Chunks<Policy>& chunks, Control& c, std::uint32_t queue,
                              std::uint64_t place, std::uint32_t entry) const {
        const std::uint32_t part = map_.find(c, queue, place >> part_shift(chunks), End::back);
        slot_of(chunks, part, place).store_release(entry + 1);
    }

    /// The part of a place that the caller is to take from.
    HEAPWOOD_INLINE std::uint32_t part_of(const Chunks<Policy>& chunks, Control& c,
                                          std::uint32_t queue, std::uint64_t place) const {
        return map_.find(c, queue, place >> part_shift(chunks), End::front);
    }
    /// The entry of a place, once it is there.
    HEAPWOOD_INLINE static std::uint32_t look(const Chunks<Policy>& chunks, std::uint32_t part,
                                              std::uint64_t place) {
        const auto slot = slot_of(chunks, part, place);
        std::uint32_t found = slot.load_acquire();
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; found == kEmpty; ++n) {
            platform::back_off(n);
            found = slot.load_acquire();
        }
        return found - 1;
    }
    /// An entry in place of a hole, or kNone.
    HEAPWOOD_NOINLINE std::uint32_t take_one(const Chunks<Policy>& chunks, Context context,
                                             Control& c, std::uint32_t k,
                                             std::uint32_t shard) const {
        const std::uint32_t queue = chunks.geometry().queue(k, shard);
        HEAPWOOD_UNROLL(1)
        for (;;) {
            const auto [got, place] =
                draw<Policy>(platform::Alone(), c.front, [&](std::uint32_t n) {
                    return lower(platform::AtomicRef<std::uint32_t>(c.filled), n);
                });
            if (got == 0) return kNone;
            const std::uint32_t part = part_of(chunks, c, queue, place);
            const std::uint32_t found = look(chunks, part, place);
            use_up(chunks, context, c, queue, place, part, 1);
            if (found != kHole) return found;
        }
    }

    /// Counts the `count` places from one on, which is in `part`, as taken, and returns the parts
    /// of which these were the last ones.
    HEAPWOOD_INLINE void use_up(const Chunks<Policy>& chunks, const Context& context, Control& c,
                                std::uint32_t queue, std::uint64_t place, std::uint32_t part,
                                std::uint32_t count) const {
        const std::uint32_t all = 1U << part_shift(chunks);
        HEAPWOOD_UNROLL(1)
        for (;;) {
            Policy::pause();
            const std::uint32_t rest = all - (static_cast<std::uint32_t>(place) & (all - 1));
            const std::uint32_t here = count < rest ? count : rest;
            if (map_.used(part).add_acq_rel(here) + here == all) {
                remove(chunks, context, c, queue, place >> part_shift(chunks));
            }
            count -= here;
            if (count == 0) return;
            place += here;
            part = part_of(chunks, c, queue, place);
        }
    }
    HEAPWOOD_NOINLINE void remove(const Chunks<Policy>& chunks, Context context, Control& c,
                                  std::uint32_t queue, std::uint64_t number) const {
        map_.remove(c, queue, number, 1U << part_shift(chunks), [&](std::uint32_t part) {
            chunks.state(part).sub_relaxed(kQueueMemory);
            chunks.return_chunk(context, part);
        });
    }

    HEAPWOOD_NOINLINE bool add_part(const Chunks<Policy>& chunks, Context context, Control& c,
                                    std::uint32_t queue) const {
        if (map_.is_full(c, queue)) return false;
        const std::uint32_t part = chunks.take_chunk(context);
        if (part == kNone) return false;
        const std::uint32_t entries = 1U << part_shift(chunks);
        platform::clear(chunks.words(part), entries);
        map_.used(part).store_relaxed(0);
        chunks.state(part).add_relaxed(kQueueMemory);
        Policy::pause();
        if (!map_.install(c, queue, part)) {
            chunks.state(part).sub_relaxed(kQueueMemory);
            chunks.return_chunk(context, part);
            return false;
        }
        Policy::pause();
        platform::AtomicRef<std::uint32_t>(c.room).count_relaxed(entries);
        return true;
    }

    Map<Policy> map_;
};

/// The map's tables, and what is in the queues.
template <class Policy, template <class> class Map>
class VirtualQueue<Policy, Map>::Host {
public:
    Host(const Geometry& geometry, Place place) : geometry_(geometry), map_(geometry, place) {}

    VirtualQueue queue() const {
        VirtualQueue q;
        q.map_ = map_.map();
        return q;
    }
    std::uint64_t bytes() const { return map_.bytes(); }
    void reset() { map_.reset(); }
    void set(Control&, std::uint32_t) const {}
    /// Calls visit(entry) for all that is in a queue. No kernel runs.
    template <class Visitor>
    void for_each_entry(const Control& c, std::uint32_t k, std::uint32_t shard, const Buffer& pool,
                        Visitor&& visit) const {
        const std::uint32_t shift = geometry_.chunk_shift - 2;
        std::vector<std::uint32_t> entries;
        for (std::uint64_t at = c.front; at < c.back; at += entries.size()) {
            const std::uint64_t in_part = at & ((std::uint64_t{1} << shift) - 1);
            entries.resize(std::min(c.back - at, (std::uint64_t{1} << shift) - in_part));
            const std::uint64_t part = map_.part(c, geometry_.queue(k, shard), at >> shift);
            pool.read((part << geometry_.chunk_shift) + in_part * sizeof(std::uint32_t),
                      entries.data(), entries.size() * sizeof(std::uint32_t));
            for (const std::uint32_t entry : entries) {
                if (entry - 1 != kHole) visit(entry - 1);
            }
        }
    }

private:
    Geometry geometry_;
    typename Map<Policy>::Host map_;
};

}  // namespace heapwood::allocators::ouroboros
