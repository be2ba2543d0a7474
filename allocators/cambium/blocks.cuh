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
/// **Taking.** A request clears the bits of the run that it has seen. If another was quicker with
/// some of them, it sets the others again, and looks further. So nobody waits, and of the requests
/// that want the same bit one gets it. Thousands that have no cache begin in different places. For
/// a few blocks next to one another they look near by first; the search of all of the map takes the
/// words in pairs, so that one pass finds what lies across the border of two.
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

#include "allocators/cambium/bit_runs.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// No block.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

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
class Blocks {
    using Word = platform::AtomicRef<std::uint32_t>;

public:
    static constexpr std::uint32_t kWordBits = 32;

    Blocks() = default;
    /// `map`: a bit a block, at first 0; `freed`: a count a block; `untouched`: of each half, at
    /// first its first block, and with kExtends the number of blocks in use; `at_first`: that
    /// number when the handle is made; `shift`: log2 of the units of a block.
    Blocks(std::uint32_t* map, std::uint32_t* freed, Untouched* untouched, std::uint32_t count,
           std::uint32_t at_first, std::uint32_t shift)
        : map_(map),
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

    /// Gives own blocks back that lie next to one another.
    HEAPWOOD_FN void give_back(std::uint32_t first, std::uint32_t n) const {
        HEAPWOOD_UNROLL(1)
        while (n > 0) {
            const std::uint32_t most = kWordBits - first % kWordBits;
            const std::uint32_t part = n < most ? n : most;
            Policy::pause();
            // Release: all that was done to the blocks, to the request that clears the bits.
            word(first / kWordBits).set_release(low_ones(part) << first % kWordBits);
            first += part;
            n -= part;
        }
    }
    /// Takes n untouched blocks of the half that is for as many. @return the first one, or kNone
    HEAPWOOD_INLINE std::uint32_t take_untouched(std::uint32_t n) const {
        return take_untouched_of(half_for(n), n);
    }
    /// Whether that half has any.
    HEAPWOOD_INLINE bool has_untouched(std::uint32_t n) const { return half_has(half_for(n)); }
    /// Takes n blocks next to one another from word `at` of the map. `scatter`: requests with
    /// different ones look for them in different places first. @return the first one, or kNone
    HEAPWOOD_INLINE std::uint32_t take_at(std::uint32_t at, std::uint32_t n,
                                          std::uint32_t scatter) const {
        return n <= kWordBits ? take_seen(at, word(at).load_relaxed(), n, scatter) : kNone;
    }
    /// Takes n blocks next to one another; looks from word `at` of the map on, or from another one
    /// that `scatter` says, circularly, and then at the untouched ones; the other way round if the
    /// map is scarce. @param at afterwards the word where it found them. @param is_scarce
    /// afterwards whether the map had none. @return the first one, or kNone
    HEAPWOOD_NOINLINE std::uint32_t take(std::uint32_t n, std::uint32_t& at, bool& is_scarce,
                                         std::uint32_t scatter) const {
        std::uint32_t first = is_scarce ? take_any_untouched(n) : kNone;
        if (first != kNone) return first;
        if (scatter != 0) at = static_cast<std::uint32_t>(std::uint64_t{scatter} * words() >> 32);
        if (n <= kWordBits) first = take_in_words(n, at, scatter);
        if (first == kNone && n > 1) first = take_across(n);
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
        first = take_of_pairs(n, at, scatter, is_quick);
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
        if (half_has(0) || half_has(1)) return true;
        const std::uint32_t all = words();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t at = 0; at < all; at += kBatch) {
            std::uint32_t seen = 0;
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                seen |= at + i < all ? word(at + i).load_relaxed() : 0;
            }
            if (seen != 0) return true;
        }
        return false;
    }

private:
    /// Words that are read at once, for each takes a GPU the better part of a microsecond. With
    /// more of them a request takes more than 48 registers.
    static constexpr std::uint32_t kBatch = 6;
    /// The same for long runs, whose search has more to remember.
    static constexpr std::uint32_t kAcross = 4;
    /// Which of the words of the untouched blocks has the number of blocks in use.
    static constexpr std::uint32_t kInUse = 2;
    /// Words of which each is looked at together with the next one.
    static constexpr std::uint32_t kPairs = 6;

    HEAPWOOD_INLINE Word word(std::uint32_t i) const { return Word(map_[i]); }
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
    HEAPWOOD_FN std::uint32_t take_in_words(std::uint32_t n, std::uint32_t& at,
                                            std::uint32_t scatter) const {
        const std::uint32_t all = words();
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t looked = 0; looked < all;) {
            std::uint32_t seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::uint32_t w = at + i < all ? at + i : at + i - all;
                seen[i] = i < all ? word(w).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                if (seen[i] == 0) continue;
                const std::uint32_t w = at + i < all ? at + i : at + i - all;
                const std::uint32_t first = take_of(w, seen[i], n, scatter);
                if (first != kNone) {
                    at = w;
                    return first;
                }
            }
            looked += kBatch;
            at += kBatch;
            at = at < all ? at : at % all;
        }
        return kNone;
    }
    /// Takes 2 to kWordBits blocks of one word, or of two next to one another unless it is to be
    /// quick, in one pass: many begin in different places at the same time.
    HEAPWOOD_NOINLINE std::uint32_t take_of_pairs(std::uint32_t n, std::uint32_t& at,
                                                  std::uint32_t scatter, bool is_quick) const {
        const std::uint32_t all = words();
        const std::uint32_t most = is_quick && Policy::kNear < all ? Policy::kNear : all;
        at -= at % kPairs;  // so that it comes by all of them
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t looked = 0; looked < most; looked += kPairs) {
            std::uint32_t seen[kPairs + 1];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i <= kPairs; ++i) {
                seen[i] = at + i < all ? word(at + i).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kPairs; ++i) {
                const std::uint64_t pair = std::uint64_t{seen[i + 1]} << kWordBits | seen[i];
                if ((pair & pair >> 1) == 0) continue;  // which is usual where blocks are few
                const std::uint32_t first = take_of_pair(at + i, pair, n, scatter, is_quick);
                if (first == kNone) continue;
                at += i;
                return first;
            }
            at = at + kPairs < all ? at + kPairs : 0;
        }
        return kNone;
    }
    /// The same, of one word, as it and the next one were seen.
    HEAPWOOD_NOINLINE std::uint32_t take_of_pair(std::uint32_t w, std::uint64_t pair,
                                                 std::uint32_t n, std::uint32_t scatter,
                                                 bool is_quick) const {
        const std::uint32_t first = take_seen(w, static_cast<std::uint32_t>(pair), n, scatter);
        if (first != kNone || is_quick) return first;
        const auto begins = static_cast<std::uint32_t>(run_starts(pair, n));
        if (begins == 0) return kNone;
        const std::uint32_t at = w * kWordBits + platform::lowest_bit(begins);
        return claim_run(at, n) ? at : kNone;
    }
    /// As take_seen(), out of line.
    HEAPWOOD_NOINLINE std::uint32_t take_of(std::uint32_t w, std::uint32_t seen, std::uint32_t n,
                                            std::uint32_t scatter) const {
        return take_seen(w, seen, n, scatter);
    }
    /// Takes n blocks of a word, as it was `seen`.
    HEAPWOOD_INLINE std::uint32_t take_seen(std::uint32_t w, std::uint32_t seen, std::uint32_t n,
                                            std::uint32_t scatter) const {
        // A run of a power of two begins at a multiple of it, so that runs leave no gaps.
        const std::uint32_t from = scatter % kWordBits & (0 - n);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t begins = run_starts(seen, n); begins != 0;
             begins = run_starts(seen, n)) {
            const std::uint32_t behind = begins >> from << from;
            const std::uint32_t bit = platform::lowest_bit(behind != 0 ? behind : begins);
            seen = claim(w, low_ones(n) << bit);
            if (seen == kClaimed) return w * kWordBits + bit;
        }
        return kNone;
    }
    /// No word: all of its bits are of blocks, or of none.
    static constexpr std::uint32_t kClaimed = ~std::uint32_t{0};
    /// Clears these bits. @return kClaimed, or, if not all of them were set, those of the word that
    /// are set now, but never all.
    HEAPWOOD_INLINE std::uint32_t claim(std::uint32_t w, std::uint32_t bits) const {
        Policy::pause();
        // Acquire: all that was done to the blocks.
        const std::uint32_t before = word(w).and_acquire(~bits);
        if ((before & bits) == bits) return kClaimed;
        if ((before & bits) != 0) {
            Policy::pause();
            // Release: what has been acquired with these blocks goes on to the next owner.
            word(w).set_release(before & bits);
        }
        return before;
    }

    /// As take(), of any words next to one another, the highest blocks of the pool first: requests
    /// for few blocks begin in its lower half.
    HEAPWOOD_NOINLINE std::uint32_t take_across(std::uint32_t n) const {
        std::uint32_t run = 0;  // free blocks from the one that was looked at last
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t end = words(); end > 0; end -= end < kAcross ? end : kAcross) {
            std::uint32_t seen[kAcross];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kAcross; ++i) {
                seen[i] = i < end ? word(end - 1 - i).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kAcross; ++i) {
                const std::uint32_t first = i < end ? run_to(end - 1 - i, seen[i], n, run) : kNone;
                if (first != kNone) return first;
            }
        }
        return kNone;
    }
    /// Goes through the bits of a word, the highest first. @param run free blocks above it that are
    /// next to it; afterwards those from its lowest bit on. @return the first one of n, if they
    /// were there and have been taken, or kNone
    HEAPWOOD_NOINLINE std::uint32_t run_to(std::uint32_t w, std::uint32_t seen, std::uint32_t n,
                                           std::uint32_t& run) const {
        if (seen == 0 || (seen == ~0U && run + kWordBits < n)) {
            run = seen == 0 ? 0 : run + kWordBits;
            return kNone;
        }
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t end = kWordBits; end > 0;) {
            const std::uint32_t ones = platform::leading_zeros(~(seen << (kWordBits - end)));
            if (run + ones >= n) {
                end -= n - run;
                if (claim_run(w * kWordBits + end, n)) return w * kWordBits + end;
                run = 0;
                continue;
            }
            run += ones;
            end -= ones;
            if (end == 0) break;
            const std::uint32_t zeros = platform::leading_zeros(seen << (kWordBits - end));
            end -= zeros < end ? zeros : end;
            run = 0;
        }
        return kNone;
    }
    HEAPWOOD_FN bool claim_run(std::uint32_t first, std::uint32_t n) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t done = 0; done < n;) {
            const std::uint32_t at = first + done;
            const std::uint32_t most = kWordBits - at % kWordBits;
            const std::uint32_t part = n - done < most ? n - done : most;
            if (claim(at / kWordBits, low_ones(part) << at % kWordBits) != kClaimed) {
                give_back(first, done);
                return false;
            }
            done += part;
        }
        return true;
    }

    std::uint32_t* map_;
    std::uint32_t* freed_;
    Untouched* untouched_;
    std::uint32_t count_;
    std::uint32_t at_first_;
    std::uint32_t shift_;
};

}  // namespace heapwood::allocators::cambium
