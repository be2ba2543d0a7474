/// @file
/// The map of Cambium's blocks in kernels: a bit a block, set if the block is free and no
/// caller holds it, but not if it is untouched (blocks.cuh).
///
/// **Taking.** A request clears the bits of the run that it has seen. If another was quicker with
/// some of them, it sets the others again, and looks further. So no request waits, and of those
/// that want the same bit one gets it. Thousands that have no cache begin in different places. For
/// a few blocks next to one another they look near by first; the search of all of the map takes the
/// words in pairs, so that one pass finds what lies across the border of two.
#pragma once

#include <cstdint>

#include "allocators/cambium/bit_runs.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// No block.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A handle of the map; copied into kernels. Searches look at its first `words` words.
template <class Policy>
class BlockMap {
    using Word = platform::AtomicRef<std::uint32_t>;

public:
    static constexpr std::uint32_t kWordBits = 32;

    BlockMap() = default;
    explicit BlockMap(std::uint32_t* map) : map_(map) {}

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
    /// Takes n blocks next to one another from word `at` of the map. `scatter`: requests with
    /// different ones look for them in different places first. @return the first one, or kNone
    HEAPWOOD_INLINE std::uint32_t take_at(std::uint32_t at, std::uint32_t n,
                                          std::uint32_t scatter) const {
        return n <= kWordBits ? take_seen(at, word(at).load_relaxed(), n, scatter) : kNone;
    }

protected:
    /// Takes n blocks, n <= kWordBits, of one word, from word `at` on, circularly. @param at
    /// afterwards the word where it found them. @return the first one, or kNone
    HEAPWOOD_FN std::uint32_t take_in_words(std::uint32_t n, std::uint32_t& at,
                                            std::uint32_t scatter, std::uint32_t words) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t looked = 0; looked < words;) {
            std::uint32_t seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                const std::uint32_t w = at + i < words ? at + i : at + i - words;
                seen[i] = i < words ? word(w).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                if (seen[i] == 0) continue;
                const std::uint32_t w = at + i < words ? at + i : at + i - words;
                const std::uint32_t first = take_of(w, seen[i], n, scatter);
                if (first != kNone) {
                    at = w;
                    return first;
                }
            }
            looked += kBatch;
            at += kBatch;
            at = at < words ? at : at % words;
        }
        return kNone;
    }
    /// Takes 2 to kWordBits blocks of one word, or of two next to one another unless it is to be
    /// quick, in one pass: many begin in different places at the same time.
    HEAPWOOD_NOINLINE std::uint32_t take_of_pairs(std::uint32_t n, std::uint32_t& at,
                                                  std::uint32_t scatter, bool is_quick,
                                                  std::uint32_t words) const {
        const std::uint32_t most = is_quick && Policy::kNear < words ? Policy::kNear : words;
        at -= at % kPairs;  // so that it comes by all of them
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t looked = 0; looked < most; looked += kPairs) {
            std::uint32_t seen[kPairs + 1];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i <= kPairs; ++i) {
                seen[i] = at + i < words ? word(at + i).load_relaxed() : 0;
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
            at = at + kPairs < words ? at + kPairs : 0;
        }
        return kNone;
    }
    /// As take(), of any words next to one another, the highest blocks of the pool first: requests
    /// for few blocks begin in its lower half.
    HEAPWOOD_NOINLINE std::uint32_t take_across(std::uint32_t n, std::uint32_t words) const {
        std::uint32_t run = 0;  // free blocks from the one that was looked at last
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t end = words; end > 0; end -= end < kAcross ? end : kAcross) {
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
    /// Whether a bit is set; may be old.
    HEAPWOOD_INLINE bool any_in_map(std::uint32_t words) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t at = 0; at < words; at += kBatch) {
            std::uint32_t seen = 0;
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                seen |= at + i < words ? word(at + i).load_relaxed() : 0;
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
    /// Words of which each is looked at together with the next one.
    static constexpr std::uint32_t kPairs = 6;

    HEAPWOOD_INLINE Word word(std::uint32_t i) const { return Word(map_[i]); }
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
};

}  // namespace heapwood::allocators::cambium
