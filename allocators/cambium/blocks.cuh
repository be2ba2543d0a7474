/// @file
/// The blocks of Cambium's pool in kernels: which are free, and how much of each has been freed.
///
/// **Words.** A bit of the map is set if its block is free and nobody's, but not if the block is
/// untouched. A word of each half of the pool says which blocks are, the lowest ones being taken
/// first. freed[b] counts the units of block b that have been freed, or that nobody will get; it is
/// 0 in a free block. Whoever brings it to a whole block is alone with the block, sets the count
/// back, and gives the block back.
///
/// **Memory order.** Each count is a release, and the last one acquires: so it has all that was
/// done to any piece of the block. It sets the bit by a release, and the thread that clears it
/// acquires.
///
/// **Untouched blocks** are taken by one addition to their half's word, without a search: single
/// ones from the lower half, runs from the upper one. The first request for as many as are left, or
/// more, takes them, or gives them to the map, and says then that the word is settled. Until it
/// says so, a request that has found nothing cannot know that there was nothing.
///
/// **More blocks.** With a policy that says kExtends, the tables may be those of more blocks than
/// are in use at first. One caller at a time takes the next ones into use (extend()): it gives them
/// to the map, as an owner that frees them would. Searches end where the blocks in use do.
#pragma once

#include <cstdint>

#include "allocators/cambium/block_map.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// The lowest untouched block of a half, if there are any; and kSettled. By itself in a sector of
/// the L2 cache.
struct alignas(32) Untouched {
    std::uint64_t lowest;
};
/// No block is untouched, and those that were left for larger requests are in the map.
inline constexpr std::uint64_t kSettled = std::uint64_t{1} << 63;

/// Whether the pool may get more blocks while callers use it.
template <class Policy>
inline constexpr bool kExtends = requires {
    requires Policy::kExtends;
};

/// Handles of the tables; copied into kernels.
template <class Policy>
class Blocks : BlockMap<Policy> {
    using Map = BlockMap<Policy>;
    using Word = platform::AtomicRef<std::uint32_t>;

public:
    using Map::kWordBits, Map::give_back, Map::take_at;

    Blocks() = default;
    /// `map`: a bit a block, at first 0; `freed`: a count a block; `untouched`: of each half, at
    /// first its first block, and with kExtends the number of blocks in use; `at_first`: that
    /// number when the handle is made; `shift`: log2 of the units of a block.
    Blocks(std::uint32_t* map, std::uint32_t* freed, Untouched* untouched, std::uint32_t count,
           std::uint32_t at_first, std::uint32_t shift)
        : Map(map),
          freed_(freed),
          untouched_(untouched),
          count_(count),
          at_first_(at_first),
          shift_(shift) {}

    /// The first block of the upper half, of so many blocks.
    HEAPWOOD_INLINE static constexpr std::uint32_t first_of_upper(std::uint32_t count) {
        return count / 2;
    }
    HEAPWOOD_INLINE std::uint32_t count() const { return count_; }
    /// Units of 16 bytes of a block.
    HEAPWOOD_INLINE std::uint32_t units() const { return 1U << shift_; }
    /// Its log2.
    HEAPWOOD_INLINE std::uint32_t shift() const { return shift_; }
    /// Words of the map that have blocks in use; may be old.
    HEAPWOOD_INLINE std::uint32_t words() const { return (in_use() + kWordBits - 1) / kWordBits; }
    /// Whether blocks have come into use since the handle was made; may be old.
    HEAPWOOD_INLINE bool has_extended() const { return in_use() != at_first_; }
    /// Takes the blocks up to `end`, no more than count(), into use. One caller at a time, and what
    /// one does happens before what the next one does.
    HEAPWOOD_FN void extend(std::uint32_t end) const {
        const std::uint32_t before = in_use();
        if (end <= before) return;
        untouched(kInUse).store_relaxed(end);
        give_back(before, end - before);
    }

    /// Counts units of a block as freed. @return whether the block is the caller's alone now: all
    /// are freed, and settle() is next.
    HEAPWOOD_INLINE bool add_freed(std::uint32_t block, std::uint32_t units) const {
        Policy::pause();
        // Release: what was done to them, to the thread that frees the last ones.
        return Word(freed_[block]).add_release(units) + units == this->units();
    }
    /// The same, of lanes that are here together: one counts for those with the same block.
    HEAPWOOD_INLINE bool add_freed_together(std::uint32_t block, std::uint32_t units) const {
        const platform::Lanes lanes{Word(freed_[block])};
        std::uint32_t before = 0;
        const std::uint32_t sum = lanes.sum(units, before);
        lanes.sync();  // what the others have done to their pieces
        return lanes.rank() == 0 && add_freed(block, sum);
    }
    /// Makes the count of an own block ready for the next owner.
    HEAPWOOD_INLINE void settle(std::uint32_t block) const {
        const Word freed(freed_[block]);
        freed.load_acquire();  // from all that freed units of it
        freed.store_relaxed(0);
    }
    /// How much of an open block has been freed; may be old.
    HEAPWOOD_INLINE std::uint32_t freed_of(std::uint32_t block) const {
        return Word(freed_[block]).load_relaxed();
    }

    /// Takes n untouched blocks of the half that is for as many. @return the first one, or kNone
    HEAPWOOD_INLINE std::uint32_t take_untouched(std::uint32_t n) const {
        return take_untouched_of(half_for(n), n);
    }
    /// Whether that half has any.
    HEAPWOOD_INLINE bool has_untouched(std::uint32_t n) const { return half_has(half_for(n)); }
    /// Takes n blocks next to one another; looks from word `at` of the map on, or from another one
    /// that `scatter` says, circularly, and then at the untouched ones; the other way round if the
    /// map is scarce. @param at afterwards the word where it found them. @param is_scarce
    /// afterwards whether the map had none. @return the first one, or kNone
    HEAPWOOD_NOINLINE std::uint32_t take(std::uint32_t n, std::uint32_t& at, bool& is_scarce,
                                         std::uint32_t scatter) const {
        std::uint32_t first = is_scarce ? take_any_untouched(n) : kNone;
        if (first != kNone) return first;
        if (scatter != 0) at = static_cast<std::uint32_t>(std::uint64_t{scatter} * words() >> 32);
        if (n <= kWordBits) first = this->take_in_words(n, at, scatter, words());
        if (first == kNone && n > 1) first = this->take_across(n, words());
        is_scarce = first == kNone;
        return is_scarce ? take_any_untouched(n) : first;
    }
    /// The same, of 2 to kWordBits blocks for a request that scatters. @param is_quick it looks at
    /// Policy::kNear words of the map only
    HEAPWOOD_NOINLINE std::uint32_t take_run(std::uint32_t n, std::uint32_t& at, bool& is_scarce,
                                             std::uint32_t scatter, bool is_quick) const {
        std::uint32_t first = is_scarce ? take_any_untouched(n) : kNone;
        if (first != kNone) return first;
        at = static_cast<std::uint32_t>(std::uint64_t{scatter} * words() >> 32);
        first = this->take_of_pairs(n, at, scatter, is_quick, words());
        is_scarce = first == kNone;
        return is_scarce ? take_any_untouched(n) : first;
    }
    /// Makes units of an own block, of which nothing is in use yet, count as freed.
    HEAPWOOD_INLINE void waste(std::uint32_t block, std::uint32_t units) const {
        Word(freed_[block]).store_relaxed(units);
    }
    /// Whether no blocks are on their way from the untouched ones to the map, nor will be. Acquire:
    /// those that have been.
    HEAPWOOD_INLINE bool has_settled() const {
        return (untouched(0).load_acquire() & untouched(1).load_acquire() & kSettled) != 0;
    }

    /// Whether any is free.
    HEAPWOOD_NOINLINE bool any() const {
        return half_has(0) || half_has(1) || this->any_in_map(words());
    }

private:
    /// Which of the words of the untouched blocks has the number of blocks in use.
    static constexpr std::uint32_t kInUse = 2;

    HEAPWOOD_INLINE platform::AtomicRef<std::uint64_t> untouched(std::uint32_t half) const {
        return platform::AtomicRef<std::uint64_t>(untouched_[half].lowest);
    }
    HEAPWOOD_INLINE std::uint32_t in_use() const {
        if constexpr (kExtends<Policy>) {
            return static_cast<std::uint32_t>(untouched(kInUse).load_relaxed());
        }
        return count_;
    }
    HEAPWOOD_INLINE std::uint32_t end_of(std::uint32_t half) const {
        return half == 0 ? first_of_upper(at_first_) : at_first_;
    }
    HEAPWOOD_INLINE static std::uint32_t half_for(std::uint32_t n) { return n == 1 ? 0 : 1; }
    HEAPWOOD_INLINE bool half_has(std::uint32_t half) const {
        return untouched(half).load_relaxed() < end_of(half);
    }
    HEAPWOOD_INLINE std::uint32_t take_untouched_of(std::uint32_t half, std::uint32_t n) const {
        Policy::pause();
        // Relaxed: there is nothing to be had from former owners.
        const std::uint64_t first = untouched(half).add_relaxed(n);
        const std::uint32_t end = end_of(half);
        if (first + n < end) return static_cast<std::uint32_t>(first);
        return first < end ? take_end(half, static_cast<std::uint32_t>(first), n) : kNone;
    }
    HEAPWOOD_NOINLINE std::uint32_t take_any_untouched(std::uint32_t n) const {
        std::uint32_t first = kNone;
        for (std::uint32_t i = 0; i < 2 && first == kNone; ++i) {
            const std::uint32_t half = n == 1 ? i : 1 - i;
            if (half_has(half)) first = take_untouched_of(half, n);
        }
        return first;
    }
    /// For the one request that comes to the end of a half's untouched blocks: takes the n from
    /// `first` on if they are the last ones, else gives what is left to the map. @return `first`,
    /// or kNone
    HEAPWOOD_NOINLINE std::uint32_t take_end(std::uint32_t half, std::uint32_t first,
                                             std::uint32_t n) const {
        const std::uint32_t left = end_of(half) - first;
        const bool fits = left == n;
        if (!fits) give_back(first, left);
        Policy::pause();
        // Release: the bits, to has_settled().
        untouched(half).add_release(kSettled);
        return fits ? first : kNone;
    }
    std::uint32_t* freed_;
    Untouched* untouched_;
    std::uint32_t count_;
    std::uint32_t at_first_;
    std::uint32_t shift_;
};

}  // namespace heapwood::allocators::cambium
