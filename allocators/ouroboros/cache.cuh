/// @file
/// The last few pages that a caller has freed, in the cache that it lends (Context::cache): a page
/// that is asked for again soon need not go through a queue.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// A page and its class in one word: the first unit, doubled, plus 2^class. Pages of class k start
/// at multiples of 2^k units, so that the lowest one bit tells the class.
class CachedPage {
public:
    /// Whether a page can be kept: in pools of more than 32 GiB not all can.
    HEAPWOOD_INLINE static bool fits(std::uint32_t unit) { return unit >> 31 == 0; }

    HEAPWOOD_INLINE CachedPage(std::uint32_t k, std::uint32_t unit)
        : word_((unit << 1) | (1U << k)) {}
    HEAPWOOD_INLINE explicit CachedPage(std::uint32_t word) : word_(word) {}

    HEAPWOOD_INLINE std::uint32_t word() const { return word_; }
    HEAPWOOD_INLINE bool is_page() const { return word_ != 0; }
    HEAPWOOD_INLINE bool has_class(std::uint32_t k) const {
        return (word_ & ((2U << k) - 1)) == 1U << k;
    }
    HEAPWOOD_INLINE std::uint32_t page_class() const {
        return platform::floor_log2(word_ & (0U - word_));
    }
    HEAPWOOD_INLINE std::uint32_t unit() const { return (word_ & (word_ - 1)) >> 1; }

private:
    std::uint32_t word_;
};

/// Three pages: two in the cache's `open`, {older, newer}, one in its `spare`. All operations are
/// exchanges of a whole word. Each is a release and an acquire, among the threads of a block: what
/// was done to a page passes on to the next one who takes it.
class PageCache {
public:
    HEAPWOOD_INLINE explicit PageCache(CallerCache& cache)
        : pair_(cache.open), spare_(cache.spare) {}

    /// A page of class k, or kNone.
    HEAPWOOD_INLINE std::uint32_t take(std::uint32_t k) const {
        HEAPWOOD_UNROLL(1)
        for (std::uint64_t w = pair_.load_relaxed();;) {
            const CachedPage newer(static_cast<std::uint32_t>(w));
            const CachedPage older(static_cast<std::uint32_t>(w >> 32));
            if (newer.has_class(k)) {
                if (pair_.cas_acq_rel(w, w >> 32)) return newer.unit();
            } else if (older.has_class(k)) {
                if (pair_.cas_acq_rel(w, newer.word())) return older.unit();
            } else {
                break;
            }
        }
        std::uint32_t w = spare_.load_relaxed();
        const CachedPage last(w);
        return last.has_class(k) && spare_.cas_acq_rel(w, 0) ? last.unit() : kNone;
    }
    /// Keeps a page. @return the one that had to leave instead, if any.
    HEAPWOOD_INLINE CachedPage put(CachedPage page) const {
        std::uint64_t w = pair_.load_relaxed();
        HEAPWOOD_UNROLL(1)
        while (!pair_.cas_acq_rel(w, (w << 32) | page.word())) {
        }
        const auto older = static_cast<std::uint32_t>(w >> 32);
        return CachedPage(older == 0 ? 0 : spare_.exchange_acq_rel(older));
    }
    /// Takes out any page, if there is one.
    HEAPWOOD_INLINE CachedPage take_any() const {
        std::uint64_t w = pair_.load_relaxed();
        while (w != 0) {
            if (pair_.cas_acq_rel(w, w >> 32)) return CachedPage(static_cast<std::uint32_t>(w));
        }
        return CachedPage(spare_.exchange_acq_rel(0));
    }

private:
    template <class T>
    using Ref = platform::AtomicRef<T, platform::Scope::block>;

    Ref<std::uint64_t> pair_;
    Ref<std::uint32_t> spare_;
};

}  // namespace heapwood::allocators::ouroboros
