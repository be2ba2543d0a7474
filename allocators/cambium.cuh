/// @file
/// Cambium: blocks that are cut front to back and counted by what was freed, Heapwood's own
/// allocator. (Cambium is the layer in which wood grows.)
///
/// **Structure.** The pool is cut into blocks of up to 256 KiB, or 1 MiB if it is ample. A map has
/// a bit for each that is free, and a table counts how much of each has been freed. Requests are
/// cut from open blocks, front to back, in units of 16 bytes; a request that does not fit there
/// takes as many blocks next to one another as it needs, and the tail of the last one is the next
/// open block. Blocks that nobody has had yet are given out by a counter, without a search: runs of
/// them, and single ones in an ample pool. There are no sizes, no headers and no list: a block
/// returns to the map when all of its units have been freed, in any pieces and in any order. So a
/// block of memory may also be freed in parts. cambium/core.cuh and cambium/blocks.cuh have the
/// algorithm, and why it is sound.
///
/// **Where open blocks are kept.** In the caller's cache (Context::cache), which on a GPU is shared
/// memory: then a request touches the pool's tables only when it needs a fresh block. Callers
/// without a cache, and those for whose blocks the pool is too small, share a table. Lanes of a
/// warp that request memory together take the sum of it at once; so do those that free pieces of
/// the same block. Where thousands may search at the same time they begin in different places.
///
/// **What it owes to whom.** Blocks cut front to back and counted are those of `hybrid` and, in
/// effect, of Gallatin's slices (McCoy & Pandey 2024) and of regions counted as a whole; that idle
/// memory belongs to nothing else, so that any request may claim it, is FlatterScatter's page table
/// (2025). What it pays for it: a block is pinned by its last piece in use.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/cambium/blocks.cuh"
#include "allocators/cambium/core.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/crowd.cuh"

namespace heapwood::allocators {

/// The allocator's constants.
struct CambiumPolicy {
    /// Log2 of the bytes of a block in a large pool.
    static constexpr std::uint32_t kLargestShift = 18;
    /// How many times a request that was unlucky tries again; and of a caller without a cache, of
    /// which thousands may be unlucky at the same time.
    static constexpr std::uint32_t kRounds = 16;
    static constexpr std::uint32_t kFewRounds = 2;
    /// Whether a caller without a cache that wants several blocks next to one another is refused
    /// only if no other holds some for a moment.
    static constexpr bool kWaitsForRuns = false;
    /// Words of the map where such a caller looks for a run of blocks before it looks at all.
    static constexpr std::uint32_t kNear = 96;

    /// Whether lanes of a warp are to act for one another.
    HEAPWOOD_INLINE static bool is_crowded() { return platform::is_crowded(); }
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The same of a pool that callers can extend.
template <class Policy>
struct ExtensiblePolicy : Policy {
    static constexpr bool kExtends = true;
};

/// The host object: owns the pool, the map, the counts and the open words that callers share.
template <class Policy>
class BasicCambium {
    using Shared = cambium::Shared;
    using Blocks = cambium::Blocks<Policy>;

public:
    using Ref = cambium::Core<Policy>;
    /// The allocator whose callers can take more of the pool into use.
    using Extensible = BasicCambium<ExtensiblePolicy<Policy>>;

    static constexpr Traits traits() {
        return {.name = "cambium",
                .title = "Cambium",
                .source = "Heapwood",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(std::uint32_t),  // per block, and a bit
                .smallest_pool = 16384,
                .splittable = true,
                .shares_regions = true,
                .shares_cache = true};
    }

    explicit BasicCambium(const PoolConfig& config) : BasicCambium(config, config.bytes, nullptr) {}
    // clang-format off
    /// A pool of which callers can take more into use (Ref::extend()).
    /// @param config whose bytes are the most that can be in use
    /// @param begin bytes that are at first
    /// @param addresses gives the pool's range, which needs memory only as far as it is in use
    BasicCambium(const PoolConfig& config, std::uint64_t begin, MemorySource& addresses)
        requires cambium::kExtends<Policy> : BasicCambium(config, begin, &addresses) {}
    // clang-format on

    /// Lays the pool out again, with `bytes` bytes in use, at least as many as in any earlier
    /// layout. The caller calls reset() next. Earlier handles are invalid.
    void begin_with(std::uint64_t bytes) { lay_out(bytes); }
    /// Whether so little is in use that it is to become more before long.
    bool expects_more() const { return expects_more_; }
    /// The bytes of a block: what is in use is a multiple of it.
    std::uint64_t block_bytes() const { return std::uint64_t{1} << shift_; }

    Ref ref() const {
        return Ref(pool_.template as<char>(),
                   {map_.template as<std::uint32_t>(), freed_.template as<std::uint32_t>(),
                    untouched_.template as<cambium::Untouched>(), blocks_, at_first_,
                    shift_ - cambium::kUnitShift},
                   shared_.template as<Shared>(), shared_count_, cached_callers_,
                   SpreadMoves(moves_.template as<SpreadMoves::Cell>(), moves_count()));
    }
    void reset() {
        // In a small pool single blocks are taken from the map, which has no holes then in which no
        // run fits.
        const std::uint32_t upper = Blocks::first_of_upper(at_first_);
        const std::uint32_t in_map = ample_ ? 0 : upper;
        std::vector<std::uint32_t> map(map_words());
        for (std::uint32_t b = 0; b < in_map; ++b) map[b / 32] |= 1U << b % 32;
        map_.write(0, map.data(), map.size() * sizeof map[0]);
        freed_.zero();
        const cambium::Untouched untouched[3] = {
            {ample_ ? 0 : upper | cambium::kSettled}, {upper}, {at_first_}};
        untouched_.write(0, untouched, untouched_.size());
        moves_.zero();
        std::vector<Shared> shared(shared_count_);
        for (std::uint32_t i = 0; i < shared_count_; ++i) {
            shared[i].hint = static_cast<std::uint32_t>(i * (words_of(at_first_) * small_share_) /
                                                        shared_count_);
            if (ample_) shared[i].hint |= cambium::kScarce;  // nothing is in the map yet
        }
        shared_.write(0, shared.data(), shared.size() * sizeof shared[0]);
    }
    /// In use at first.
    std::uint64_t pool_bytes() const { return std::uint64_t{at_first_} << shift_; }
    std::uint64_t overhead_bytes() const {
        return map_.size() + freed_.size() + untouched_.size() + shared_.size() + moves_.size();
    }

    /// Blocks in use that are next to one another are one region; an open one without any piece in
    /// use is free.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        cambium::Untouched untouched[3];
        untouched_.read(0, untouched, untouched_.size());
        const auto blocks =
            cambium::kExtends<Policy> ? static_cast<std::uint32_t>(untouched[2].lowest) : blocks_;
        std::vector<std::uint32_t> map(map_words());
        map_.read(0, map.data(), map.size() * sizeof map[0]);
        for (const std::uint32_t block : idle_blocks()) map[block / 32] |= 1U << block % 32;
        const std::uint32_t end_of_lower = Blocks::first_of_upper(at_first_);
        const auto set_free = [&](std::uint64_t from, std::uint32_t end) {
            for (std::uint64_t b = from; b < end; ++b) map[b / 32] |= 1U << b % 32;
        };
        set_free(untouched[0].lowest, end_of_lower);
        set_free(untouched[1].lowest, at_first_);
        const auto is_free = [&](std::uint32_t b) { return (map[b / 32] >> b % 32 & 1U) != 0; };
        for (std::uint32_t first = 0; first < blocks;) {
            std::uint32_t end = first + 1;
            while (end < blocks && is_free(end) == is_free(first)) ++end;
            visit(Region{std::uint64_t{first} << shift_, std::uint64_t{end - first} << shift_,
                         !is_free(first)});
            first = end;
        }
    }

private:
    static constexpr std::uint32_t kSmallestShift = 9;
    static constexpr std::uint32_t kFewestBlocks = 1024;
    /// Blocks of the pool for each cache in which callers may keep one to themselves.
    static constexpr std::uint32_t kBlocksPerCache = 3;
    /// Blocks of the pool for each that is open to all.
    static constexpr std::uint32_t kBlocksPerShared = 8;

    /// Callers that call at the same time, of a multiprocessor.
    static constexpr std::uint32_t kMostCallers = 64;
    /// Most words in which moves are counted.
    static constexpr std::uint32_t kMostMoves = 32;

    /// A pool is short, or tight, if it has fewer times the largest request than these.
    static constexpr double kShort = 8;
    static constexpr double kTight = 4;
    /// With so many times the largest request, and more, a pool is ample.
    static constexpr std::uint64_t kAmplePool = 48;
    /// Log2 of how many times as large its blocks may be.
    static constexpr std::uint32_t kAmpleShift = 2;
    /// With so many times the largest request, and more, a pool is roomy: its blocks are twice as
    /// large. Beside the open and the spare ones 13 times the largest request is left. With 11
    /// times one of our scenes takes longer than with small blocks.
    static constexpr std::uint64_t kRoomyPool = 20;

    static bool is_ample(const PoolConfig& config) { return has_times(config, kAmplePool); }
    static bool has_times(const PoolConfig& config, std::uint64_t times) {
        return config.largest_request > 0 && config.bytes / config.largest_request >= times;
    }
    /// How many times as large as the largest request the pool is.
    static double times(const PoolConfig& config) {
        return config.largest_request == 0 ? std::numeric_limits<double>::infinity()
                                           : static_cast<double>(config.bytes) /
                                                 static_cast<double>(config.largest_request);
    }
    /// The share of the pool where requests for few blocks begin: the lower half, and less where
    /// the pool is tight, for large requests need the rest. Where it is not, thousands that begin
    /// in a small part are slow.
    static double small_share(const PoolConfig& config) {
        constexpr double kLeast = 0.125, kMost = 0.5;
        const double grown = (times(config) - kTight) / (kShort - kTight);
        return kLeast + (kMost - kLeast) * std::clamp(grown, 0.0, 1.0);
    }
    /// A short pool has fewer blocks than callers would have, so that these do not become smaller
    /// with it: some fetch several in place of one. With less than kTight times the largest request
    /// they do, for then it matters what fits.
    static double share_of_blocks(const PoolConfig& config) {
        const double least = kTight / kShort;
        const double tight = 1 - (1 - least) * std::clamp(times(config) - (kTight - 1), 0.0, 1.0);
        return std::max(tight, std::clamp(times(config) / kShort, 0.0, 1.0));
    }
    /// Of callers that share a cache, how many have a block of their own together.
    static std::uint32_t callers_for_block(const PoolConfig& config) {
        const std::uint32_t most = is_ample(config) ? ~0U : has_times(config, kRoomyPool) ? 2 : 1;
        return std::clamp(config.cache_users, 1U, most);
    }
    /// A small pool has small blocks: so there are some hundred of them, and some for every caller.
    /// Then large requests find free blocks next to one another between the open ones. A roomy or
    /// ample pool has room for these anyway. Its blocks are larger, some for two callers or for
    /// every cache: a caller opens one less often.
    static std::uint32_t block_shift(const PoolConfig& config) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument(std::string(traits().name) + " needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        const std::uint64_t callers = std::min<std::uint64_t>(
            config.callers, std::uint64_t{kMostCallers} * std::max(config.multiprocessors, 1U));
        const std::uint64_t wanted = kBlocksPerCache * (callers / callers_for_block(config));
        const auto blocks = std::max<std::uint64_t>(
            kFewestBlocks,
            static_cast<std::uint64_t>(static_cast<double>(wanted) * share_of_blocks(config)));
        return unit_shift(config.bytes, kSmallestShift,
                          Policy::kLargestShift + (is_ample(config) ? kAmpleShift : 0), blocks);
    }
    BasicCambium(const PoolConfig& config, std::uint64_t begin, MemorySource* addresses)
        : config_(config) {
        lay_out(begin);
        const std::uint64_t range = std::uint64_t{blocks_} << shift_;
        if (addresses != nullptr) {
            const SourceScope scope(*addresses);
            pool_ = Buffer(config.place, range);
        } else {
            pool_ = Buffer(config.place, range);
        }
        map_ = Buffer(config.place, std::uint64_t{map_words()} * sizeof(std::uint32_t));
        freed_ = Buffer(config.place, std::uint64_t{blocks_} * sizeof(std::uint32_t));
        untouched_ =
            Buffer(config.place, (cambium::kExtends<Policy> ? 3 : 2) * sizeof(cambium::Untouched));
        const std::uint32_t most_shared = shared_for(blocks_);
        shared_ = Buffer(config.place, most_shared * sizeof(Shared));
        moves_ = Buffer(config.place, moves_for(most_shared) * sizeof(SpreadMoves::Cell));
        reset();
    }
    /// What the pool consists of with `begin` bytes in use. Where these are few, and more can be,
    /// it is laid out for an ample pool: what a build needs beyond them comes at once.
    void lay_out(std::uint64_t begin) {
        PoolConfig usual = config_;
        usual.bytes = begin;
        ample_ = is_ample(usual);
        small_share_ = small_share(usual);
        expects_more_ = begin != config_.bytes && !has_times(usual, kRoomyPool);
        if (expects_more_) {
            usual.bytes =
                std::max(begin, std::min(config_.bytes, kAmplePool * config_.largest_request));
        }
        // Never smaller blocks than before, for which the tables had no room.
        shift_ = std::max(shift_, block_shift(usual));
        while (begin >> shift_ == 0) --shift_;
        blocks_ = static_cast<std::uint32_t>(config_.bytes >> shift_);
        at_first_ = static_cast<std::uint32_t>(begin >> shift_);
        // Of the pool, callers have at most a third open to themselves and a third spare; an eighth
        // is open to all.
        const auto blocks = static_cast<std::uint32_t>(usual.bytes >> shift_);
        cached_callers_ =
            std::min(config_.callers, blocks / kBlocksPerCache * std::max(config_.cache_users, 1U));
        shared_count_ = shared_for(blocks);
    }
    std::uint32_t shared_for(std::uint32_t blocks) const {
        return std::bit_floor(
            std::clamp(config_.callers, 1U, std::max(blocks / kBlocksPerShared, 1U)));
    }
    static std::uint32_t moves_for(std::uint32_t shared) { return std::min(shared, kMostMoves); }
    std::uint32_t units() const { return 1U << (shift_ - cambium::kUnitShift); }
    static std::uint32_t words_of(std::uint32_t blocks) { return (blocks + 31) / 32; }
    std::uint32_t map_words() const { return words_of(blocks_); }
    std::uint32_t moves_count() const { return moves_for(shared_count_); }

    /// Open blocks that callers share and of which nothing is in use.
    std::vector<std::uint32_t> idle_blocks() const {
        std::vector<std::uint32_t> freed(blocks_);
        freed_.read(0, freed.data(), freed.size() * sizeof freed[0]);
        std::vector<Shared> shared(shared_count_);
        shared_.read(0, shared.data(), shared.size() * sizeof shared[0]);
        std::vector<std::uint32_t> idle;
        for (const Shared& s : shared) {
            const std::uint32_t room = cambium::room_at(s.open, units());
            const auto block = static_cast<std::uint32_t>(s.open / units());
            if (room != 0 && freed[block] + room == units()) idle.push_back(block);
        }
        return idle;
    }

    PoolConfig config_;
    bool ample_ = false;
    bool expects_more_ = false;
    double small_share_ = 0;
    std::uint32_t shift_ = 0;
    std::uint32_t blocks_ = 0;    ///< that the tables have
    std::uint32_t at_first_ = 0;  ///< of them in use
    std::uint32_t shared_count_ = 1;
    std::uint32_t cached_callers_ = 0;
    Buffer pool_;
    Buffer map_;
    Buffer freed_;
    Buffer untouched_;
    Buffer shared_;
    Buffer moves_;
};

using Cambium = BasicCambium<CambiumPolicy>;

static_assert(Allocator<Cambium>);

}  // namespace heapwood::allocators
