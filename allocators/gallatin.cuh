/// @file
/// Gallatin (McCoy & Pandey, "Gallatin: A General-Purpose GPU Memory Manager", PPoPP 2024), from
/// its description.
///
/// **Structure.** The pool is divided into segments, a segment into blocks of one class, a block
/// into slices of one size (segments/layout.cuh). Sets of segments are trees of bits after van Emde
/// Boas (segments/bit_tree.cuh): one of the segments that are free, and one for each class of those
/// with free blocks (segments/segments.cuh). Small requests draw slices from blocks at the heads of
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
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/gallatin/slices.cuh"
#include "allocators/gallatin/words.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/crowd.cuh"
#include "allocators/segments/layout.cuh"
#include "allocators/segments/pool.cuh"

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

/// The host object: owns the pool of segments, the heads, and the counts of live slices.
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
                .shares_regions = true,
                .slow_crowds = true};
    }

    explicit BasicGallatin(const PoolConfig& config) : segments_(config, layout(config)) {
        const std::uint32_t classes = segments_.layout().classes();
        const std::uint64_t heads =
            pool_bytes() / Policy::kPoolPerHeads / classes >> segments_.layout().block_shift(0);
        most_heads_ = std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
            heads, 1, std::clamp(config.multiprocessors, 1U, Policy::kMostHeads))));
        fewest_heads_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(segments_.count() / (Policy::kPoolPerHeads * classes), 1,
                                      std::min(most_heads_, Policy::kFewestHeads))));
        live_ = Buffer(config.place, segments_.block_count() * sizeof(std::uint32_t));
        heads_ = Buffer(config.place, classes * most_heads_ * sizeof(Head));
        heads_.zero();
    }

    Ref ref() const {
        Ref r;
        r.segments_ = segments_.ref();
        r.heads_ = heads_.template as<Head>();
        r.live_ = live_.template as<std::uint32_t>();
        r.slice_limit_ = segments_.layout().slice_limit();
        r.most_heads_ = most_heads_;
        r.fewest_heads_ = fewest_heads_;
        return r;
    }
    void reset() {
        segments_.reset();
        heads_.zero();
    }
    std::uint64_t pool_bytes() const { return segments_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return segments_.overhead_bytes() + live_.size() + heads_.size();
    }

    /// A block is one region, and free at a head if no slice of it is in use; else as SegmentPool
    /// has them.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<bool> used = segments_.taken_blocks();
        const auto live = segments::contents<std::uint32_t>(live_);
        for (const Head& head : segments::contents<Head>(heads_)) {
            const std::uint32_t left =
                gallatin::slices_left(head.word, segments_.layout().slices());
            if (left == 0) continue;
            const std::uint32_t block = gallatin::block_of(head.word);
            if (live[block] == left) used[block] = false;
        }
        segments_.for_each_region(used, visit,
                                  [&](const Region& r, std::uint32_t, std::uint32_t) { visit(r); });
    }

private:
    static segments::Layout layout(const PoolConfig& config) {
        const std::uint32_t shift =
            segments::segment_shift(config, traits(), Policy::kSmallestSegmentShift,
                                    Policy::kLargestSegmentShift, Policy::kFewestSegments);
        const std::uint32_t largest_slice =
            std::min(Policy::kLargestSliceShift, shift - Policy::kFewestSlicesShift);
        return {shift, std::min(Policy::kMostSlicesShift, shift - largest_slice)};
    }

    segments::SegmentPool<Policy> segments_;
    std::uint32_t most_heads_;
    std::uint32_t fewest_heads_;
    Buffer live_;
    Buffer heads_;
};

using Gallatin = BasicGallatin<GallatinPolicy>;

static_assert(Allocator<Gallatin>);

}  // namespace heapwood::allocators
