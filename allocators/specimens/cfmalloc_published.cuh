/// @file
/// CFMalloc as published: a specimen, which goes wrong. specimens/published.cuh says how.
///
/// Structure: as CMalloc as published, but flag and next share a 4-byte header. Parameters
/// (10^6 steps, splitting from twice the size asked for) are the papers'. For programs use
/// CFMalloc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/specimens/published.cuh"

namespace heapwood::allocators {

/// What makes a published circular allocator CFMalloc.
struct CFMallocPublishedPolicy : circular::PublishedPolicy {
    /// One word: bit 31 for used, next below it.
    struct Header {
        static constexpr std::uint32_t kBytes = 4;
        static constexpr std::uint64_t kMostPool = std::uint64_t{1} << 31;

        template <class Policy>
        HEAPWOOD_INLINE static bool take(std::uint32_t* h, std::uint32_t& next) {
            // Marks whatever is there: also what is used already, and payload.
            const std::uint32_t old = Word(*h).or_acq_rel(kUsed);
            next = old & ~kUsed;
            return (old & kUsed) == 0;
        }
        HEAPWOOD_INLINE static void unmark(std::uint32_t* h, std::uint32_t next) {
            Word(*h).store_release(next);
        }
        HEAPWOOD_INLINE static std::uint32_t next(std::uint32_t* h) {
            return Word(*h).load_acquire() & ~kUsed;
        }
        HEAPWOOD_INLINE static void set_next(std::uint32_t* h, std::uint32_t next) {
            Word(*h).store_release(kUsed | next);
        }
        HEAPWOOD_INLINE static void give(std::uint32_t* h, std::uint32_t next) {
            Word(*h).store_release(next);
        }
        static std::array<std::uint32_t, 1> encode(circular::PublishedChunk chunk) {
            return {(chunk.used ? kUsed : 0) | chunk.next};
        }
        static std::optional<circular::PublishedChunk> decode(
            const std::array<std::uint32_t, 1>& words) {
            return circular::PublishedChunk{(words[0] & kUsed) != 0, words[0] & ~kUsed};
        }

    private:
        using Word = platform::AtomicRef<std::uint32_t>;
        static constexpr std::uint32_t kUsed = std::uint32_t{1} << 31;
    };

    static constexpr Traits traits() {
        return {.name = "cfmalloc-published",
                .title = "CFMalloc as published",
                .source = "Vinkler & Havran 2014, algorithm 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = Header::kBytes,
                .smallest_pool = 4096,
                .sound = false,
                .published_registers = {14, 16}};
    }
};

using CFMallocPublished = circular::PublishedMalloc<CFMallocPublishedPolicy>;

static_assert(Allocator<CFMallocPublished>);

}  // namespace heapwood::allocators
