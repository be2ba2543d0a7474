/// @file
/// What all callers of Cambium share: the memory, its blocks, the words in which open blocks and
/// hints are, and the search for fresh blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/cambium/blocks.cuh"
#include "allocators/cambium/open_block.cuh"
#include "allocators/cambium/own_words.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// Log2 of the bytes of a unit.
inline constexpr std::uint32_t kUnitShift = 4;
static_assert(kAlignment == 1U << kUnitShift);

/// Of a hint: the last search of the map was in vain.
inline constexpr std::uint32_t kScarce = 1U << 31;

/// A word that callers without a cache share, by itself in a sector of the L2 cache.
struct alignas(32) Shared {
    Position open;
    std::uint32_t hint;  ///< the word of the map where blocks were found last; and kScarce
    /// Of the first ones: a bit for each word of which a block has ever been open, 32 a word.
    std::uint32_t opened;
};

/// Handles of what is shared; copied into kernels.
template <class Policy>
class SharedPool {
public:
    SharedPool() = default;
    /// `shared`: a power of two of them. `cached_callers`: how many may have open blocks of their
    /// own.
    SharedPool(char* pool, const Blocks<Policy>& blocks, Shared* shared, std::uint32_t shared_count,
               std::uint32_t cached_callers, const SpreadMoves& moves)
        : blocks_(blocks),
          pool_(pool),
          shared_(shared),
          moves_(moves),
          shared_mask_(shared_count - 1),
          cached_callers_(cached_callers) {}

protected:
    HEAPWOOD_INLINE std::size_t block_bytes() const {
        return std::size_t{blocks_.units()} << kUnitShift;
    }
    HEAPWOOD_INLINE static std::uint64_t units_of_any(std::size_t bytes) {
        return (bytes + kAlignment - 1) >> kUnitShift;
    }
    HEAPWOOD_INLINE static std::uint32_t units_of(std::size_t bytes) {
        return static_cast<std::uint32_t>(units_of_any(bytes));
    }
    /// Whether the pool has so many units, which are not 0.
    HEAPWOOD_INLINE bool is_possible(std::uint64_t units) const {
        return units - 1 < std::uint64_t{blocks_.count()} << blocks_.shift();
    }
    HEAPWOOD_INLINE std::uint32_t blocks_for(std::uint64_t units) const {
        return static_cast<std::uint32_t>((units + blocks_.units() - 1) >> blocks_.shift());
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
    HEAPWOOD_INLINE Shared& shared(std::uint32_t i) const { return shared_[i & shared_mask_]; }
    HEAPWOOD_INLINE platform::AtomicRef<Position> open_of(std::uint32_t i) const {
        return platform::AtomicRef<Position>(shared(i).open);
    }

    /// The sum of the moves that may hide blocks from the caller.
    HEAPWOOD_INLINE Moves::Word look_at_moves(const Context& context) const {
        return moves_.look() + (has_cache(context) ? OwnWords(context).moves().look() : 0);
    }
    HEAPWOOD_NOINLINE Moves::Word look_again(Context context) const {
        return moves_.look_again() +
               (has_cache(context) ? OwnWords(context).moves().look_again() : 0);
    }

    static constexpr std::uint32_t kOpenedBits = 32;
    /// Which of kOpenedBits words may have a block open.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> opened(std::uint32_t i) const {
        return platform::AtomicRef<std::uint32_t>(shared_[i].opened);
    }

    /// Takes n blocks from wherever there are; if it is to be quick, and several, from near by. Of
    /// a caller without a cache that is a move, which ends after what is left of them has been
    /// opened for all.
    HEAPWOOD_NOINLINE std::uint32_t search(Context context, std::uint32_t n, bool is_quick) const {
        const std::uint32_t hint = hint_of(context).load_relaxed();
        const bool is_fresh = (hint & kScarce) != 0 && blocks_.has_untouched(n);
        // Many may search at the same time in vain, and would wait for one another's moves.
        if ((hint & kScarce) != 0 && !is_fresh && !blocks_.any()) return kNone;
        const bool is_cached = has_cache(context);
        const Moves moves = moves_.of(context.warp);
        // The blocks of a run are hidden from all meanwhile, and may be set free again.
        const bool is_move = n > 1 || !is_cached;
        if (is_move) moves.begin();
        std::uint32_t block = is_fresh ? blocks_.take_untouched(n)
                                       : blocks_.take_at(hint & ~kScarce, n, scatter_of(context));
        if (block == kNone) block = search_map(context, n, hint, is_quick);
        if (is_move && block == kNone) moves.end_in_vain();
        if (is_move && block != kNone && is_cached) moves.end();
        return block;
    }
    /// The same, from everywhere. @param hint as it was read
    HEAPWOOD_NOINLINE std::uint32_t search_map(Context context, std::uint32_t n, std::uint32_t hint,
                                               bool is_quick) const {
        bool is_scarce = (hint & kScarce) != 0;
        std::uint32_t at = hint & ~kScarce;
        const std::uint32_t scatter = scatter_of(context);
        const std::uint32_t block =
            scatter != 0 && n > 1 && n <= Blocks<Policy>::kWordBits
                ? blocks_.take_run(n, at, is_scarce, scatter, is_quick)
                : blocks_.take(n, at, is_scarce, scatter_in_map(context, n));
        if (is_scarce) at |= kScarce;
        if (at != hint) hint_of(context).store_relaxed(at);
        return block;
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint_of(const Context& context) const {
        return platform::AtomicRef<std::uint32_t>(shared(context.warp).hint);
    }
    /// Thousands of callers without a cache may search at the same time.
    HEAPWOOD_INLINE std::uint32_t scatter_of(const Context& context) const {
        return has_cache(context) ? 0 : (context.warp + 1) * kScatter;
    }

    /// Many callers wait for more blocks, and look for them at the same time: single ones in the
    /// lower half of the map, so that runs find room above.
    HEAPWOOD_INLINE std::uint32_t scatter_in_map(const Context& context, std::uint32_t n) const {
        if constexpr (kExtends<Policy>) {
            if (n == 1 && blocks_.has_extended()) return (context.warp + 1) * kScatter >> 1;
        }
        return scatter_of(context);
    }

    Blocks<Policy> blocks_;
    char* pool_;
    Shared* shared_;
    SpreadMoves moves_;
    std::uint32_t shared_mask_;
    std::uint32_t cached_callers_;

private:
    /// Neighbours' multiples of it lie far apart, modulo 2^32: 2^32 over the golden ratio.
    static constexpr std::uint32_t kScatter = 0x9E3779B9U;
};

}  // namespace heapwood::allocators::cambium
