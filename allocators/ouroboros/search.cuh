/// @file
/// What a request of an Ouroboros allocator does when the list has no chunk: it looks into all
/// shards.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/ouroboros/chunks.cuh"
#include "allocators/ouroboros/geometry.h"
#include "allocators/ouroboros/open_chunks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// A search of all shards' queues, open chunks and stray pages. Policy: policy.cuh.
template <class Policy>
class Search {
    using Parts = OpenChunks<Policy>;

public:
    /// A page of class k from any shard's queue or open chunk, or a stray one, or kNone.
    HEAPWOOD_NOINLINE static std::uint32_t take_anywhere(const Parts& open, Context context,
                                                         std::uint32_t k) {
        const auto& queues = open.queues();
        const platform::Lanes lanes(queues.filled(queues.control(k, 0)));
        std::uint64_t shards = lanes.rank() == 0 ? shards_with_pages(open, k) : 0;
        shards = lanes.of_leader(shards);
        HEAPWOOD_UNROLL(1)
        for (; shards != 0; shards &= shards - 1) {
            const std::uint32_t unit =
                take_from_shard(open, context, k, platform::floor_log2(shards & (0 - shards)));
            if (unit != kNone) return unit;
        }
        return kNone;
    }

private:
    /// Bit i tells whether shard i may have a page of class k.
    HEAPWOOD_NOINLINE static std::uint64_t shards_with_pages(const Parts& open, std::uint32_t k) {
        static_assert(kMostShards <= 64);
        std::uint64_t shards = 0;
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t shard = 0; shard < open.geometry().shards; ++shard) {
            Control& c = open.queues().control(k, shard);
            const auto w = open.word(k, shard).load_relaxed();
            const bool stray = platform::AtomicRef<std::uint32_t>(c.strays).load_relaxed() !=
                               platform::AtomicRef<std::uint32_t>(c.searched).load_relaxed();
            shards |=
                std::uint64_t{open.queues().has_entries(k, shard) || open.is_chunk(w) || stray}
                << shard;
        }
        return shards;
    }
    HEAPWOOD_NOINLINE static std::uint32_t take_from_shard(const Parts& open, Context context,
                                                           std::uint32_t k, std::uint32_t shard) {
        std::uint32_t unit = kNone;
        if constexpr (Policy::kQueuesChunks) {
            unit = open.take_from_queue(context, k, shard);
            if (unit != kNone) {
                open.stock().file(context, open.geometry().chunk_of(unit), k);
                return unit;
            }
            const auto w = open.word(k, shard).load_relaxed();
            if (open.is_chunk(w)) {
                const std::uint32_t chunk = open.chunk_of(w);
                if (State(open.chunks().state(chunk).load_relaxed()).free() > 0) {
                    unit = open.stock().take_page(context, chunk, k);
                }
            }
        } else {
            unit = open.queues().take_entry(context, k, shard);
            if (unit != kNone) return unit;
            unit = open.take_opened(context, k, shard, open.word(k, shard).load_relaxed());
        }
        return unit != kNone ? unit : take_stray(open, context, k, shard);
    }
    /// A stray page of a shard. A search in vain is not repeated until there is another stray.
    HEAPWOOD_INLINE static std::uint32_t take_stray(const Parts& open, const Context& context,
                                                    std::uint32_t k, std::uint32_t shard) {
        Control& c = open.queues().control(k, shard);
        const platform::AtomicRef<std::uint32_t> searched(c.searched);
        const std::uint32_t strays = platform::AtomicRef<std::uint32_t>(c.strays).load_acquire();
        if (strays == searched.load_relaxed()) return kNone;
        const std::uint32_t begin = shard << open.geometry().shard_shift;
        const std::uint32_t end = begin + (1U << open.geometry().shard_shift);
        const std::uint32_t unit = open.stock().take_stray(
            context, k, begin, end < open.geometry().chunks ? end : open.geometry().chunks);
        if (unit == kNone) searched.store_relaxed(strays);
        return unit;
    }
};

}  // namespace heapwood::allocators::ouroboros
