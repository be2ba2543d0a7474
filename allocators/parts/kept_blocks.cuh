/// @file
/// The last few blocks that a caller has freed, in the words that it lends (Context::cache): what
/// is asked for again soon need not go through the pool.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// Up to kEach blocks (2 or 4) of each of kMostKinds kinds. A block is a number other than 0.
///
/// A word of the cache is a pair {older, newer}. The first kMostKinds words are the pairs at hand;
/// with kEach = 4 as many words behind them are the pairs in reserve, which hold what had to leave
/// the pair at hand. Every operation exchanges a whole word, which is a release and an acquire
/// among the threads of a block: what was done to a block before it was kept happens before
/// anything that is done to it after it was taken.
template <std::uint32_t kMostKinds, std::uint32_t kEach>
class KeptBlocks {
    static_assert(kEach == 2 || kEach == 4);
    static_assert(kMostKinds * kEach / 2 <= CallerCache::kWords);

public:
    HEAPWOOD_INLINE explicit KeptBlocks(CallerCache& cache) : words_(cache.words) {}

    /// The newest block of that kind, which is kept no longer; 0: there is none.
    HEAPWOOD_INLINE std::uint32_t take(std::uint32_t kind) const {
        std::uint32_t block = take_newer(pair(kind));
        if constexpr (kEach == 4) {
            if (block == 0) block = take_newer(pair(kMostKinds + kind));
        }
        return block;
    }
    /// Keeps a block if there is room at hand. @return whether there was.
    HEAPWOOD_INLINE bool keep(std::uint32_t kind, std::uint32_t block) const {
        const Pair at_hand = pair(kind);
        for (std::uint64_t w = at_hand.load_relaxed(); w >> 32 == 0;) {
            if (at_hand.cas_acq_rel(w, w << 32 | block)) return true;
        }
        return false;
    }
    /// Keeps a block. @return the oldest block, which had to leave for it, or 0.
    HEAPWOOD_INLINE std::uint32_t put(std::uint32_t kind, std::uint32_t block) const {
        std::uint32_t out = push(pair(kind), block);
        if constexpr (kEach == 4) {
            if (out != 0) out = push(pair(kMostKinds + kind), out);
        }
        return out;
    }
    /// Calls visit(kind, block) for each block that is kept; they leave.
    template <class Visitor>
    HEAPWOOD_INLINE void empty(Visitor&& visit) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t kind = 0; kind < kMostKinds; ++kind) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t block = take(kind); block != 0; block = take(kind)) {
                visit(kind, block);
            }
        }
    }

    /// The number of kinds, from the first of `kinds` on, that each of `callers` may keep if all
    /// callers together shall keep at most `most` bytes. bytes_of(kind) is the size of a block, in
    /// bytes; it ascends.
    template <class BytesOf>
    static std::uint32_t kinds_to_keep(std::uint32_t kinds, std::uint32_t callers,
                                       std::uint64_t most, BytesOf&& bytes_of) {
        std::uint64_t bytes = 0;
        for (std::uint32_t kind = 0; kind < kinds && kind < kMostKinds; ++kind) {
            bytes += kEach * std::uint64_t{callers} * bytes_of(kind);
            if (bytes > most) return kind;
        }
        return kinds < kMostKinds ? kinds : kMostKinds;
    }

private:
    using Pair = platform::AtomicRef<std::uint64_t, platform::Scope::block>;

    HEAPWOOD_INLINE Pair pair(std::uint32_t i) const { return Pair(words_[i]); }
    HEAPWOOD_INLINE static std::uint32_t take_newer(Pair pair) {
        std::uint64_t w = pair.load_relaxed();
        HEAPWOOD_UNROLL(1)
        while (w != 0) {
            if (pair.cas_acq_rel(w, w >> 32)) return static_cast<std::uint32_t>(w);
        }
        return 0;
    }
    /// @return the older block, which had to leave, or 0.
    HEAPWOOD_INLINE static std::uint32_t push(Pair pair, std::uint32_t block) {
        std::uint64_t w = pair.load_relaxed();
        HEAPWOOD_UNROLL(1)
        while (!pair.cas_acq_rel(w, w << 32 | block)) {
        }
        return static_cast<std::uint32_t>(w >> 32);
    }

    std::uint64_t* words_;
};

}  // namespace heapwood::allocators
