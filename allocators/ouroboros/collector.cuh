/// @file
/// What an Ouroboros allocator does when its list has no chunk: it searches all shards, and
/// collects what is free.
///
/// **When the list has no chunk.** Then the request looks into all shards, and then collects what
/// is free: open stretches are closed, the queues are emptied, every page becomes free in its
/// chunk, and chunks that are whole return to the list, as do the queues' own. The request is tried
/// again, and what is left goes back into the queues. One thread at a time collects; others that
/// are in need wait for it, since it makes only bounded loops of the operations that everybody
/// makes.
///
/// **When there is nothing to be had.** A search of the list, or a collection, takes milliseconds,
/// and thousands may ask at once. So who has found nothing writes down how much had changed before
/// (Chunks::changes(), changes()): numbers that grow with everything that is freed, and more.
/// Until they have grown, others are refused at once. A collection changes them itself, by puts and
/// takes that it counts; if others do so meanwhile, what it writes down is not what there is, and
/// the next request collects again. So in a pool in which nothing else goes on nullptr is exact.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/cache.cuh"
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
    std::uint64_t in_vain;  ///< what says that the last one was, see Core::make_vain()
};

/// What is free anywhere in the pool. Policy: core.cuh.
template <class Policy>
class Collector : public OpenChunks<Policy> {
    using Base = OpenChunks<Policy>;

protected:
    using Base::chunk_of;
    using Base::chunks_;
    using Base::close_open;
    using Base::control;
    using Base::controls_;
    using Base::file;
    using Base::flags;
    using Base::free_page;
    using Base::free_stray;
    using Base::geometry;
    using Base::has_entries;
    using Base::is_chunk;
    using Base::open;
    using Base::put_entry;
    using Base::queue_;
    using Base::take_entry;
    using Base::take_from_queue;
    using Base::take_opened;
    using Base::take_page;
    using typename Base::Open;

    /// How many chunks' states are looked at together.
    static constexpr std::uint32_t kChunksAtOnce = 8;
    static constexpr std::uint32_t kQueuesAtOnce = 16;

    // ---------------------------------------------------------------- searching

    /// A page of class k from any shard's queue or open chunk, or a stray one.
    HEAPWOOD_NOINLINE std::uint32_t take_anywhere(Context context, std::uint32_t k) const {
        const platform::Lanes lanes(k);
        std::uint64_t shards = lanes.rank() == 0 ? shards_with_pages(k) : 0;
        shards = lanes.of_leader(shards);
        HEAPWOOD_UNROLL(1)
        for (; shards != 0; shards &= shards - 1) {
            const std::uint32_t unit =
                take_from_shard(context, k, platform::floor_log2(shards & (0 - shards)));
            if (unit != kNone) return unit;
        }
        return kNone;
    }
    /// Bit i tells whether shard i may have a page of class k.
    HEAPWOOD_NOINLINE std::uint64_t shards_with_pages(std::uint32_t k) const {
        static_assert(kMostShards <= 64);
        std::uint64_t shards = 0;
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t shard = 0; shard < geometry().shards; ++shard) {
            Control& c = control(k, shard);
            const Open w = platform::AtomicRef<Open>(c.open).load_relaxed();
            const bool stray = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed() !=
                               platform::AtomicRef<std::uint32_t>(c.searched).load_relaxed();
            shards |= std::uint64_t{has_entries(c) || is_chunk(w) || stray} << shard;
        }
        return shards;
    }
    HEAPWOOD_NOINLINE std::uint32_t take_from_shard(Context context, std::uint32_t k,
                                                    std::uint32_t shard) const {
        std::uint32_t unit = kNone;
        if constexpr (Policy::kQueuesChunks) {
            unit = take_from_queue(context, k, shard);
            if (unit != kNone) {
                file(context, geometry().chunk_of(unit), k);
                return unit;
            }
            const Open w = open(k, shard).load_relaxed();
            if (is_chunk(w) && State(chunks_.state(chunk_of(w)).load_relaxed()).free() > 0) {
                unit = take_page(context, chunk_of(w), k);
            }
        } else {
            unit = take_entry(context, k, shard);
            if (unit != kNone) return unit;
            unit = take_opened(context, k, shard, open(k, shard).load_relaxed());
        }
        if (unit != kNone) return unit;
        const platform::AtomicRef<std::uint32_t> searched(control(k, shard).searched);
        const std::uint32_t strays =
            platform::AtomicRef<std::uint32_t>(control(k, shard).strays).load_acquire();
        if (strays == searched.load_relaxed()) return kNone;
        const std::uint32_t begin = shard << geometry().shard_shift;
        const std::uint32_t end = begin + (1U << geometry().shard_shift);
        unit = take_stray(context, k, begin, end < geometry().chunks ? end : geometry().chunks);
        if (unit == kNone) searched.store_relaxed(strays);
        return unit;
    }
    /// A page of any of the chunks from `begin` on before `end` that has one of class k.
    HEAPWOOD_NOINLINE std::uint32_t take_stray(Context context, std::uint32_t k,
                                               std::uint32_t begin, std::uint32_t end) const {
        HEAPWOOD_UNROLL(1)
        for (; begin < end; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, end); some != 0; some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                if (State(chunks_.state(chunk).load_relaxed()).class_field() != k + 1) continue;
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit != kNone) return unit;
            }
        }
        return kNone;
    }
    /// Bit i tells whether chunk begin + i, before `end`, has free pages.
    HEAPWOOD_INLINE std::uint32_t with_free_pages(std::uint32_t begin, std::uint32_t end) const {
        std::uint32_t some = 0;
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = 0; i < kChunksAtOnce; ++i) {
            const std::uint32_t chunk = begin + i < end ? begin + i : begin;
            const State s(chunks_.state(chunk).load_relaxed());
            some |= std::uint32_t{begin + i < end && s.has_pages() && s.free() > 0} << i;
        }
        return some;
    }

    // ---------------------------------------------------------------- collecting

    /// Who has collected what is free: the caller, who is to end that; another thread, from
    /// beginning to end; or, earlier, one whose collection was no use, and nothing has changed
    /// since.
    enum class Collection { own, another, in_vain };

    /// Grows whenever something is freed, or taken from a queue or the list.
    HEAPWOOD_NOINLINE std::uint64_t changes() const {
        std::uint64_t sum = chunks_.changes();
        const std::uint32_t queues = geometry().shards * geometry().classes;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < queues; queue += kQueuesAtOnce) {
            // All loads first, for each takes a GPU the better part of a microsecond.
            std::uint64_t counts[3 * kQueuesAtOnce];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kQueuesAtOnce; ++i) {
                Control& c = controls_[queue + i < queues ? queue + i : queue];
                counts[3 * i] = platform::AtomicRef<std::uint64_t>(c.front).load_relaxed();
                counts[3 * i + 1] = platform::AtomicRef<std::uint64_t>(c.back).load_relaxed();
                counts[3 * i + 2] = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed();
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kQueuesAtOnce; ++i) {
                if (queue + i < queues)
                    sum += counts[3 * i] + counts[3 * i + 1] + counts[3 * i + 2];
            }
        }
        return sum;
    }
    /// What says that a collection for so many chunks was in vain: {changes, chunks}.
    HEAPWOOD_INLINE static std::uint64_t make_vain(std::uint64_t changes, std::uint32_t chunks) {
        return (changes << 16) | (chunks < 0xffffU ? chunks : 0xffffU);
    }
    HEAPWOOD_NOINLINE bool would_be_in_vain(std::uint32_t wanted) const {
        const platform::Lanes lanes(wanted);
        std::uint32_t answer = 0;
        if (lanes.rank() == 0) {
            const std::uint64_t vain =
                platform::AtomicRef<std::uint64_t>(collections_->in_vain).load_acquire();
            answer = vain != 0 && (vain & 0xffffU) <= wanted && vain >> 16 == changes() << 16 >> 16;
        }
        return lanes.of_leader(answer) != 0;
    }

    /// Frees what the caller's cache keeps, in its chunks.
    HEAPWOOD_NOINLINE void free_cached(Context context) const {
        if (context.cache == nullptr) return;
        PageCache(*context.cache).empty([&](std::uint32_t k, std::uint32_t unit) {
            free_page(context, k, unit);
        });
    }

    /// Collects what is free; or waits until another thread has done so from beginning to end. The
    /// collections' number is odd during one. `wanted`: chunks. `expected`: of an own collection,
    /// what changes() is if nobody else changes anything.
    HEAPWOOD_NOINLINE Collection begin_collection(Context context, std::uint32_t wanted,
                                                  std::uint64_t& expected) const {
        const platform::AtomicRef<std::uint32_t> number(collections_->number);
        std::uint32_t now = number.load_acquire();
        const std::uint32_t enough = (now + 3) & ~1U;
        HEAPWOOD_UNROLL(1)
        for (unsigned n = 0; static_cast<std::int32_t>(now - enough) < 0;) {
            if ((now & 1U) == 0) {
                if (would_be_in_vain(wanted)) return Collection::in_vain;
                if (!number.cas_acq_rel(now, now + 1)) continue;
                free_cached(context);
                expected = changes();
                expected += gather(context);
                return Collection::own;
            }
            platform::back_off(n++);
            now = number.load_acquire();
        }
        return Collection::another;
    }
    HEAPWOOD_NOINLINE void end_collection(Context context, std::uint32_t wanted,
                                          std::uint64_t expected, bool of_use) const {
        expected += scatter(context);
        if (of_use) {
            chunks_.allow_runs();
        } else if (wanted < 0xffffU) {
            platform::AtomicRef<std::uint64_t>(collections_->in_vain)
                .store_release(make_vain(expected, wanted));
        }
        platform::AtomicRef<std::uint32_t>(collections_->number).add_release(1);
    }

    /// Closes the open chunks, then empties the queues: a chunk that is current is not whole.
    /// @return what it adds to changes(), or less if it is of use.
    HEAPWOOD_NOINLINE std::uint64_t gather(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            changes += close_open(context, queue % geometry().classes, queue / geometry().classes);
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t queue = 0; queue < geometry().shards * geometry().classes; ++queue) {
            const std::uint32_t k = queue % geometry().classes;
            const std::uint32_t shard = queue / geometry().classes;
            Control& c = controls_[queue];
            const std::uint32_t filled =
                platform::AtomicRef<std::uint32_t>(c.filled).load_relaxed();
            HEAPWOOD_UNROLL(1)
            for (auto n = static_cast<std::int32_t>(filled); n > 0; --n) {
                const std::uint32_t entry = take_entry(context, k, shard);
                if (entry == kNone) break;
                ++changes;
                if constexpr (Policy::kQueuesChunks) {
                    flags(entry).and_acq_rel(~(1U << k));
                    changes += file(context, entry, k);
                } else {
                    free_page(context, k, entry);
                }
            }
            queue_.trim(chunks_, context, c, queue);
        }
        return changes;
    }
    /// Puts what is free in chunks into the queues. @return what it adds to changes().
    HEAPWOOD_NOINLINE std::uint64_t scatter(Context context) const {
        std::uint64_t changes = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t begin = 0; begin < geometry().chunks; begin += kChunksAtOnce) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t some = with_free_pages(begin, geometry().chunks); some != 0;
                 some &= some - 1) {
                const std::uint32_t chunk = begin + platform::floor_log2(some & (0 - some));
                const State s(chunks_.state(chunk).load_relaxed());
                if (s.has_pages()) changes += scatter_chunk(context, chunk, s.class_field() - 1);
            }
        }
        return changes;
    }
    HEAPWOOD_NOINLINE std::uint64_t scatter_chunk(Context context, std::uint32_t chunk,
                                                  std::uint32_t k) const {
        if constexpr (Policy::kQueuesChunks) {
            return file(context, chunk, k);
        } else {
            std::uint64_t changes = 0;
            const State s(chunks_.state(chunk).load_relaxed());
            HEAPWOOD_UNROLL(1)
            for (std::int32_t n = s.free(); n > 0; --n) {
                const std::uint32_t unit = take_page(context, chunk, k);
                if (unit == kNone) break;
                ++changes;
                if (put_entry(context, k, chunk, unit)) continue;
                free_stray(context, k, geometry().shard_of(chunk), unit);
                break;
            }
            return changes;
        }
    }

    Collections* collections_;
};

}  // namespace heapwood::allocators::ouroboros
