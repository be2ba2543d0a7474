/// @file
/// What the words of FlatterScatter's tables say: those of pages, and those of access blocks.
#pragma once

#include <cstdint>

#include "allocators/parts/moves.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::flatter {

/// The word of a page: kind << kKindShift, and a count of those that use the page. An idle page, of
/// count 0, is of no size, whatever its kind says.
inline constexpr std::uint32_t kKindShift = 24;
inline constexpr std::uint32_t kCount = (1U << kKindShift) - 1;

/// Kinds: the size of a page's chunks, by its log2; or the page is part of a run, the first page of
/// it or another one. The table starts as zeroes, which is the kind of no request.
inline constexpr std::uint32_t kSmallestChunk = 4;
inline constexpr std::uint32_t kLargestChunk = 17;
inline constexpr std::uint32_t kRunHead = 30;
inline constexpr std::uint32_t kRunRest = 31;

HEAPWOOD_INLINE constexpr std::uint32_t kind_in(std::uint32_t word) {
    return word >> kKindShift;
}
HEAPWOOD_INLINE constexpr bool is_idle(std::uint32_t word) {
    return (word & kCount) == 0;
}

/// Log2 of the bytes of the chunk for a request of `bytes`, which is not 0: at most twice as large,
/// or 16 bytes.
HEAPWOOD_INLINE std::uint32_t chunk_for(std::uint32_t bytes) {
    constexpr std::uint32_t kLeast = (1U << kSmallestChunk) - 1;
    return platform::floor_log2((bytes - 1) | kLeast) + 1;
}

/// Log2 of the bytes for which a word of a bit field has bits: one for each smallest chunk.
inline constexpr std::uint32_t kWordShift = kSmallestChunk + 5;

/// {page, count}: requests that hold it have entered the page, and the count was that before.
using Entry = std::uint64_t;
/// No entry; and none, because there is none to be had.
inline constexpr Entry kNoEntry = ~Entry{0};
inline constexpr Entry kRefused = kNoEntry - 1;

HEAPWOOD_INLINE constexpr Entry make_entry(std::uint32_t page, std::uint32_t word) {
    return Entry{page} << 32 | (word & kCount);
}
HEAPWOOD_INLINE constexpr std::uint32_t page_of(Entry e) {
    return static_cast<std::uint32_t>(e >> 32);
}
HEAPWOOD_INLINE constexpr std::uint32_t count_of(Entry e) {
    return static_cast<std::uint32_t>(e);
}

/// What an access block, pages next to one another, tells those that would search it. No count
/// wraps: 64 bits last for centuries.
struct alignas(128) Block {
    static constexpr std::uint32_t kSizes = kLargestChunk - kSmallestChunk + 1;

    std::uint64_t idled;         ///< how often one of its pages has become idle
    std::uint64_t made[kSizes];  ///< how often one with chunks of a size has got room otherwise
    std::uint64_t none[kSizes];  ///< idled + made + 1 at a search that found no room; 0: never yet
};

/// Pages of a pool at most.
inline constexpr std::uint32_t kLengthBits = 24;
inline constexpr std::uint32_t kMostPages = (1U << kLengthBits) - 1;

/// What a failed search for a run of `length` pages, from 1 to kMostPages, leaves: how often pages
/// had become idle, modulo 2^40, and kMostPages + 1 - length, which is not 0. So of two words with
/// the same count the larger one says more, and 0 says nothing. A word could be taken for a new one
/// after 10^12 times, until the next time.
HEAPWOOD_INLINE constexpr std::uint64_t no_run_of(std::uint32_t length, std::uint64_t idled) {
    return idled << kLengthBits | (kMostPages + 1 - length);
}
/// Whether that word says that there is no run as another one would.
HEAPWOOD_INLINE constexpr bool says(std::uint64_t no_run, std::uint64_t other) {
    return no_run >> kLengthBits == other >> kLengthBits && no_run >= other;
}

/// What all callers share, each word by itself in the L2 cache.
struct State {
    alignas(32) Moves::Word claims;      ///< of runs, which may hide pages and show them again
    alignas(32) std::uint64_t no_run;    ///< of a failed search: no_run_of(); 0 at first
    alignas(32) std::uint32_t runs_end;  ///< runs are looked for below this page first
};

}  // namespace heapwood::allocators::flatter
