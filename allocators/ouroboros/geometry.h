/// @file
/// How the Ouroboros allocators see a pool: chunks, pages and shards.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// Log2 of a chunk's bytes as published, and what it shrinks to in a pool that would have fewer
/// chunks than kFewestChunks.
inline constexpr std::uint32_t kChunkShift = 13;
inline constexpr std::uint32_t kSmallestChunkShift = 9;
inline constexpr std::uint32_t kFewestChunks = 512;

/// Log2 of the smallest page's bytes as published. Doubled in pools of more than kMostUnits such
/// pages, that is, from 64 GiB on.
inline constexpr std::uint32_t kUnitShift = 4;
inline constexpr std::uint64_t kMostUnits = 0xfffffff0U;

/// Into how many shards a pool is divided, at most, and how many chunks each has, at least.
inline constexpr std::uint32_t kMostShards = 64;
inline constexpr std::uint32_t kFewestChunksOfShard = 128;

/// Chunks are opened together until they have 2^kFewestPagesShift pages, but at most
/// 2^kMostStretchShift chunks, and a 128th of a shard.
inline constexpr std::uint32_t kFewestPagesShift = 5;
inline constexpr std::uint32_t kMostStretchShift = 3;

/// A pool is `chunks` chunks of equal size. One in use by class k is divided into pages of 2^k
/// units; a unit is the smallest page. Neighbouring chunks form a shard, which has a queue of its
/// own for every class: the pages of a chunk, or the chunk, always go to the queue of its shard,
/// which therefore needs no more entries than the shard has pages, or chunks.
struct Geometry {
    std::uint32_t chunks;
    std::uint32_t chunk_shift;  ///< log2 of a chunk's bytes
    std::uint32_t unit_shift;   ///< log2 of a unit's bytes
    std::uint32_t classes;
    std::uint32_t shard_shift;  ///< log2 of a shard's chunks; the last one may have fewer
    std::uint32_t shards;
    std::uint32_t stretch_shift;  ///< log2 of the most chunks that are opened at once
    std::uint32_t home;           ///< about where multiprocessor 0 gets its chunks from the list,
    std::uint32_t home_stride;    ///< and how many chunks further on the next one

    /// @param bytes of the pool, at least a chunk
    /// @param fewest_pages that a chunk of any class has: 1 or 2
    static Geometry of(const PoolConfig& config, std::uint32_t fewest_pages) {
        Geometry g{};
        g.chunk_shift = chunk_shift_of(config.bytes);
        g.chunks = static_cast<std::uint32_t>(config.bytes >> g.chunk_shift);
        g.unit_shift = kUnitShift;
        while (config.bytes >> g.unit_shift > kMostUnits) ++g.unit_shift;
        g.classes = g.chunk_shift - g.unit_shift + (fewest_pages == 1 ? 1 : 0);
        const std::uint32_t shards =
            std::clamp(g.chunks / kFewestChunksOfShard, 1U,
                       std::clamp(config.multiprocessors, 1U, kMostShards));
        while ((std::uint64_t{shards} << g.shard_shift) < g.chunks) ++g.shard_shift;
        g.stretch_shift = std::clamp(g.shard_shift, 7U, 7U + kMostStretchShift) - 7U;
        g.shards = platform::ceil_div(g.chunks, 1U << g.shard_shift);
        return g;
    }
    static std::uint32_t chunk_shift_of(std::uint64_t pool_bytes) {
        return allocators::unit_shift(pool_bytes, kSmallestChunkShift, kChunkShift, kFewestChunks);
    }

    HEAPWOOD_INLINE std::uint32_t units_shift() const { return chunk_shift - unit_shift; }
    /// Log2 of the pages of a chunk of class k.
    HEAPWOOD_INLINE std::uint32_t pages_shift(std::uint32_t k) const { return units_shift() - k; }
    HEAPWOOD_INLINE std::uint32_t pages(std::uint32_t k) const { return 1U << pages_shift(k); }
    /// Log2 of the chunks that class k opens together if it can: a stretch.
    HEAPWOOD_INLINE std::uint32_t stretch_of(std::uint32_t k) const {
        const std::uint32_t few =
            pages_shift(k) < kFewestPagesShift ? kFewestPagesShift - pages_shift(k) : 0;
        return few < stretch_shift ? few : stretch_shift;
    }
    /// Pages of a stretch of class k.
    HEAPWOOD_INLINE std::uint32_t stretch_pages(std::uint32_t k) const {
        return 1U << (pages_shift(k) + stretch_of(k));
    }
    /// The first unit of a page of the stretch that ends with chunk `last`.
    HEAPWOOD_INLINE std::uint32_t unit_of_stretch(std::uint32_t last, std::uint32_t page,
                                                  std::uint32_t k) const {
        return unit_of(last + 1 - (1U << stretch_of(k)), page, k);
    }
    HEAPWOOD_INLINE std::uint32_t chunk_of(std::uint32_t unit) const {
        return unit >> units_shift();
    }
    HEAPWOOD_INLINE std::uint32_t page_of(std::uint32_t unit, std::uint32_t k) const {
        return (unit & ((1U << units_shift()) - 1)) >> k;
    }
    HEAPWOOD_INLINE std::uint32_t unit_of(std::uint32_t chunk, std::uint32_t page,
                                          std::uint32_t k) const {
        return (chunk << units_shift()) + (page << k);
    }
    HEAPWOOD_INLINE std::uint32_t shard_of(std::uint32_t chunk) const {
        return chunk >> shard_shift;
    }
    /// The shard whose queues a multiprocessor asks first.
    HEAPWOOD_INLINE std::uint32_t home_of(std::uint32_t multiprocessor) const {
        const std::uint32_t shard = (home + multiprocessor * home_stride) >> shard_shift;
        return shard < shards ? shard : shards - 1;
    }
    /// Bytes of the largest page.
    HEAPWOOD_INLINE std::uint32_t largest_page() const { return 1U << (unit_shift + classes - 1); }
    /// The class whose pages hold that many bytes; 0 < bytes <= largest_page().
    HEAPWOOD_INLINE std::uint32_t class_of(std::uint32_t bytes) const {
        const std::uint32_t unit_mask = (1U << unit_shift) - 1;
        return platform::floor_log2((bytes - 1) | unit_mask) + 1 - unit_shift;
    }
    /// Words of 32 bits that have a bit for each unit of a chunk.
    HEAPWOOD_INLINE std::uint32_t mask_words() const {
        return units_shift() <= 5 ? 1 : 1U << (units_shift() - 5);
    }
    /// The number of the queue of a class and a shard.
    HEAPWOOD_INLINE std::uint32_t queue(std::uint32_t k, std::uint32_t shard) const {
        return shard * classes + k;
    }
};

/// The words of a queue that threads meet at, and the chunk that is open beside it; in the second
/// half those that are seldom needed. Zero at first, but for what the queue sets.
struct alignas(64) Control {
    std::uint32_t filled;  ///< entries promised to no thread; signed, may be below 0
    std::uint32_t room;    ///< places for entries, likewise
    std::uint64_t front;   ///< place of the next entry to be taken
    std::uint64_t back;    ///< place of the next entry to come
    std::uint64_t open;    ///< see open_chunks.cuh
    std::uint64_t head;    ///< what ListMap needs
    std::uint64_t tail;
    std::uint64_t unused;
    std::uint32_t next_part;  ///< what virtual queues need
    std::uint32_t lock;
    std::uint32_t extending;  ///< 1 while a thread makes room for more entries
    std::uint32_t strays;     ///< how often a page or chunk found no room in the queue
    std::uint32_t searched;   ///< `strays` when a search of all chunks last found none
};

}  // namespace heapwood::allocators::ouroboros
