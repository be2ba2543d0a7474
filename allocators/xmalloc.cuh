/// @file
/// XMalloc (Huang, Rodrigues, Jones, Buck & Hwu, "XMalloc: a scalable lock-free dynamic memory
/// allocator for many-core machines", CIT 2010; the same, "Scalable SIMD-parallel memory allocation
/// for many-core machines", The Journal of Supercomputing 2013).
///
/// **Structure.** Requests of up to 8 KiB get a basic block of 512 bytes, or 1, 2, 4, 8 KiB. Free
/// basic blocks wait in lock-free queues, several for each size, from which a request takes the
/// first one, and to which a free returns it. A thread that finds a queue empty takes a superblock
/// of 16 blocks from the memory below (2010), keeps one and puts the others into the queue; or
/// takes one block (2013: the queues are buffers in front of another allocator; --superblocks off).
/// Larger requests go to the memory below. xmalloc/blocks.cuh and xmalloc/fifo.cuh have the
/// algorithm, and why it is sound.
///
/// **Parameters**, as published: blocks of 2^9 to 2^13 bytes, queues of 2^8, superblocks of 16.
/// So a request of 16 bytes takes 512, and of a pool 3 % can be handed out in pieces of 16 bytes:
/// the original has no smaller blocks either, and makes up for it by coalescing, that is, by
/// dividing a block among the lanes of a warp that ask at the same time (see below).
///
/// **Against the original.**
/// - The memory below is a circular list (circular/ring.cuh), of which the blocks of a superblock
///   are blocks in their own right. So a block that finds its queue full returns to the list by
///   itself, and when the pool is full the queues are emptied into it: the whole pool is one pool.
///   In the original, superblocks are never returned.
/// - No headers: the size is passed to free, and tells the queue. So a block of 512 bytes has 512,
///   at a multiple of 16, instead of 504 at one of 8.
/// - A queue for each warp, at most 2048; in small pools for a few (published: 16 for all; in the
///   sources 4, chosen at random). Warps that share one lose most of their compare-and-swaps to one
///   another. Two neighbours' are looked into before a superblock is taken.
/// - A queue's slot holds its lap beside the value, and every change of it is one compare-and-swap;
///   the original copies the former tail into its slot, without a fence before the tail moves on.
/// - Thousands who find their queues empty at the same time do not take a superblock each: one
///   does, and the others wait for it, for a bounded time.
/// - In small pools blocks and queues are smaller: the smallest block has at most an 8192nd of the
///   pool, at least 16 bytes; the queues hold a quarter of the pool at most, for which those of
///   larger blocks are shorter, and then there are fewer. A superblock has no more blocks than its
///   queue has room for, nor more than a share of the list.
/// - Callers that lend a cache keep the last two blocks that they freed of each of the smaller
///   sizes; all callers together at most an 8th of the pool.
/// - The lanes of a warp do not share requests here, for they call one by one; Coalescing
///   (adaptors/), in front of any allocator, lets them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <unordered_set>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/fallback.cuh"
#include "allocators/parts/kept_blocks.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/xmalloc/blocks.cuh"
#include "allocators/xmalloc/fifo.cuh"

namespace heapwood::allocators {

/// XMalloc's constants, and those of the list below.
struct XMallocPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    static constexpr std::uint32_t kSmallestShare = 8;  // in blocks of the largest size
    static constexpr std::uint32_t kSmallestStretch = 1;
    /// Nothing is lost at the end of a chunk, for granules are large.
    static constexpr std::uint32_t kMaxFragmentation = 1;

    static constexpr std::uint32_t kSmallestBlockShift = 9;
    static constexpr std::uint32_t kSlotsShift = 8;
    static constexpr std::uint32_t kInSuperblock = 16;
    static constexpr std::uint32_t kMostQueues = 2048;
    /// Queues of others that a request looks into.
    static constexpr std::uint32_t kOthers = 2;
    /// Pauses before a request takes a block for itself while another takes a superblock.
    static constexpr std::uint32_t kPatience = 32;
    /// How many requests do without a superblock, plus 1, after one has found that there is none.
    static constexpr std::uint32_t kDiscouraged = 65;
    /// At most one in so many bytes of the pool is kept by callers.
    static constexpr std::uint64_t kKeptPart = 8;

    static constexpr Traits traits() {
        return {.name = "xmalloc",
                .title = "XMalloc",
                .source = "Huang et al. 2010, 2013",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 8,  // list header and predecessor, per granule
                .smallest_pool = 16384,
                .slow_crowds = true};
    }
};

/// The host object: owns the pool and the queues.
template <class Policy>
class BasicXMalloc {
    using FifoEnds = xmalloc::FifoEnds;
    using FifoSlot = xmalloc::FifoSlot;

public:
    using Ref = xmalloc::Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }
    static constexpr std::span<const Option> options() { return kOptions; }

    explicit BasicXMalloc(const PoolConfig& config)
        : smallest_shift_(block_shift(config)),
          pool_(config, smallest_shift_,
                std::uint64_t{1} << (smallest_shift_ + xmalloc::kLevels - 1)),
          queues_(std::bit_floor(std::clamp(std::max(config.multiprocessors, config.callers), 1U,
                                            Policy::kMostQueues))) {
        shape_queues();
        std::uint32_t slots = 0;
        for (std::uint32_t i = 0; i < xmalloc::kLevels; ++i) {
            xmalloc::Level& level = levels_[i];
            level.log2_slots = log2_slots(i);
            level.first_slot = slots;
            slots += queues_ << level.log2_slots;
            // As many as there is room for.
            const std::uint64_t most = pool_.ref().list().longest_run() >> (smallest_shift_ + i);
            level.in_superblock = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                std::min(most, (std::uint64_t{1} << level.log2_slots) + 1), 1,
                chosen(config.choices, kSuperblocks) == 0 ? Policy::kInSuperblock : 1));
        }
        kept_levels_ = xmalloc::Kept::kinds_to_keep(
            xmalloc::kLevels, config.callers, pool_.list_bytes() / Policy::kKeptPart,
            [this](std::uint32_t level) { return std::uint64_t{1} << (smallest_shift_ + level); });
        ends_ = Buffer(config.place, queue_count() * sizeof(FifoEnds));
        slots_ = Buffer(config.place, slots * sizeof(FifoSlot));
        ends_.zero();
        slots_.zero();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.ref();
        r.memory_ = r.pool_.list().address(0);
        r.ends_ = ends_.template as<FifoEnds>();
        r.slots_ = slots_.template as<FifoSlot>();
        std::copy(std::begin(levels_), std::end(levels_), r.levels_);
        r.queue_mask_ = queues_ - 1;
        r.smallest_shift_ = smallest_shift_;
        r.largest_ = 1U << (smallest_shift_ + xmalloc::kLevels - 1);
        r.kept_levels_ = kept_levels_;
        return r;
    }
    void reset() {
        pool_.reset();
        ends_.zero();
        slots_.zero();
    }
    std::uint64_t pool_bytes() const { return pool_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return pool_.overhead_bytes() + ends_.size() + slots_.size();
    }

    /// Basic blocks in queues are free regions. Nothing with CUDA's malloc as the fallback.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<FifoSlot> slots(slots_.size() / sizeof(FifoSlot));
        slots_.read(0, slots.data(), slots_.size());
        std::unordered_set<std::uint64_t> queued;
        for (const FifoSlot slot : slots) {
            const std::uint64_t number = xmalloc::value_in(slot);
            if (number != 0) queued.insert((number - 1) << smallest_shift_);
        }
        pool_.for_each_region([&](Region r) {
            r.allocated = r.allocated && !queued.contains(r.offset);
            visit(r);
        });
    }

private:
    static constexpr Option kSuperblocks{
        .key = "superblocks",
        .flag = "--superblocks",
        .values = "on|off",
        .help =
            "xmalloc takes blocks sixteen at a time (on: as published 2010) or one by one "
            "(off: 2013)"};
    static constexpr Option kOptions[2]{kFallback, kSuperblocks};
    /// Smallest blocks that a pool has.
    static constexpr std::uint64_t kFewestBlocks = 8192;
    /// At most one in so many bytes of the pool waits in queues.
    static constexpr std::uint64_t kQueuedPart = 4;
    /// Rather than fewer slots for the smallest blocks there are fewer queues: where there are more
    /// than kManyQueues, and else.
    static constexpr std::uint32_t kManySlotsShift = 7;
    static constexpr std::uint32_t kFewSlotsShift = 5;
    static constexpr std::uint32_t kManyQueues = 128;

    static std::uint32_t block_shift(const PoolConfig& config) {
        const std::uint64_t bytes = FallbackPool<Policy>::list_bytes(config);
        return unit_shift(bytes, circular::kSmallestShift, Policy::kSmallestBlockShift,
                          kFewestBlocks);
    }
    /// In a small pool larger blocks have shorter queues, each level the same bytes.
    std::uint32_t log2_slots(std::uint32_t level) const {
        return std::max(largest_log2_ - std::min(largest_log2_, shorter_ ? level : 0), 1U);
    }
    std::uint32_t fewest_slots_log2() const {
        return queues_ > kManyQueues ? kManySlotsShift : kFewSlotsShift;
    }
    /// Makes queues shorter, and then fewer, until they hold no more than they may.
    void shape_queues() {
        const auto bytes = [this] {
            std::uint64_t sum = 0;
            for (std::uint32_t i = 0; i < xmalloc::kLevels; ++i) {
                sum += std::uint64_t{queues_} << (log2_slots(i) + smallest_shift_ + i);
            }
            return sum;
        };
        while (bytes() > pool_.list_bytes() / kQueuedPart) {
            if (!shorter_) {
                shorter_ = true;
            } else if (largest_log2_ > fewest_slots_log2() || queues_ == 1) {
                if (largest_log2_ == 1) return;
                --largest_log2_;
            } else {
                queues_ /= 2;
            }
        }
    }
    std::uint64_t queue_count() const { return std::uint64_t{xmalloc::kLevels} * queues_; }

    std::uint32_t smallest_shift_;
    FallbackPool<Policy> pool_;
    std::uint32_t queues_;                              // of a level
    std::uint32_t largest_log2_ = Policy::kSlotsShift;  // of the smallest blocks' queues' slots
    bool shorter_ = false;
    xmalloc::Level levels_[xmalloc::kLevels];
    std::uint32_t kept_levels_;
    Buffer ends_;
    Buffer slots_;
};

using XMalloc = BasicXMalloc<XMallocPolicy>;

static_assert(Allocator<XMalloc>);

}  // namespace heapwood::allocators
