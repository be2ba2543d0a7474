/// @file
/// The part of Cambium that runs in kernels: pieces that are cut from open blocks (open_block.cuh),
/// and runs of blocks (blocks.cuh, shared_pool.cuh). cambium.cuh says what the allocator is made
/// of.
///
/// **Fresh blocks.** A request that finds no room takes as many blocks as it needs. The tail of the
/// last one takes the place of the open block, if it has more room than that; what has less is
/// counted as freed at once. A tail that is wasted belongs to nobody else yet, so that a store is
/// enough for it.
///
/// **Progress.** Nobody waits, and all searches are bounded. A request is refused when no blocks
/// were to be had, no open block of the caller and none of those that all share had room or was
/// idle, and no other request held blocks meanwhile that it was about to open or to close; or after
/// kRounds, or kFewRounds. Open blocks in the caches of others do not count: they are theirs. Where
/// a live set fills most of the pool there is always one that does, and what lacks is several
/// blocks next to one another. So callers without a cache, which are thousands, look for these near
/// by first, then at all of the map, and do not wait for others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/cambium/blocks.cuh"
#include "allocators/cambium/open_block.cuh"
#include "allocators/cambium/own_words.cuh"
#include "allocators/cambium/shared_pool.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/opaque_call.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::cambium {

/// The handle that kernels use.
template <class Policy>
class Core : SharedPool<Policy> {
    using Pool = SharedPool<Policy>;
    using Pool::address, Pool::block_bytes, Pool::block_of, Pool::blocks_, Pool::blocks_for,
        Pool::has_cache, Pool::is_possible, Pool::opened, Pool::look_again, Pool::look_at_moves,
        Pool::moves_, Pool::open_of, Pool::position_of, Pool::room, Pool::search, Pool::shared,
        Pool::shared_mask_, Pool::units_of, Pool::units_of_any;
    using Pool::kOpenedBits;
    using Scope = platform::Scope;
    template <Scope kScope>
    using Open = platform::AtomicRef<Position, kScope>;

public:
    using SharedPool<Policy>::SharedPool;

    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        return allocate_by<true>(context, bytes);
    }
    /// As allocate(), but the request fails after one search without a result: it tries no block
    /// that another caller holds for a moment, and none that all callers have open.
    HEAPWOOD_FN void* try_allocate(const Context& context, std::size_t bytes) const {
        return allocate_by<false>(context, bytes);
    }
    /// Takes the pool's memory up to `end` bytes from its start into use, a multiple of a block's
    /// bytes. As Blocks::extend().
    HEAPWOOD_FN void extend(std::uint64_t end) const {
        blocks_.extend(static_cast<std::uint32_t>(end >> kUnitShift >> blocks_.shift()));
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        const Position at = position_of(p);
        const std::uint64_t end = (at & (blocks_.units() - 1)) + units_of_any(bytes);
        const bool is_long = end > blocks_.units();
        if (is_long || Policy::is_crowded()) {
            platform::opaque_call(is_long ? free_long : free_together, *this, context, at, bytes);
        } else if (blocks_.add_freed(block_of(at), units_of(bytes))) {
            platform::opaque_call(recycle_block, *this, context, block_of(at));
        }
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return p == nullptr ? 0 : platform::round_up<std::uint64_t>(bytes, kAlignment);
    }
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        const OwnWords own(context);
        const Position open = own.open().exchange_acq_rel(0);
        if (room(open) != 0) give_up({context.multiprocessor, context.warp}, open);
        const std::uint32_t spare = own.take_spare();
        if (spare != kNone) blocks_.give_back(spare, 1);
        own.clear();
    }

private:
    /// Words that are read at once.
    static constexpr std::uint32_t kBatch = 8;

    /// Takes units of the open block of `open`. nullptr: it has not so many.
    template <Scope kScope>
    HEAPWOOD_INLINE char* cut_from(Open<kScope> open, std::uint64_t units) const {
        const Position at = cut<Policy>(open, static_cast<std::uint32_t>(units), blocks_.units());
        return at == kNowhere ? nullptr : address(at);
    }

    /// @tparam kInsists whether it is refused only if allocate_last() is
    template <bool kInsists>
    HEAPWOOD_INLINE void* allocate_by(const Context& context, std::size_t bytes) const {
        const bool fits = bytes - 1 < block_bytes();  // not 0
        bool has_searched = false;
        if (has_cache(context)) {
            if (fits) {
                if (void* p = cut_from(OwnWords(context).open(), units_of(bytes))) return p;
            }
            has_searched = !Policy::is_crowded();
            if (has_searched) {
                // A lone caller skips what is for lanes that call together: a GPU needs much of the
                // time of a fresh block to fetch instructions.
                void* p = platform::opaque_call(supply_cached, *this, context, units_of_any(bytes));
                if (p != nullptr) return p;
            }
        } else if (fits && context.cache == nullptr) {  // else a builder's warp in a small pool
            const Position at = platform::opaque_call(
                cut_together<Policy>, shared(context.warp).open, units_of(bytes), blocks_.units());
            if (at != kNowhere) return address(at);
        }
        if constexpr (kInsists) {
            return platform::opaque_call(has_searched ? allocate_last : allocate_slowly<true>,
                                         *this, context, bytes);
        } else {
            if (has_searched) return nullptr;
            return platform::opaque_call(allocate_slowly<false>, *this, context, bytes);
        }
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    template <bool kInsists>
    HEAPWOOD_NOINLINE static void* allocate_slowly(const Core& core, Context context,
                                                   std::size_t bytes) {
        return core.allocate_any<kInsists>(context, bytes);
    }
    /// For a lone caller, after supply_cached() was in vain.
    HEAPWOOD_NOINLINE static void* allocate_last(const Core& core, Context context,
                                                 std::size_t bytes) {
        const std::uint64_t units = units_of_any(bytes);
        return core.is_possible(units) ? core.insist(context, units) : nullptr;
    }
    HEAPWOOD_NOINLINE static void free_together(const Core& core, Context context, Position at,
                                                std::size_t bytes) {
        const std::uint32_t block = core.block_of(at);
        if (core.blocks_.add_freed_together(block, units_of(bytes))) core.recycle(context, block);
    }
    HEAPWOOD_NOINLINE static void free_long(const Core& core, Context context, Position at,
                                            std::size_t bytes) {
        core.deallocate_long(context, at, bytes);
    }
    HEAPWOOD_NOINLINE static void recycle_block(const Core& core, Context context,
                                                std::uint32_t block) {
        core.recycle(context, block);
    }

    /// Of lanes that are here together, one takes the sum for all.
    template <bool kInsists>
    HEAPWOOD_INLINE void* allocate_any(const Context& context, std::size_t bytes) const {
        const std::uint64_t units = units_of_any(bytes);
        if (!is_possible(units)) return nullptr;
        const platform::Lanes lanes(open_of(context.warp));
        std::uint64_t before = 0;
        const std::uint64_t all = lanes.sum(units, before);
        if (lanes.count() == 1 ||
            all <= std::uint64_t{blocks_.units()} * Blocks<Policy>::kWordBits) {
            char* p = lanes.rank() == 0 ? supply(context, all, true) : nullptr;
            p = reinterpret_cast<char*>(
                lanes.of_leader(std::uint64_t{reinterpret_cast<std::uintptr_t>(p)}));
            lanes.sync();  // what the leader has acquired
            if (p != nullptr) return p + (before << kUnitShift);
        }
        return kInsists ? insist(context, units) : supply(context, units, false);
    }
    /// Only a request that is to be refused needs to know what others do meanwhile.
    HEAPWOOD_NOINLINE char* insist(const Context& context, std::uint64_t units) const {
        const bool is_hasty =
            !Policy::kWaitsForRuns && context.cache == nullptr && units > blocks_.units();
        for (std::uint32_t round = 0;
             round < (context.cache == nullptr ? Policy::kFewRounds : Policy::kRounds); ++round) {
            const bool has_settled = blocks_.has_settled();
            const Moves::Word look = is_hasty ? 0 : look_at_moves(context);
            if (char* p = supply(context, units, false)) return p;
            if (has_cache(context) && close_own(context)) continue;
            bool closed = false;
            if (char* p = from_shared(context, units, closed)) return p;
            if (closed) continue;
            const bool is_certain =
                is_hasty || (Moves::none_at(look) && look_again(context) == look);
            if (has_settled && is_certain) return nullptr;
            platform::back_off(round + context.warp % 4);
        }
        return nullptr;
    }
    /// Units of the caller's open block, or of fresh blocks. nullptr: no block is free, or the
    /// caller has no cache, is to be quick, and has found no run of blocks near by.
    HEAPWOOD_INLINE char* supply(const Context& context, std::uint64_t units, bool is_quick) const {
        return has_cache(context) ? supply_cached(*this, context, units)
                                  : supply_shared(context, units, blocks_for(units), is_quick);
    }
    HEAPWOOD_NOINLINE static char* supply_cached(const Core& core, Context context,
                                                 std::uint64_t units) {
        if (!core.is_possible(units)) return nullptr;
        return core.supply_own(context, units, core.blocks_for(units));
    }
    HEAPWOOD_INLINE char* supply_own(const Context& context, std::uint64_t units,
                                     std::uint32_t n) const {
        const OwnWords own(context);
        if (n == 1) {
            if (char* p = cut_from(own.open(), units)) return p;
        }
        // Who shares the cache may miss what is to be opened in it.
        own.moves().begin();
        std::uint32_t block = n == 1 ? own.take_spare() : kNone;
        if (block == kNone && !own.know_end(n)) {
            block = blocks_.take_untouched(n);
            if (block == kNone) own.set_end(n);
        }
        if (block == kNone) block = search(context, n, false);
        if (block == kNone) {
            own.moves().end_in_vain();
            return nullptr;
        }
        char* p = cut_fresh(own.open(), context, block, units);
        own.moves().end();
        return p;
    }
    HEAPWOOD_NOINLINE char* supply_shared(Context context, std::uint64_t units, std::uint32_t n,
                                          bool is_quick) const {
        const Open<Scope::device> open = open_of(context.warp);
        if (n == 1) {
            if (char* p = cut_from(open, units)) return p;
        }
        const std::uint32_t block = search(context, n, is_quick);
        if (block == kNone) return nullptr;
        char* p = cut_fresh(open, context, block, units);
        moves_.of(context.warp).end();
        return p;
    }
    /// Cuts units from the start of own blocks, and opens what is left of them. If another request
    /// has opened one meanwhile that has so many units, they are cut from that.
    template <Scope kScope>
    HEAPWOOD_INLINE char* cut_fresh(Open<kScope> open, const Context& context, std::uint32_t block,
                                    std::uint64_t units) const {
        const Position start = std::uint64_t{block} * blocks_.units();
        const Position tail = start + units;
        Position old = open.load_relaxed();
        while (units <= room(old) || room(tail) > room(old)) {
            const bool fits = units <= room(old);
            if (kScope == Scope::device) Policy::pause();
            // Release: the block, with all that its former owners did to it.
            if (kScope == Scope::device && old == 0) note_open(context);
            if (!open.cas_acq_rel(old, fits ? old + units : tail)) continue;
            if (fits) {
                put_aside(context, block);
                return address(old);
            }
            if (room(old) != 0) give_up(context, old);
            return address(start);
        }
        if (room(tail) != 0) blocks_.waste(block_of(tail), room(tail));
        return address(start);
    }
    /// A block is about to be opened in a shared word that had none.
    HEAPWOOD_INLINE void note_open(const Context& context) const {
        const std::uint32_t i = context.warp & shared_mask_;
        opened(i / kOpenedBits).set_relaxed(1U << i % kOpenedBits);
    }
    /// What is left at a position nobody will get.
    HEAPWOOD_FN void give_up(const Context& context, Position at) const {
        if (blocks_.add_freed(block_of(at), room(at))) recycle(context, block_of(at));
    }
    /// What becomes of an own block all of which has been freed.
    HEAPWOOD_NOINLINE void recycle(Context context, std::uint32_t block) const {
        blocks_.settle(block);
        put_aside(context, block);
    }
    /// Keeps an own block for this caller, or gives it back.
    HEAPWOOD_INLINE void put_aside(const Context& context, std::uint32_t block) const {
        if (!has_cache(context) || !OwnWords(context).put_spare(block)) blocks_.give_back(block, 1);
    }

    /// Frees a piece that reaches into several blocks.
    HEAPWOOD_INLINE void deallocate_long(const Context& context, Position at,
                                         std::size_t bytes) const {
        std::uint64_t units = units_of_any(bytes);
        // The part in the first block, if that is not the whole of it.
        const std::uint32_t first = room(at);
        if (first > 0) {
            if (blocks_.add_freed(block_of(at), first)) recycle(context, block_of(at));
            at += first;
            units -= first;
        }
        const auto whole = static_cast<std::uint32_t>(units >> blocks_.shift());
        if (whole > 0) blocks_.give_back(block_of(at), whole);
        at += std::uint64_t{whole} * blocks_.units();
        const std::uint32_t last = static_cast<std::uint32_t>(units) & (blocks_.units() - 1);
        if (last > 0 && blocks_.add_freed(block_of(at), last)) recycle(context, block_of(at));
    }

    /// Gives back the caller's spare block, and its open one if no unit of it is in use. @return
    /// whether there was one
    HEAPWOOD_NOINLINE bool close_own(Context context) const {
        const OwnWords own(context);
        const bool any = close_if_idle(context.warp, own.open(), own.open().load_relaxed());
        if (!own.has_spare()) return any;
        const Moves moves = moves_.of(context.warp);
        moves.begin();
        const std::uint32_t spare = own.take_spare();
        if (spare == kNone) {
            moves.end_in_vain();
            return any;
        }
        blocks_.give_back(spare, 1);
        moves.end();
        return true;
    }
    template <Scope kScope>
    HEAPWOOD_NOINLINE bool close_if_idle(std::uint32_t caller, Open<kScope> open,
                                         Position at) const {
        if (room(at) == 0 || blocks_.freed_of(block_of(at)) + room(at) != blocks_.units()) {
            return false;
        }
        const Moves moves = moves_.of(caller);
        moves.begin();
        Policy::pause();
        if (!open.cas_acquire(at, 0)) {
            moves.end_in_vain();
            return false;
        }
        // To the map, where everybody finds it, not to this caller's cache.
        give_up(Context{}, at);
        moves.end();
        return true;
    }
    /// Units of any open block that callers share; not all begin at the same one. Closes those of
    /// which nothing is in use.
    /// @param closed whether it did
    HEAPWOOD_NOINLINE char* from_shared(Context context, std::uint64_t units, bool& closed) const {
        const std::uint32_t last = shared_mask_ / kOpenedBits;  // a power of two less 1
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t first = 0; first <= last; first += kBatch) {
            std::uint32_t seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::uint32_t w = (context.warp / kOpenedBits + first + i) & last;
                seen[i] = first + i <= last ? opened(w).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::uint32_t w = (context.warp / kOpenedBits + first + i) & last;
                HEAPWOOD_UNROLL(1)
                for (std::uint32_t bit = 0; seen[i] >> bit != 0; bit += kBatch) {
                    char* p = from_batch(context, w * kOpenedBits + bit, units, closed);
                    if (p != nullptr) return p;
                    if (bit + kBatch == kOpenedBits) break;
                }
            }
        }
        return nullptr;
    }
    /// The same, of kBatch words from `first` on, or of all if they are fewer.
    HEAPWOOD_NOINLINE char* from_batch(Context context, std::uint32_t first, std::uint64_t units,
                                       bool& closed) const {
        Position seen[kBatch];
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            // Nothing is open at 0.
            seen[i] = first + i <= shared_mask_ ? open_of(first + i).load_relaxed() : 0;
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < kBatch; ++i) {
            const Open<Scope::device> open = open_of(first + i);
            if (units <= room(seen[i])) {
                if (char* p = cut_from(open, units)) return p;
            }
            if (close_if_idle(context.warp, open, seen[i])) closed = true;
        }
        return nullptr;
    }
};

}  // namespace heapwood::allocators::cambium
