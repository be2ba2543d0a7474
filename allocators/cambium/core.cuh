/// @file
/// The part of Cambium that runs in kernels: pieces that are cut from open blocks, and runs of
/// blocks (blocks.cuh). cambium.cuh says what the allocator is made of.
///
/// **Positions.** An open block is a position in a word: the units from there to the end of its
/// block are nobody's yet. A request takes the next ones by a compare-and-swap. A position at the
/// border of two blocks has nothing left. That a word has the same value again does no harm: what
/// it says is all there is to know.
///
/// **Fresh blocks.** A request that finds no room takes as many blocks as it needs. The tail of the
/// last one takes the place of the open block, if it has more room than that; what has less is
/// counted as freed at once. A tail that is wasted belongs to nobody else yet, so that a store is
/// enough for it.
///
/// **Progress.** Nobody waits, and all searches are bounded. A request is refused when no blocks
/// were to be had, no open block of the caller and none of those that all share had room or was
/// idle, and no other request held blocks meanwhile that it was about to open or to close; or after
/// kRounds. Open blocks in the caches of others do not count: they are theirs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/cambium/blocks.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/rare_call.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::cambium {

/// Log2 of the bytes of a unit.
inline constexpr std::uint32_t kUnitShift = 4;
static_assert(kAlignment == 1U << kUnitShift);

/// Of an open block: where what is left of it begins, in units from the pool's start.
using Position = std::uint64_t;

/// Of a hint: the last search of the map was in vain.
inline constexpr std::uint32_t kScarce = 1U << 31;

/// A word that callers without a cache share, by itself in a sector of the L2 cache.
struct alignas(32) Shared {
    Position open;
    std::uint32_t hint;  ///< the word of the map where blocks were found last; and kScarce
};

/// The handle that kernels use.
template <class Policy>
class Core {
    using Scope = platform::Scope;
    template <Scope kScope>
    using Open = platform::AtomicRef<Position, kScope>;
    using CachedMoves = MovesAmong<Scope::block>;

public:
    Core() = default;
    /// `shared`: a power of two of them. `cached_callers`: how many may have open blocks of their
    /// own.
    Core(char* pool, const Blocks<Policy>& blocks, Shared* shared, std::uint32_t shared_count,
         std::uint32_t cached_callers, Moves::Word* moves)
        : blocks_(blocks),
          pool_(pool),
          shared_(shared),
          moves_(moves),
          shared_mask_(shared_count - 1),
          cached_callers_(cached_callers) {}

    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (has_cache(context) && bytes - 1 < block_bytes()) {  // not 0
            if (void* p = cut(cached_open(context), units_of(bytes))) return p;
        }
        return platform::call_rarely(allocate_slowly, *this, context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        const Position at = position_of(p);
        const std::uint64_t end = (at & (blocks_.units() - 1)) + units_of_any(bytes);
        if (end > blocks_.units() || Policy::is_crowded()) {
            return platform::call_rarely(deallocate_slowly, *this, context, at, bytes);
        }
        if (blocks_.add_freed(block_of(at), units_of(bytes))) {
            platform::call_rarely(recycle_block, *this, context, block_of(at));
        }
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return p == nullptr ? 0 : platform::round_up<std::uint64_t>(bytes, kAlignment);
    }
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        const Position open = cached_open(context).exchange_acq_rel(0);
        if (room(open) != 0) give_up({context.multiprocessor, context.warp}, open);
        const std::uint32_t spare = take_spare(context);
        if (spare != kNone) blocks_.give_back(spare, 1);
        for (unsigned i = 2; i < 5; ++i) {
            cached_word(context, i).store_relaxed(0);
        }
    }

    /// Units from a position to the end of its block; 0 at a border.
    HEAPWOOD_INLINE static std::uint32_t room_at(Position at, std::uint32_t units) {
        return static_cast<std::uint32_t>(0 - at) & (units - 1);
    }

private:
    /// Shared words that are read at once.
    static constexpr std::uint32_t kBatch = 8;

    HEAPWOOD_INLINE std::size_t block_bytes() const {
        return std::size_t{blocks_.units()} << kUnitShift;
    }
    HEAPWOOD_INLINE static std::uint64_t units_of_any(std::size_t bytes) {
        return (bytes + kAlignment - 1) >> kUnitShift;
    }
    HEAPWOOD_INLINE static std::uint32_t units_of(std::size_t bytes) {
        return static_cast<std::uint32_t>(units_of_any(bytes));
    }
    HEAPWOOD_INLINE Position position_of(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> kUnitShift;
    }
    HEAPWOOD_INLINE char* address(Position at) const { return pool_ + (at << kUnitShift); }
    HEAPWOOD_INLINE std::uint32_t block_of(Position at) const {
        return static_cast<std::uint32_t>(at >> blocks_.shift());
    }
    HEAPWOOD_INLINE std::uint32_t room(Position at) const { return room_at(at, blocks_.units()); }

    HEAPWOOD_INLINE bool has_cache(const Context& context) const {
        return context.cache != nullptr && context.warp < cached_callers_;
    }
    HEAPWOOD_INLINE static Open<Scope::block> cached_open(const Context& context) {
        return cached_word(context, 0);
    }
    HEAPWOOD_INLINE Shared& shared(std::uint32_t i) const { return shared_[i & shared_mask_]; }
    HEAPWOOD_INLINE Open<Scope::device> open_of(std::uint32_t i) const {
        return Open<Scope::device>(shared(i).open);
    }
    HEAPWOOD_INLINE static Open<Scope::block> cached_word(const Context& context, unsigned i) {
        return Open<Scope::block>(context.cache->words[i]);
    }
    HEAPWOOD_INLINE static Open<Scope::block> spare_word(const Context& context) {
        return cached_word(context, 1);
    }
    /// Of those that share the caller's cache.
    HEAPWOOD_INLINE static CachedMoves cached_moves(const Context& context) {
        return CachedMoves(context.cache->words[2]);
    }
    /// Not 0 if the half for so many blocks is known to have no untouched ones.
    HEAPWOOD_INLINE static Open<Scope::block> ended(const Context& context, std::uint32_t n) {
        return cached_word(context, n == 1 ? 3 : 4);
    }
    /// The caller's spare block, or kNone.
    HEAPWOOD_INLINE static std::uint32_t take_spare(const Context& context) {
        return static_cast<std::uint32_t>(spare_word(context).exchange_acq_rel(0)) - 1;
    }

    /// Takes units of the open block of `open`. nullptr: it has not so many.
    template <Scope kScope>
    HEAPWOOD_INLINE char* cut(Open<kScope> open, std::uint32_t units) const {
        for (Position at = open.load_relaxed(); units <= room(at);) {
            if (kScope == Scope::device) Policy::pause();
            // Acquire: what former owners did to the block.
            if (open.cas_acquire(at, at + units)) return address(at);
        }
        return nullptr;
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    HEAPWOOD_NOINLINE static void* allocate_slowly(const Core& core, Context context,
                                                   std::size_t bytes) {
        return core.allocate_any(context, bytes);
    }
    HEAPWOOD_NOINLINE static void deallocate_slowly(const Core& core, Context context, Position at,
                                                    std::size_t bytes) {
        core.deallocate_any(context, at, bytes);
    }
    HEAPWOOD_NOINLINE static void recycle_block(const Core& core, Context context,
                                                std::uint32_t block) {
        core.recycle(context, block);
    }

    /// Of lanes that are here together, one takes the sum for all.
    HEAPWOOD_INLINE void* allocate_any(const Context& context, std::size_t bytes) const {
        if (bytes == 0 || bytes > std::uint64_t{blocks_.count()} * block_bytes()) return nullptr;
        const std::uint64_t units = units_of_any(bytes);
        const platform::Lanes lanes(context.warp);
        std::uint64_t before = 0;
        const std::uint64_t all = lanes.sum(units, before);
        if (lanes.count() == 1 ||
            all <= std::uint64_t{blocks_.units()} * Blocks<Policy>::kWordBits) {
            char* p = lanes.rank() == 0 ? supply(context, all) : nullptr;
            p = reinterpret_cast<char*>(
                lanes.of_leader(std::uint64_t{reinterpret_cast<std::uintptr_t>(p)}));
            lanes.sync();  // what the leader has acquired
            if (p != nullptr) return p + (before << kUnitShift);
        }
        return insist(context, units);
    }
    /// Only a request that is to be refused needs to know what others do meanwhile.
    HEAPWOOD_NOINLINE void* insist(Context context, std::uint64_t units) const {
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const Moves moves(*moves_);
            const bool has_settled = blocks_.has_settled();
            const Moves::Word look = moves.look();
            const Moves::Word cached_look = has_cache(context) ? cached_moves(context).look() : 0;
            if (char* p = supply(context, units)) return p;
            if (has_cache(context) && close_own(context)) continue;
            bool closed = false;
            if (char* p = from_shared(context, units, closed)) return p;
            if (closed) continue;
            if (has_settled && moves.none_since(look) &&
                (!has_cache(context) || cached_moves(context).none_since(cached_look))) {
                return nullptr;
            }
            platform::back_off(round + context.warp % 4);
        }
        return nullptr;
    }
    HEAPWOOD_FN char* supply(const Context& context, std::uint64_t units) const {
        const auto n = static_cast<std::uint32_t>((units + blocks_.units() - 1) >> blocks_.shift());
        if (!has_cache(context)) return supply_shared(context, units, n);
        const Open<Scope::block> open = cached_open(context);
        if (n == 1) {
            if (char* p = cut(open, static_cast<std::uint32_t>(units))) return p;
        }
        // Who shares the cache may miss what is to be opened in it.
        cached_moves(context).begin();
        std::uint32_t block = n == 1 ? take_spare(context) : kNone;
        if (block == kNone && ended(context, n).load_relaxed() == 0) {
            block = blocks_.take_untouched(n);
            if (block == kNone) ended(context, n).store_relaxed(1);
        }
        if (block == kNone) block = search(context, n);
        if (block == kNone) {
            cached_moves(context).end_in_vain();
            return nullptr;
        }
        char* p = cut_fresh(open, context, block, units);
        cached_moves(context).end();
        return p;
    }
    HEAPWOOD_NOINLINE char* supply_shared(Context context, std::uint64_t units,
                                          std::uint32_t n) const {
        const Open<Scope::device> open = open_of(context.warp);
        if (n == 1) {
            if (char* p = cut(open, static_cast<std::uint32_t>(units))) return p;
        }
        const std::uint32_t block = search(context, n);
        if (block == kNone) return nullptr;
        char* p = cut_fresh(open, context, block, units);
        Moves(*moves_).end();
        return p;
    }
    /// Takes n blocks from wherever there are. Of a caller without a cache that is a move, which
    /// ends after what is left of them has been opened for all.
    HEAPWOOD_NOINLINE std::uint32_t search(Context context, std::uint32_t n) const {
        const platform::AtomicRef<std::uint32_t> hint(shared(context.warp).hint);
        const std::uint32_t hinted = hint.load_relaxed();
        bool is_scarce = (hinted & kScarce) != 0;
        // Many may search at the same time in vain, and would wait for one another's moves.
        if (is_scarce && !blocks_.any()) return kNone;
        std::uint32_t at = hinted & ~kScarce;
        const Moves moves(*moves_);
        // The blocks of a run are hidden from all meanwhile, and may be set free again.
        const bool is_move = n > 1 || !has_cache(context);
        if (is_move) moves.begin();
        const std::uint32_t block = blocks_.take(n, at, is_scarce);
        if (is_scarce) at |= kScarce;
        if (at != hinted) hint.store_relaxed(at);
        if (is_move && block == kNone) moves.end_in_vain();
        if (is_move && block != kNone && has_cache(context)) moves.end();
        return block;
    }
    /// Cuts units from the start of own blocks, and opens what is left of them.
    template <Scope kScope>
    HEAPWOOD_INLINE char* cut_fresh(Open<kScope> open, const Context& context, std::uint32_t block,
                                    std::uint64_t units) const {
        const Position start = std::uint64_t{block} * blocks_.units();
        const Position tail = start + units;
        Position old = open.load_relaxed();
        while (room(tail) > room(old)) {
            if (kScope == Scope::device) Policy::pause();
            // Release: the block, with all that its former owners did to it.
            if (!open.cas_acq_rel(old, tail)) continue;
            if (room(old) != 0) give_up(context, old);
            return address(start);
        }
        if (room(tail) != 0) blocks_.waste(block_of(tail), room(tail));
        return address(start);
    }
    /// What is left at a position nobody will get.
    HEAPWOOD_FN void give_up(const Context& context, Position at) const {
        if (blocks_.add_freed(block_of(at), room(at))) recycle(context, block_of(at));
    }
    /// Puts an own block aside for this caller, or gives it back.
    HEAPWOOD_NOINLINE void recycle(Context context, std::uint32_t block) const {
        blocks_.settle(block);
        if (has_cache(context)) {
            std::uint64_t none = 0;
            if (spare_word(context).cas_acq_rel(none, block + 1ULL)) return;
        }
        blocks_.give_back(block, 1);
    }

    /// Of lanes that free pieces of one block, one counts for all; and pieces of several blocks.
    HEAPWOOD_INLINE void deallocate_any(const Context& context, Position at,
                                        std::size_t bytes) const {
        std::uint64_t units = units_of_any(bytes);
        const std::uint32_t mask = blocks_.units() - 1;
        // The part in the first block, if that is not the whole of it.
        const std::uint32_t in_first = blocks_.units() - (static_cast<std::uint32_t>(at) & mask);
        auto part = static_cast<std::uint32_t>(units < in_first ? units : in_first);
        if (part < blocks_.units()) {
            const platform::Lanes lanes(block_of(at));
            std::uint64_t before = 0;
            const std::uint64_t all = lanes.sum(std::uint64_t{part}, before);
            lanes.sync();  // what the others have done to their pieces
            if (lanes.rank() == 0 &&
                blocks_.add_freed(block_of(at), static_cast<std::uint32_t>(all))) {
                recycle(context, block_of(at));
            }
            at += part;
            units -= part;
        }
        const auto whole = static_cast<std::uint32_t>(units >> blocks_.shift());
        if (whole > 0) blocks_.give_back(block_of(at), whole);
        at += std::uint64_t{whole} * blocks_.units();
        part = static_cast<std::uint32_t>(units) & mask;
        if (part > 0 && blocks_.add_freed(block_of(at), part)) recycle(context, block_of(at));
    }

    /// Gives back the caller's spare block, and its open one if no unit of it is in use. @return
    /// whether there was one
    HEAPWOOD_NOINLINE bool close_own(Context context) const {
        const auto open = cached_open(context);
        const bool any = close_if_idle(open, open.load_relaxed());
        if (spare_word(context).load_relaxed() == 0) return any;
        const Moves moves(*moves_);
        moves.begin();
        const std::uint32_t spare = take_spare(context);
        if (spare == kNone) {
            moves.end_in_vain();
            return any;
        }
        blocks_.give_back(spare, 1);
        moves.end();
        return true;
    }
    template <Scope kScope>
    HEAPWOOD_NOINLINE bool close_if_idle(Open<kScope> open, Position at) const {
        if (room(at) == 0 || blocks_.freed_of(block_of(at)) + room(at) != blocks_.units()) {
            return false;
        }
        const Moves moves(*moves_);
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
    /// Units of any open block that callers share. Closes those of which nothing is in use.
    /// @param closed whether it did
    HEAPWOOD_NOINLINE char* from_shared(Context context, std::uint64_t units, bool& closed) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t first = 0; first <= shared_mask_; first += kBatch) {
            Position seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                // Nothing is open at 0. There may be fewer words than that.
                seen[i] = i <= shared_mask_ ? open_of(context.warp + first + i).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const Open<Scope::device> open = open_of(context.warp + first + i);
                if (units <= room(seen[i])) {
                    if (char* p = cut(open, static_cast<std::uint32_t>(units))) return p;
                }
                if (close_if_idle(open, seen[i])) closed = true;
            }
        }
        return nullptr;
    }

    Blocks<Policy> blocks_;
    char* pool_;
    Shared* shared_;
    Moves::Word* moves_;
    std::uint32_t shared_mask_;
    std::uint32_t cached_callers_;
};

}  // namespace heapwood::allocators::cambium
