/// @file
/// What an Ouroboros allocator does when a request has found nothing in any shard: it collects what
/// is free.
///
/// **A collection.** Open chunks are closed and the queues are emptied. Every page becomes free in
/// its chunk, and chunks that are whole return to the list, as do the queues' own. Then the request
/// is tried again, and what is left goes back into the queues. One thread at a time collects. Other
/// threads in need wait for it, since it makes only bounded loops of the operations that every
/// request makes.
///
/// **When there is nothing.** A search of the list, or a collection, takes milliseconds, and
/// thousands of threads may ask at once. So a thread that has found nothing writes down how much
/// had changed before (Chunks::changes(), Collector::changes()): numbers that grow with everything
/// that is freed, and more. Until they have grown, other requests are refused at once. A collection
/// changes them itself, by puts and takes that it counts. If other threads do so meanwhile, what it
/// writes down is not what there is, and the next request collects again. If a put was under way
/// when it began, the put is counted, but its entry may come too late to be collected: then nothing
/// is written down. So in a pool in which nothing else goes on nullptr is exact.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/open_chunks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::ouroboros {

/// What is known of collections. Zero at first.
struct alignas(64) Collections {
    std::uint32_t number;   ///< twice their number; odd during one
    std::uint64_t in_vain;  ///< what says that the last one was, see Collector::make_vain()
};

/// Which thread has collected what is free: the caller, which is to end that; another thread, from
/// beginning to end; or, earlier, a thread whose collection was in vain, and nothing has changed
/// since.
enum class Collection { own, another, in_vain };

/// The collector, on top of the open chunks. Owns the Collections. Policy: policy.cuh.
template <class Policy>
class Collector {
public:
    Collector() = default;
    Collector(const OpenChunks<Policy>& open, Collections* collections)
        : open_(open), collections_(collections) {}

    HEAPWOOD_INLINE const OpenChunks<Policy>& open() const { return open_; }
    HEAPWOOD_INLINE const Stock<Policy>& stock() const { return open_.stock(); }
    HEAPWOOD_INLINE const Queues<Policy>& queues() const { return open_.queues(); }
    HEAPWOOD_INLINE const Geometry& geometry() const { return open_.geometry(); }

    /// Collects what is free, or waits until another thread has done so from beginning to end.
    /// `wanted`: chunks side by side that the request needs. `expected`: out, of the caller's own
    /// collection: what changes() is if no other thread changes anything; kUnknown is set
    /// if that cannot be known.
    HEAPWOOD_NOINLINE Collection begin(Context context, std::uint32_t wanted,
                                       std::uint64_t& expected) const {
        const platform::AtomicRef<std::uint32_t> number(collections_->number);
        std::uint32_t now = number.load_acquire();
        const std::uint32_t enough = (now + 3) & ~1U;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; static_cast<std::int32_t>(now - enough) < 0;) {
            if ((now & 1U) == 0) {
                if (would_be_in_vain(wanted)) return Collection::in_vain;
                // Odd during a collection.
                if (!number.cas_acq_rel(now, now + 1)) continue;
                expected = changes();
                // What is not there to be collected yet has changed already.
                if (!queues().are_settled()) expected |= kUnknown;
                expected += gather(context);
                return Collection::own;
            }
            platform::back_off(n++);
            now = number.load_acquire();
        }
        return Collection::another;
    }
    /// Ends a collection of the caller's own. `of_use`: whether its request has been answered.
    HEAPWOOD_NOINLINE void end(Context context, std::uint32_t wanted, std::uint64_t expected,
                               bool of_use) const {
        expected += stock().scatter(context);
        if (of_use) {
            open_.chunks().allow_runs();
        } else if (wanted < kMostWanted && (expected & kUnknown) == 0) {
            platform::AtomicRef<std::uint64_t>(collections_->in_vain)
                .store_release(make_vain(expected, wanted));
        }
        platform::AtomicRef<std::uint32_t>(collections_->number).add_release(1);
    }

private:
    static constexpr std::uint32_t kMostWanted = 0xffffU;
    /// A bit of `expected`: more has changed than could be collected.
    static constexpr std::uint64_t kUnknown = std::uint64_t{1} << 63;

    /// Grows whenever something is freed, or taken from a queue or the list.
    HEAPWOOD_NOINLINE std::uint64_t changes() const {
        return open_.chunks().changes() + queues().changes();
    }
    /// What says that a collection for that many chunks was in vain: {changes, chunks}.
    HEAPWOOD_INLINE static std::uint64_t make_vain(std::uint64_t changes, std::uint32_t chunks) {
        return (changes << 16) | (chunks < kMostWanted ? chunks : kMostWanted);
    }
    HEAPWOOD_NOINLINE bool would_be_in_vain(std::uint32_t wanted) const {
        const platform::AtomicRef<std::uint64_t> in_vain(collections_->in_vain);
        const platform::Lanes lanes(in_vain, wanted);
        std::uint32_t answer = 0;
        if (lanes.rank() == 0) {
            const std::uint64_t vain = in_vain.load_acquire();
            answer =
                vain != 0 && (vain & kMostWanted) <= wanted && vain >> 16 == changes() << 16 >> 16;
        }
        return lanes.of_leader(answer) != 0;
    }

    /// Closes the open chunks, then empties the queues: a chunk that is current is not whole.
    /// @return what it adds to changes(), or less if it is of use.
    HEAPWOOD_NOINLINE std::uint64_t gather(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < queues().count(); ++queue) {
            changes +=
                open_.close_open(context, queue % geometry().classes, queue / geometry().classes);
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < queues().count(); ++queue) {
            const std::uint32_t k = queue % geometry().classes;
            const std::uint32_t shard = queue / geometry().classes;
            Control& c = queues().control(queue);
            HEAPWOOD_UNROLL(1)
            for (std::int32_t n = queues().entries(c); n > 0; --n) {
                const std::uint32_t entry = queues().take_entry(context, k, shard);
                if (entry == kNone) break;
                ++changes;
                if constexpr (Policy::kQueuesChunks) {
                    stock().leave_queue(entry, k);
                    changes += stock().file(context, entry, k);
                } else {
                    stock().free_page(context, k, entry);
                }
            }
            queues().trim(context, queue);
        }
        return changes;
    }

    OpenChunks<Policy> open_;
    Collections* collections_;
};

}  // namespace heapwood::allocators::ouroboros
