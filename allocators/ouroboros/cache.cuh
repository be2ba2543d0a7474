/// @file
/// The last few pages of each class that a caller has freed, in the cache that it lends
/// (Context::cache): a page that is asked for again soon need not go through a queue.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// The last four pages of each of the smallest classes: the two newer ones at hand, the two older
/// ones in reserve. A pair is a word, {older, newer}: of each page the first unit plus 1, or 0. All
/// operations are exchanges of a whole word. Each is a release and an acquire, among the threads of
/// a block: what was done to a page passes on to the next one who takes it.
class PageCache {
public:
    /// Classes that have pages here.
    static constexpr std::uint32_t kClasses = 7;
    /// Pages of each class.
    static constexpr std::uint32_t kPages = 4;

    HEAPWOOD_INLINE explicit PageCache(CallerCache& cache) : words_(cache.words) {}

    /// A page of class k, or kNone.
    HEAPWOOD_INLINE std::uint32_t take(std::uint32_t k) const {
        const std::uint32_t unit = take_newer(at_hand(k));
        return unit == kNone ? take_newer(reserve(k)) : unit;
    }
    /// Keeps a page. @return the one that had to leave instead, or kNone.
    HEAPWOOD_INLINE std::uint32_t put(std::uint32_t k, std::uint32_t unit) const {
        const std::uint32_t third = push(at_hand(k), unit);
        return third == kNone ? kNone : push(reserve(k), third);
    }

    /// Calls visit(k, unit) for all pages that are kept; they leave.
    template <class Visitor>
    HEAPWOOD_INLINE void empty(Visitor&& visit) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t k = 0; k < kClasses; ++k) {
            HEAPWOOD_UNROLL(1)
            for (std::uint32_t unit = take(k); unit != kNone; unit = take(k)) visit(k, unit);
        }
    }

private:
    using Word = platform::AtomicRef<std::uint64_t, platform::Scope::block>;

    HEAPWOOD_INLINE Word at_hand(std::uint32_t k) const { return Word(words_[k]); }
    HEAPWOOD_INLINE Word reserve(std::uint32_t k) const { return Word(words_[kClasses + k]); }
    HEAPWOOD_INLINE static std::uint32_t take_newer(Word word) {
        std::uint64_t w = word.load_relaxed();
        HEAPWOOD_UNROLL(1)
        while (w != 0) {
            if (word.cas_acq_rel(w, w >> 32)) return static_cast<std::uint32_t>(w) - 1;
        }
        return kNone;
    }
    /// @return the older page, which had to leave, or kNone.
    HEAPWOOD_INLINE static std::uint32_t push(Word word, std::uint32_t unit) {
        std::uint64_t w = word.load_relaxed();
        HEAPWOOD_UNROLL(1)
        while (!word.cas_acq_rel(w, (w << 32) | (unit + 1ULL))) {
        }
        return static_cast<std::uint32_t>(w >> 32) - 1;
    }

    std::uint64_t* words_;
};

static_assert(sizeof(CallerCache::words) >= 2 * PageCache::kClasses * sizeof(std::uint64_t));

}  // namespace heapwood::allocators::ouroboros
