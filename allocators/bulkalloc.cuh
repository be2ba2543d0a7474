/// @file
/// BulkAlloc: "Throughput-oriented GPU memory allocation" (Gelado & Garland 2019), from the paper's
/// facts: allocators that count before they search.
///
/// **Structure.** TBuddy (bulkalloc/buddies.cuh) divides the pool: a buddy system on a static
/// binary tree, with a bulk semaphore for each order. UAlloc (bulkalloc/bins.cuh) serves small
/// requests: blocks of powers of two of bytes in bins, which come in chunks from TBuddy, with a
/// bulk semaphore for each size and arena, that is, group of multiprocessors. A bulk semaphore
/// (bulkalloc/semaphore.cuh) counts what is free and what others are about to bring: a request gets
/// its unit by the count first, so its search is for one that is there. The three files have the
/// algorithms, and why they are sound.
///
/// **Progress.** Nobody waits for long: a wait for what another has promised ends after kPatience
/// pauses, and then the thread fetches a batch itself. A producer that fails takes its promise
/// back, and who waits thinks again. Before a request is refused it closes the bins that are idle,
/// merges all buddies, and asks the semaphores of all arenas. All loops are bounded but for those
/// of compare-and-swaps, the one that puts back half a pair (buddies.cuh), and rounds in which
/// other lanes of a group get their units first: each round of them means that another thread got
/// on.
///
/// **Parameters**, as published: blocks of up to 1 KiB in bins of 4 KiB, chunks of 128 bins. Larger
/// requests are TBuddy's.
///
/// **Against the original.**
/// - Its semaphores wait for ever if a producer is stalled; here a wait has a bound. They keep two
///   fields for what is expected and what is reserved; here their difference.
/// - Its counts have 20 bits, which limits a pool to 4 GiB; here they have 36.
/// - Its bins have headers of 128 bytes in the pool; here all state lies beside the pool. A bin is
///   used in full, and no user overwrites a header.
/// - Its bins are in lists that are read under RCU; here they are numbers in trees of bits, and
///   nothing need be reclaimed. Its frees signal the bin's arena; here the caller's.
/// - It rounds requests above 1 KiB to 4 KiB and more, and finds a block's kind by the pointer's
///   alignment; here `deallocate` is told the size. Its smallest block is 8 bytes, here 16.
/// - Its pool is a power of two, here a forest. In pools of less than 4 MiB bins are smaller, down
///   to 512 bytes, and chunks are where the arenas would take too much.
/// - Its blocks merge at once; here some of each order stay apart, so that requests of one size do
///   not split and merge all the way up, and a request that would be refused merges them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/bulkalloc/bins.cuh"
#include "allocators/bulkalloc/buddies.cuh"
#include "allocators/bulkalloc/core.cuh"
#include "allocators/bulkalloc/semaphore.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// The allocator's constants.
struct BulkAllocPolicy {
    /// Some milliseconds of a GPU.
    static constexpr std::uint32_t kPatience = 4096;
    static constexpr std::uint32_t kLooks = 4096;
    static constexpr std::uint32_t kRounds = 16;
    static constexpr std::uint32_t kLargestBinShift = 12;
    static constexpr std::uint32_t kMostBinsShift = 7;  ///< log2 of the bins of a chunk
    static constexpr std::uint64_t kFewestBins = 1024;  ///< of a pool, or bins are smaller
    static constexpr std::uint32_t kBlocksShift = 2;  ///< a bin has 2^kBlocksShift blocks at least
    static constexpr std::uint32_t kMostArenas = 256;
    /// Chunks of the pool for each arena, or chunks are smaller.
    static constexpr std::uint32_t kChunksPerArena = 16;
    /// Of each order at most 1 / 2^kSpareShift of the pool is not merged at once.
    static constexpr std::uint32_t kSpareShift = 6;

    HEAPWOOD_INLINE static void pause() {}
};

/// The host object: owns the pool, the nodes and orders of TBuddy, and the bins' tables.
template <class Policy>
class BasicBulkAlloc {
public:
    using Ref = bulkalloc::Core<Policy>;

    static constexpr Traits traits() {
        return {.name = "bulkalloc",
                .title = "BulkAlloc",
                .source = "Gelado & Garland 2019",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = 16384,
                .slow_crowds = true};
    }

    explicit BasicBulkAlloc(const PoolConfig& config)
        : bin_shift_(bin_shift(config.bytes)),
          bins_(static_cast<std::uint32_t>(config.bytes >> bin_shift_)),
          top_(platform::floor_log2(std::bit_ceil(bins_))),
          arenas_(arenas(config)),
          chunk_shift_(std::min(
              platform::floor_log2(std::max(bins_ / arenas_ / Policy::kChunksPerArena, 1U)),
              Policy::kMostBinsShift)),
          spare_(std::min(std::max(config.callers, 1U), bins_ >> Policy::kSpareShift)),
          chunks_(platform::ceil_div(bins_, 1U << chunk_shift_)),
          shape_(bulkalloc::TreeShape::of(bins_ + chunks_)),
          node_shape_(bulkalloc::TreeShape::of(2U << top_)),
          pool_(config.place, pool_bytes()),
          guards_(config.place, std::uint64_t{bins_ + chunks_} * sizeof(std::uint32_t)),
          bits_(config.place, guards_.size() * words_each()),
          trees_(config.place, (bulkalloc::kKinds + 1) * tree_bytes(shape_)),
          free_(config.place, tree_bytes(node_shape_)),
          used_(config.place, tree_bytes(node_shape_)),
          shares_(config.place, std::uint64_t{arenas_} * bulkalloc::kKinds * sizeof(Share)),
          orders_(config.place, (top_ + 1) * sizeof(OrderState)) {
        reset();
    }

    Ref ref() const {
        Ref r;
        r.memory_ = pool_.template as<char>();
        r.largest_ = std::bit_floor(pool_bytes());
        r.small_ = 1U << std::min(bin_shift_ - Policy::kBlocksShift, kLargestSmallShift);
        auto& b = r.bins_;
        b.shares_ = shares_.template as<Share>();
        b.guards_ = guards_.template as<std::uint32_t>();
        b.bits_ = bits_.template as<std::uint32_t>();
        b.trees_ = trees_.template as<std::uint64_t>();
        b.shape_ = shape_;
        b.bins_ = bins_;
        b.chunks_ = chunks_;
        b.words_each_ = words_each();
        b.bin_shift_ = bin_shift_;
        b.chunk_shift_ = chunk_shift_;
        b.arena_mask_ = arenas_ - 1;
        auto& t = b.buddies_;
        t.free_ = free_.template as<std::uint64_t>();
        t.used_ = used_.template as<std::uint64_t>();
        t.orders_ = orders_.template as<OrderState>();
        t.shape_ = node_shape_;
        t.top_ = top_;
        t.spare_ = spare_;
        return r;
    }
    void reset() {
        for (Buffer* b : {&guards_, &trees_, &free_, &used_}) b->zero();
        const std::vector<Share> shares(shares_.size() / sizeof(Share),
                                        Share{bulkalloc::make_count(0), 0});
        shares_.write(0, shares.data(), shares_.size());
        std::vector<OrderState> orders(top_ + 1, OrderState{bulkalloc::make_count(0), 0});
        std::map<std::uint32_t, std::uint32_t> words;  // of 32 bits
        for (std::uint32_t order = 0; order <= top_; ++order) {
            if ((bins_ >> order & 1U) == 0) continue;
            orders[order].count = bulkalloc::make_count(1);
            std::uint32_t bit = (1U << (top_ - order)) + (bins_ >> order) - 1;
            for (std::uint32_t level = 0; level < node_shape_.levels; ++level, bit /= 64) {
                words[node_shape_.first[level] * 2 + bit / 32] |= 1U << bit % 32;
            }
        }
        orders_.write(0, orders.data(), orders_.size());
        std::vector<Word> writes;
        for (const auto& [index, value] : words) writes.push_back({index, value});
        free_.write_words(writes.data(), writes.size());
    }
    std::uint64_t pool_bytes() const { return std::uint64_t{bins_} << bin_shift_; }
    std::uint64_t overhead_bytes() const {
        return guards_.size() + bits_.size() + trees_.size() + free_.size() + used_.size() +
               shares_.size() + orders_.size();
    }

    /// Blocks in use are allocations; what lies between those of a bin is free, and each bin of a
    /// chunk and each block of TBuddy that is not in
    /// use, merged as far as a request would merge them.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const Tables t{copy<std::uint64_t>(used_), copy<std::uint32_t>(guards_),
                       copy<std::uint32_t>(bits_)};
        auto free = copy<std::uint64_t>(free_);
        const auto is = [](const std::vector<std::uint64_t>& bits, std::uint32_t node) {
            return (bits[node / 64] >> node % 64 & 1U) != 0;
        };
        for (std::uint32_t n = (2U << top_) - 1; n > 1; n -= 2) {
            if (!is(free, n) || !is(free, n - 1)) continue;
            free[n / 128] |= std::uint64_t{1} << n / 2 % 64;
            free[n / 64] &= ~(std::uint64_t{3} << (n - 1) % 64);
        }
        for (std::uint32_t bin = 0; bin < bins_;) {
            // The node that begins here, and is free or in use.
            std::uint32_t order = 0;
            const auto node = [&] { return (1U << (top_ - order)) + (bin >> order); };
            while (!is(t.used, node()) && !is(free, node())) ++order;
            const std::uint32_t chunk = bins_ + (bin >> chunk_shift_);
            if (!is(t.used, node())) {
                visit(region(bin, 1U << order, false));
            } else if (order == chunk_shift_ && is_open(t, chunk)) {
                for (std::uint32_t i = 0; i < 1U << order; ++i) {
                    if (is_free(t, chunk, i)) {
                        visit(region(bin + i, 1, false));
                    } else {
                        walk_bin(t, bin + i, visit);
                    }
                }
            } else if (order == 0 && is_open(t, bin)) {
                walk_bin(t, bin, visit);
            } else {
                visit(region(bin, 1U << order, true));
            }
            bin += 1U << order;
        }
    }

private:
    using Share = bulkalloc::Share;
    using OrderState = bulkalloc::OrderState;

    static constexpr std::uint32_t kSmallestBinShift = 9;
    /// Log2 of the largest block's bytes, for which there is a kind.
    static constexpr std::uint32_t kLargestSmallShift = bulkalloc::kKinds + 2;
    static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

    struct Tables {
        std::vector<std::uint64_t> used;
        std::vector<std::uint32_t> guards;
        std::vector<std::uint32_t> bits;
    };

    static std::uint32_t bin_shift(std::uint64_t bytes) {
        if (bytes < traits().smallest_pool || bytes > kMostBytes) {
            throw std::invalid_argument("bulkalloc needs a pool of 16 KiB to 1 TiB");
        }
        return unit_shift(bytes, kSmallestBinShift, Policy::kLargestBinShift, Policy::kFewestBins);
    }
    std::uint32_t arenas(const PoolConfig& config) const {
        const std::uint32_t most = std::clamp(config.multiprocessors, 1U, Policy::kMostArenas);
        return std::bit_floor(std::clamp(bins_ / Policy::kChunksPerArena, 1U, most));
    }
    static std::uint64_t tree_bytes(const bulkalloc::TreeShape& shape) {
        return std::uint64_t{shape.words()} * sizeof(std::uint64_t);
    }
    /// Words of the bits of a bin, or of a chunk.
    std::uint32_t words_each() const {
        return platform::ceil_div(std::max(1U << (bin_shift_ - 4), 1U << chunk_shift_), 32U);
    }

    template <class T>
    static std::vector<T> copy(const Buffer& from) {
        std::vector<T> to(from.size() / sizeof(T));
        from.read(0, to.data(), from.size());
        return to;
    }
    Region region(std::uint32_t bin, std::uint32_t count, bool allocated) const {
        return {std::uint64_t{bin} << bin_shift_, std::uint64_t{count} << bin_shift_, allocated};
    }
    bool is_open(const Tables& t, std::uint32_t bin) const { return t.guards[bin] != 0; }
    bool is_free(const Tables& t, std::uint32_t bin, std::uint32_t unit) const {
        return (t.bits[std::uint64_t{bin} * words_each() + unit / 32] >> unit % 32 & 1U) != 0;
    }
    /// Free blocks side by side are one region.
    template <class Visitor>
    void walk_bin(const Tables& t, std::uint32_t bin, Visitor&& visit) const {
        const std::uint32_t shift = (t.guards[bin] >> bulkalloc::kKindShift) + 2;
        const std::uint32_t all = 1U << (bin_shift_ - shift);
        for (std::uint32_t unit = 0; unit < all;) {
            const bool free = is_free(t, bin, unit);
            std::uint32_t size = 1;
            while (free && unit + size < all && is_free(t, bin, unit + size)) ++size;
            visit(Region{(std::uint64_t{bin} << bin_shift_) + (std::uint64_t{unit} << shift),
                         std::uint64_t{size} << shift, !free});
            unit += size;
        }
    }

    std::uint32_t bin_shift_;
    std::uint32_t bins_;
    std::uint32_t top_;  ///< the largest order
    std::uint32_t arenas_;
    std::uint32_t chunk_shift_;
    std::uint32_t spare_;
    std::uint32_t chunks_;
    bulkalloc::TreeShape shape_;  ///< of the bins' trees
    bulkalloc::TreeShape node_shape_;
    Buffer pool_;
    Buffer guards_;
    Buffer bits_;
    Buffer trees_;
    Buffer free_;
    Buffer used_;
    Buffer shares_;
    Buffer orders_;
};

using BulkAlloc = BasicBulkAlloc<BulkAllocPolicy>;

static_assert(Allocator<BulkAlloc>);

}  // namespace heapwood::allocators
