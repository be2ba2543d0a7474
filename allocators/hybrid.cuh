/// @file
/// Hybrid: blocks for small requests in front of a circular list, Heapwood's own allocator.
///
/// Vinkler & Havran 2015 name a hybrid as future work: small requests and large ones want different
/// allocators. Here the pool is a circular list (circular/ring.cuh) whose granule is a block of up
/// to 32 KiB. A request of at most half a block is cut from an open block, front to
/// back; a larger one is a run of blocks from the list. A block counts its pieces, and returns to
/// the list when it is closed and the last of its pieces has been freed.
///
/// **Where open blocks are kept.** In the caller's cache (Context::cache), which on a GPU is shared
/// memory: then an allocation touches the pool's tables only when it opens a block. Callers without
/// a cache, and those for whose blocks the pool is too small, share a table of open blocks.
/// hybrid/blocks.cuh has the algorithm, and why it is sound.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/hybrid/blocks.cuh"
#include "allocators/hybrid/words.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/unit_shift.h"

namespace heapwood::allocators {

/// The host object: owns the pool, the blocks' counts and the open words that callers share.
class Hybrid {
    using List = hybrid::List;
    using Live = hybrid::Live;
    using Open = hybrid::Open;

public:
    using Ref = hybrid::Core;

    static constexpr Traits traits() { return hybrid::ListPolicy::traits(); }

    explicit Hybrid(const PoolConfig& config) : shift_(block_shift(config)), list_(config, shift_) {
        const std::uint64_t blocks = config.bytes >> shift_;
        live_ = Buffer(config.place, blocks * sizeof(Live));
        // Of the pool, callers have at most a third open to themselves and a third spare; an eighth
        // is open to all.
        cached_callers_ = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(config.callers, blocks / kBlocksPerCachedCaller));
        shared_count_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(config.callers, 1, std::max<std::uint64_t>(blocks / 8, 1))));
        shared_ = Buffer(config.place, (shared_count_ + 1) * hybrid::kSharedStride * sizeof(Open));
        live_.zero();
        shared_.zero();
    }

    Ref ref() const {
        Ref r;
        r.list_ = list_.ref();
        r.pool_ = r.list_.address(0);
        r.live_ = live_.as<Live>();
        r.shared_ = shared_.as<Open>();
        r.shared_mask_ = shared_count_ - 1;
        r.cached_callers_ = cached_callers_;
        r.shift_ = shift_;
        r.small_ = 1U << (shift_ - 1);
        return r;
    }
    void reset() {
        list_.reset();
        live_.zero();
        shared_.zero();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + live_.size() + shared_.size();
    }

    /// A block with pieces in use is one region; an open one without any is free.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Live> live(live_.size() / sizeof(Live));
        live_.read(0, live.data(), live_.size());
        std::vector<Open> shared(shared_.size() / sizeof(Open));
        shared_.read(0, shared.data(), shared_.size());
        for (std::size_t i = 0; i < shared.size(); i += hybrid::kSharedStride) {
            if (shared[i] != 0)
                live[hybrid::block_of_word(shared[i])] -=
                    hybrid::kOpen - hybrid::pieces_of(shared[i]);
        }
        std::vector<bool> idle(live.size());
        for (std::size_t i = 0; i < shared.size(); i += hybrid::kSharedStride) {
            if (shared[i] != 0) {
                idle[hybrid::block_of_word(shared[i])] =
                    live[hybrid::block_of_word(shared[i])] == 0;
            }
        }
        list_.for_each_region([&](Region r) {
            r.allocated = r.allocated && !idle[r.offset >> shift_];
            visit(r);
        });
    }

private:
    static constexpr std::uint32_t kLargestShift = 15;
    static constexpr std::uint32_t kSmallestShift = 9;
    /// Blocks of the pool for each that a caller may keep to itself.
    static constexpr std::uint64_t kBlocksPerCachedCaller = 3;

    /// 32 KiB, or less, so that a small pool has some hundred blocks, and some for every caller.
    static std::uint32_t block_shift(const PoolConfig& config) {
        const std::uint64_t blocks =
            std::max<std::uint64_t>(1024, config.callers * kBlocksPerCachedCaller);
        return unit_shift(config.bytes, kSmallestShift, kLargestShift, blocks);
    }

    std::uint32_t shift_;
    List list_;
    std::uint32_t shared_count_ = 1;
    std::uint32_t cached_callers_ = 0;
    Buffer live_;
    Buffer shared_;
};

static_assert(Allocator<Hybrid>);

}  // namespace heapwood::allocators
