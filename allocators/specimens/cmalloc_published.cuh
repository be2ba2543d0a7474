/// @file
/// CMalloc as published: a specimen, which goes wrong. specimens/published.cuh says how.
///
/// Structure: a ring of chunks in the pool, an 8-byte header {flag, next} in front of each payload,
/// one hint for all. Parameters (10^6 steps, splitting from twice the size asked for) are the
/// papers'. For programs use CMalloc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/specimens/published.cuh"

namespace heapwood::allocators {

/// What makes a published circular allocator CMalloc.
struct CMallocPublishedPolicy : circular::PublishedPolicy {
    /// Two words: the flag, 0 for free and 1 for used, and next.
    struct Header {
        static constexpr std::uint32_t kBytes = 8;
        static constexpr std::uint64_t kMostPool = std::uint64_t{1} << 32;

        template <class Policy>
        HEAPWOOD_INLINE static bool take(std::uint32_t* h, std::uint32_t& next) {
            std::uint32_t flag = kFree;
            const bool taken = Word(h[0]).cas_acquire(flag, kUsed);
            Policy::pause();
            next = Word(h[1]).load_acquire();
            return taken;
        }
        HEAPWOOD_INLINE static void unmark(std::uint32_t* h, std::uint32_t) {
            Word(h[0]).store_release(kFree);
        }
        HEAPWOOD_INLINE static std::uint32_t next(std::uint32_t* h) {
            return Word(h[1]).load_acquire();
        }
        HEAPWOOD_INLINE static void set_next(std::uint32_t* h, std::uint32_t next) {
            Word(h[1]).store_release(next);
        }
        HEAPWOOD_INLINE static void give(std::uint32_t* h, std::uint32_t next) {
            Word(h[1]).store_relaxed(next);
            Word(h[0]).store_release(kFree);
        }
        static std::array<std::uint32_t, 2> encode(circular::PublishedChunk chunk) {
            return {chunk.used ? kUsed : kFree, chunk.next};
        }
        static std::optional<circular::PublishedChunk> decode(
            const std::array<std::uint32_t, 2>& words) {
            if (words[0] > kUsed) return std::nullopt;
            return circular::PublishedChunk{words[0] == kUsed, words[1]};
        }

    private:
        using Word = platform::AtomicRef<std::uint32_t>;
        static constexpr std::uint32_t kFree = 0;
        static constexpr std::uint32_t kUsed = 1;
    };

    static constexpr Traits traits() {
        return {.name = "cmalloc-published",
                .title = "CMalloc as published",
                .source = "Vinkler & Havran 2014, algorithm 3",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = Header::kBytes,
                .smallest_pool = 4096,
                .sound = false,
                .published_registers = {18, 18}};
    }
};

using CMallocPublished = circular::PublishedMalloc<CMallocPublishedPolicy>;

static_assert(Allocator<CMallocPublished>);

}  // namespace heapwood::allocators
