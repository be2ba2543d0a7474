/// @file
/// Gallatin (McCoy & Pandey, "Gallatin: A General-Purpose GPU Memory Manager", PPoPP 2024), from
/// its description.
///
/// **Structure.** The pool is divided into segments, a segment into blocks of one class, a block
/// into slices of one size (gallatin/layout.cuh). Sets of segments are trees of bits after van Emde
/// Boas (gallatin/bit_tree.cuh): one of the segments that are free, and one for each class of those
/// with free blocks (gallatin/segments.cuh). Small requests draw slices from blocks at the heads of
/// their class, by one counter, which the lanes of a warp that ask together raise together
/// (gallatin/slices.cuh). A larger request gets a block, and one above a segment a run of segments,
/// from the back of the pool. A block returns to its segment when all of its slices have been drawn
/// and freed, and a segment to the free ones when all of its blocks have.
///
/// **The price**, as published: a slice that is freed is not given again before its whole block has
/// returned; one live slice keeps the block.
///
/// **Parameters**, as published: segments of 16 MiB; 4096 slices of 16 to 4096 bytes in a block, so
/// that a segment has 256 blocks of the smallest class and one of the largest; at the smallest
/// class 128 heads, at each class half as many as at the one before, and 4 at least.
///
/// **Why it is sound.** A segment belongs to the thread that removes its bit from the tree of free
/// ones; a divided one remains what it is as long as a thread is counted in its state; a block
/// belongs to the thread that clears its bit, a slice to the request that has drawn its number; and
/// a block returns when the last of all its slices has been given back, drawn or not. Each of these
/// steps is one atomic operation that one thread wins, and each passes on what was done to the
/// memory before. segments.cuh and slices.cuh have the argument of each.
///
/// **Against the original.**
/// - Segments are smaller in small pools: a pool has 256 at least, down to segments of 1 KiB. Then
///   blocks have fewer slices, 16 at least, so that a segment still is one block of the largest
///   class; and below 64 KiB a segment has fewer classes. The original needs 208 MiB to begin with.
/// - Heads have an eighth of the pool or less, and a class one at least. They are empty at first.
/// - The counter of a head is raised only where slices have been seen; so it cannot run into the
///   number of the block beside it, as the published one can where requests go on.
/// - What a request of several slices leaves of a block, and what is left of a block that is
///   replaced, is given back.
/// - The free blocks of a segment are bits and a count, instead of a ring. The paper does not say
///   how a thread learns that a segment is whole: here the count and the class are one word, and a
///   compare-and-swap takes the segment apart.
/// - Where a search of a class begins depends on the multiprocessor; that of a free segment takes
///   the first one.
/// - When the pool is full, blocks at heads of which no slice is in use return. A request is
///   refused at once when nothing is left, where the original tries many thousand times, or traps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/gallatin/bit_tree.cuh"
#include "allocators/gallatin/layout.cuh"
#include "allocators/gallatin/segments.cuh"
#include "allocators/gallatin/slices.cuh"
#include "allocators/gallatin/words.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/crowd.cuh"

namespace heapwood::allocators {

/// Gallatin's constants.
struct GallatinPolicy {
    static constexpr std::uint32_t kLargestSegmentShift = 24;
    static constexpr std::uint32_t kSmallestSegmentShift = 10;
    static constexpr std::uint64_t kFewestSegments = 256;
    /// Log2 of the slices of a block, and of the largest slice where that leaves a choice.
    static constexpr std::uint32_t kMostSlicesShift = 12;
    static constexpr std::uint32_t kFewestSlicesShift = 4;
    static constexpr std::uint32_t kLargestSliceShift = 12;
    static constexpr std::uint32_t kMostHeads = 128;
    static constexpr std::uint32_t kFewestHeads = 4;
    /// The part of the pool that blocks at heads may take.
    static constexpr std::uint64_t kPoolPerHeads = 8;
    /// Segments between those at which the searches of neighbouring multiprocessors begin.
    static constexpr std::uint32_t kStride = 7;
    /// Segments, or words of blocks, that a search tries before it goes another way.
    static constexpr std::uint32_t kTries = 32;
    /// Pauses before a request opens a block while another is opening one: some milliseconds.
    static constexpr std::uint32_t kPatience = 4096;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;

    /// Whether lanes of a warp are to act for one another.
    HEAPWOOD_INLINE static bool is_crowded() { return platform::is_crowded(); }
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The host object: owns the pool, the segments' states, bits and trees, and the heads.
template <class Policy>
class BasicGallatin {
    using Head = gallatin::Head;

public:
    using Ref = gallatin::Core<Policy>;

    static constexpr Traits traits() {
        return {.name = "gallatin",
                .title = "Gallatin",
                .source = "McCoy & Pandey 2024",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 4,  // live slices, per block
                .smallest_pool = 16384,
                .shares_regions = true};
    }

    explicit BasicGallatin(const PoolConfig& config)
        : layout_(layout(config)),
          count_(static_cast<std::uint32_t>(std::min<std::uint64_t>(
              config.bytes >> layout_.segment_shift, gallatin::TreeShape::kMostBits))),
          shape_(gallatin::TreeShape::of(count_)) {
        const std::uint64_t blocks = std::uint64_t{count_} << layout_.blocks_shift();
        const std::uint64_t heads =
            pool_bytes() / Policy::kPoolPerHeads / layout_.classes() >> layout_.block_shift(0);
        most_heads_ = std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
            heads, 1, std::clamp(config.multiprocessors, 1U, Policy::kMostHeads))));
        fewest_heads_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(count_ / (Policy::kPoolPerHeads * layout_.classes()), 1,
                                      std::min(most_heads_, Policy::kFewestHeads))));
        pool_ = Buffer(config.place, pool_bytes());
        states_ = Buffer(config.place, count_ * sizeof(gallatin::SegmentState));
        bits_ = Buffer(config.place, count_ * bit_words() * sizeof(std::uint64_t));
        trees_ = Buffer(config.place, std::uint64_t{shape_.words()} * (layout_.classes() + 1) *
                                          sizeof(std::uint64_t));
        live_ = Buffer(config.place, blocks * sizeof(std::uint32_t));
        heads_ = Buffer(config.place, layout_.classes() * most_heads_ * sizeof(Head));
        moves_ = Buffer(config.place, sizeof(Moves::Word));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.segments_.pool_ = pool_.template as<char>();
        r.segments_.states_ = states_.template as<gallatin::SegmentState>();
        r.segments_.bits_ = bits_.template as<std::uint64_t>();
        r.segments_.trees_ = trees_.template as<std::uint64_t>();
        r.segments_.moves_ = moves_.template as<Moves::Word>();
        r.segments_.shape_ = shape_;
        r.segments_.layout_ = layout_;
        r.segments_.count_ = count_;
        r.heads_ = heads_.template as<Head>();
        r.live_ = live_.template as<std::uint32_t>();
        r.slice_limit_ = layout_.slice_limit();
        r.most_heads_ = most_heads_;
        r.fewest_heads_ = fewest_heads_;
        return r;
    }
    void reset() {
        states_.zero();
        trees_.zero();
        heads_.zero();
        moves_.zero();
        // All segments are free: of each level the bits that there are.
        std::vector<std::uint64_t> free(shape_.words());
        const gallatin::BitTree tree(free.data(), shape_);
        for (std::uint32_t i = 0; i < count_; ++i) tree.set(i);
        trees_.write(0, free.data(), free.size() * sizeof(std::uint64_t));
    }
    std::uint64_t pool_bytes() const { return std::uint64_t{count_} << layout_.segment_shift; }
    std::uint64_t overhead_bytes() const {
        return states_.size() + bits_.size() + trees_.size() + live_.size() + heads_.size() +
               moves_.size();
    }

    /// A block is one region, and so is a run; free segments next to one another are one. A block
    /// at a head is free if no slice of it is in use, and a segment if all its blocks are.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const auto states = contents<gallatin::SegmentState>(states_);
        const std::vector<bool> used = used_blocks(states);
        const std::uint64_t segment = layout_.segment_bytes();
        std::uint64_t free = 0;
        const auto end_free = [&](std::uint64_t end) {
            if (free != 0) visit(Region{end - free, free, false});
            free = 0;
        };
        for (std::uint32_t i = 0; i < count_;) {
            const std::uint64_t offset = i * segment;
            const auto first = used.begin() + (std::int64_t{i} << layout_.blocks_shift());
            if (states[i] >= gallatin::kRun) {
                end_free(offset);
                const std::uint32_t n = states[i] - gallatin::kRun;
                visit(Region{offset, n * segment, true});
                i += n;
                continue;
            }
            ++i;
            if (std::find(first, first + layout_.blocks(0), true) == first + layout_.blocks(0)) {
                free += segment;
                continue;
            }
            end_free(offset);
            const std::uint32_t k = (states[i - 1] >> gallatin::kClassShift) - 1;
            const std::uint64_t block = segment / layout_.blocks(k);
            for (std::uint32_t j = 0; j < layout_.blocks(k); ++j) {
                visit(Region{offset + j * block, block, first[j]});
            }
        }
        end_free(pool_bytes());
    }

private:
    static gallatin::Layout layout(const PoolConfig& config) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument("gallatin needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        std::uint32_t shift = Policy::kLargestSegmentShift;
        while (shift > Policy::kSmallestSegmentShift &&
               config.bytes >> shift < Policy::kFewestSegments) {
            --shift;
        }
        const std::uint32_t largest_slice =
            std::min(Policy::kLargestSliceShift, shift - Policy::kFewestSlicesShift);
        return {shift, std::min(Policy::kMostSlicesShift, shift - largest_slice)};
    }
    /// Words of bits of a segment.
    std::uint64_t bit_words() const { return (layout_.blocks(0) + 63) / 64; }

    template <class T>
    static std::vector<T> contents(const Buffer& buffer) {
        std::vector<T> all(buffer.size() / sizeof(T));
        buffer.read(0, all.data(), buffer.size());
        return all;
    }
    /// Whether each block is in use: whole, or with a slice in use.
    std::vector<bool> used_blocks(const std::vector<gallatin::SegmentState>& states) const {
        const auto bits = contents<std::uint64_t>(bits_);
        const auto live = contents<std::uint32_t>(live_);
        std::vector<bool> used(std::uint64_t{count_} << layout_.blocks_shift());
        for (std::uint64_t i = 0; i < count_; ++i) {
            if (states[i] == 0 || states[i] >= gallatin::kRun) continue;
            const std::uint32_t k = (states[i] >> gallatin::kClassShift) - 1;
            for (std::uint32_t j = 0; j < layout_.blocks(k); ++j) {
                used[(i << layout_.blocks_shift()) + j] =
                    (bits[i * bit_words() + j / 64] >> j % 64 & 1) == 0;
            }
        }
        for (const Head& head : contents<Head>(heads_)) {
            const std::uint32_t left = gallatin::slices_left(head.word, layout_.slices());
            if (left == 0) continue;
            const std::uint32_t block = gallatin::block_of(head.word);
            if (live[block] == left) used[block] = false;
        }
        return used;
    }

    gallatin::Layout layout_;
    std::uint32_t count_;  // of segments
    gallatin::TreeShape shape_;
    std::uint32_t most_heads_;
    std::uint32_t fewest_heads_;
    Buffer pool_;
    Buffer states_;
    Buffer bits_;
    Buffer trees_;
    Buffer live_;
    Buffer heads_;
    Buffer moves_;
};

using Gallatin = BasicGallatin<GallatinPolicy>;

static_assert(Allocator<Gallatin>);

}  // namespace heapwood::allocators
