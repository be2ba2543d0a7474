/// @file
/// DynaSOAr (Springer & Masuhara, "DynaSOAr: A Parallel Memory Allocator for Object-Oriented
/// Programming on GPUs with Efficient Memory Access", ECOOP 2019), from its description, as an
/// allocator of bytes.
///
/// **Structure.** A block has up to 64 slices of one size (the paper: objects of one type), and a
/// word of bits that says which of them are free. A block with free slices is active. A tree of
/// bits for each class (segments/bit_tree.cuh; the paper: hierarchical bitmap) has the active
/// blocks. A request clears bits of an active block, from a bit that depends on its warp on, and
/// opens a block if it finds none. The free of a full block's slice makes the block active; the
/// last free of a block takes all of its bits, so that no request finds any, and returns it. The
/// lanes of a warp that ask together share one search. dynasoar/blocks.cuh and dynasoar/core.cuh
/// have the algorithm, and why it is sound.
///
/// **Parameters**, as published: 64 slices in a block; 5 active blocks are tried before one is
/// opened.
///
/// **Against the original.**
/// - Classes are powers of two from 16 bytes on, in the place of types. Memory is of bytes: no
///   layout of arrays in a block, no enumeration of objects, and no compaction.
/// - Blocks there all have the same bytes, so that a large type has few objects in one. Here a
///   class has blocks of its own size. They come from segments (segments/segments.cuh), which
///   trees of bits find as well: one of the free ones, and one for each class of those with free
///   blocks. So a request above a slice gets a whole block, and one above a segment a run of
///   segments: the whole pool is one pool. There large requests are not possible.
/// - In a pool below 64 MiB a block has fewer slices, 8 at least, so that the smallest block is no
///   larger than the largest slice.
/// - There a thread that changes the state of a block spins until the bit in the tree is as it
///   expects it, and so waits for the thread that is about to change it. Here trees may be late,
///   and each thread that unlists a block looks at the block again.
/// - There a search begins at the root, rotated by the warp. Here it begins at the block where the
///   last search of this class and multiprocessor has ended.
/// - There the set of all blocks of a type is kept, for enumeration. Here segments know their
///   class.
/// - There a request does not end when memory is exhausted, nor the free of a free object. Here a
///   request is refused in bounded time.
///
/// **What remains open.** A request that comes so late that its block has another class holds a
/// slice of that class for a moment. A request for this slice that comes in that moment may be
/// refused although the slice is about to be free.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/dynasoar/core.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/segments/bit_tree.cuh"
#include "allocators/segments/layout.cuh"
#include "allocators/segments/pool.cuh"

namespace heapwood::allocators {

/// DynaSOAr's constants, and those of the segments below.
struct DynaSOArPolicy {
    static constexpr std::uint32_t kMostSlicesShift = 6;
    /// Active blocks that a request tries before it opens one.
    static constexpr std::uint32_t kRetries = 5;

    static constexpr std::uint32_t kLargestSegmentShift = 22;
    static constexpr std::uint32_t kSmallestSegmentShift = 10;
    static constexpr std::uint64_t kFewestSegments = 1024;
    static constexpr std::uint32_t kMostHints = 64;
    /// Segments between those at which the searches of neighbouring multiprocessors begin.
    static constexpr std::uint32_t kStride = 7;
    /// Segments, words of blocks, or changes of a block's word that a search tries before it goes
    /// another way.
    static constexpr std::uint32_t kTries = 32;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;

    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The host object: owns the pool of segments, the blocks' words and trees, and the hints.
template <class Policy>
class BasicDynaSOAr {
public:
    using Ref = dynasoar::Core<Policy>;

    static constexpr Traits traits() {
        return {.name = "dynasoar",
                .title = "DynaSOAr",
                .source = "Springer & Masuhara 2019",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 8,  // a word of bits, per block
                .smallest_pool = 16384,
                .shares_regions = true,
                .slow_crowds = true};
    }

    explicit BasicDynaSOAr(const PoolConfig& config)
        : segments_(config, layout(config)),
          shape_(segments::TreeShape::of(segments_.block_count())),
          hints_each_(std::bit_floor(std::clamp(config.multiprocessors, 1U, Policy::kMostHints))),
          bits_(config.place, segments_.block_count() * sizeof(std::uint64_t)),
          trees_(config.place, std::uint64_t{shape_.words()} * segments_.layout().classes() *
                                   sizeof(std::uint64_t)),
          hints_(config.place, segments_.layout().classes() * hints_each_ * sizeof(std::uint32_t)) {
        clear_tables();
    }

    Ref ref() const {
        Ref r;
        r.blocks_.segments_ = segments_.ref();
        r.blocks_.bits_ = bits_.template as<std::uint64_t>();
        r.blocks_.trees_ = trees_.template as<std::uint64_t>();
        r.blocks_.shape_ = shape_;
        r.hints_ = hints_.template as<std::uint32_t>();
        r.slice_limit_ = segments_.layout().slice_limit();
        r.hint_mask_ = hints_each_ - 1;
        return r;
    }
    void reset() {
        segments_.reset();
        clear_tables();
    }
    std::uint64_t pool_bytes() const { return segments_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return segments_.overhead_bytes() + bits_.size() + trees_.size() + hints_.size();
    }

    /// Of an active block each slice in use is a region, and so are the free ones between them. A
    /// full block is one region. The rest is as SegmentPool has it.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        const auto bits = segments::contents<std::uint64_t>(bits_);
        segments_.for_each_region(
            segments_.taken_blocks(), visit,
            [&](const Region& block, std::uint32_t number, std::uint32_t k) {
                if (bits[number] == 0) return visit(block);
                const std::uint64_t slice = std::uint64_t{1} << (segments::Layout::kSliceShift + k);
                std::uint64_t free = 0;
                for (std::uint64_t at = 0; at < block.size; at += slice) {
                    if ((bits[number] >> at / slice & 1) != 0) {
                        free += slice;
                        continue;
                    }
                    if (free != 0) visit(Region{block.offset + at - free, free, false});
                    free = 0;
                    visit(Region{block.offset + at, slice, true});
                }
                if (free != 0) visit(Region{block.offset + block.size - free, free, false});
            });
    }

private:
    static segments::Layout layout(const PoolConfig& config) {
        const std::uint32_t shift =
            segments::segment_shift(config, traits(), Policy::kSmallestSegmentShift,
                                    Policy::kLargestSegmentShift, Policy::kFewestSegments);
        // As many slices in a block as there are, at most, smallest blocks in a segment.
        return {shift,
                std::min(Policy::kMostSlicesShift, (shift - segments::Layout::kSliceShift) / 2)};
    }
    void clear_tables() {
        for (Buffer* b : {&bits_, &trees_, &hints_}) b->zero();
    }

    segments::SegmentPool<Policy> segments_;
    segments::TreeShape shape_;  // of a class's active blocks
    std::uint32_t hints_each_;
    Buffer bits_;
    Buffer trees_;
    Buffer hints_;
};

using DynaSOAr = BasicDynaSOAr<DynaSOArPolicy>;

static_assert(Allocator<DynaSOAr>);

}  // namespace heapwood::allocators
