/// @file
/// The host's side of a pool of segments (segments.cuh).
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/moves.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/segments/bit_tree.cuh"
#include "allocators/segments/layout.cuh"
#include "allocators/segments/segments.cuh"

namespace heapwood::allocators::segments {

/// All that a buffer holds, copied to the host.
template <class T>
std::vector<T> contents(const Buffer& buffer) {
    std::vector<T> all(buffer.size() / sizeof(T));
    buffer.read(0, all.data(), buffer.size());
    return all;
}

/// Log2 of a segment's bytes: the largest, such that a pool has at least `fewest` segments; but not
/// below `smallest`. @throws std::invalid_argument if the pool is smaller than `traits` says
inline std::uint32_t segment_shift(const PoolConfig& config, const Traits& traits,
                                   std::uint32_t smallest, std::uint32_t largest,
                                   std::uint64_t fewest) {
    if (config.bytes < traits.smallest_pool) {
        throw std::invalid_argument(std::string(traits.name) + " needs a pool of at least " +
                                    std::to_string(traits.smallest_pool) + " bytes");
    }
    return unit_shift(config.bytes, smallest, largest, fewest);
}

/// Owns the pool, and the segments' states, bits and trees.
template <class Policy>
class SegmentPool {
public:
    SegmentPool(const PoolConfig& config, const Layout& layout)
        : layout_(layout),
          count_(static_cast<std::uint32_t>(
              std::min<std::uint64_t>(config.bytes >> layout.segment_shift,
                                      TreeShape::kMostBits >> layout.blocks_shift()))),
          shape_(TreeShape::of(count_)),
          pool_(config.place, pool_bytes()),
          states_(config.place, count_ * sizeof(SegmentState)),
          bits_(config.place, count_ * bit_words() * sizeof(std::uint64_t)),
          trees_(config.place,
                 std::uint64_t{shape_.words()} * (layout.classes() + 1) * sizeof(std::uint64_t)),
          moves_(config.place, sizeof(Moves::Word)) {
        reset();
    }

    Segments<Policy> ref() const {
        Segments<Policy> r;
        r.pool_ = pool_.template as<char>();
        r.states_ = states_.template as<SegmentState>();
        r.bits_ = bits_.template as<std::uint64_t>();
        r.trees_ = trees_.template as<std::uint64_t>();
        r.moves_ = moves_.template as<Moves::Word>();
        r.shape_ = shape_;
        r.layout_ = layout_;
        r.count_ = count_;
        return r;
    }
    void reset() {
        states_.zero();
        trees_.zero();
        moves_.zero();
        // All segments are free: of each level the bits that there are.
        std::vector<std::uint64_t> free(shape_.words());
        const BitTree tree(free.data(), shape_);
        for (std::uint32_t i = 0; i < count_; ++i) tree.set(i);
        trees_.write(0, free.data(), free.size() * sizeof(std::uint64_t));
    }
    const Layout& layout() const { return layout_; }
    /// Segments.
    std::uint32_t count() const { return count_; }
    /// Numbers that blocks may have.
    std::uint32_t block_count() const { return count_ << layout_.blocks_shift(); }
    std::uint64_t pool_bytes() const { return std::uint64_t{count_} << layout_.segment_shift; }
    std::uint64_t overhead_bytes() const {
        return states_.size() + bits_.size() + trees_.size() + moves_.size();
    }

    /// Whether each block has been taken.
    std::vector<bool> taken_blocks() const {
        const auto states = contents<SegmentState>(states_);
        const auto bits = contents<std::uint64_t>(bits_);
        std::vector<bool> taken(block_count());
        for (std::uint64_t i = 0; i < count_; ++i) {
            if (states[i] == 0 || states[i] >= kRun) continue;
            for (std::uint32_t j = 0; j < layout_.blocks(class_of(states[i])); ++j) {
                taken[(i << layout_.blocks_shift()) + j] =
                    (bits[i * bit_words() + j / 64] >> j % 64 & 1) == 0;
            }
        }
        return taken;
    }
    /// Visits all regions: a run is one, and so are free segments next to one another, and a block
    /// that is not in use. A segment of which no block is in use is free. Those that are in use are
    /// left to visit_block(region, number, class).
    template <class Visitor, class BlockVisitor>
    void for_each_region(const std::vector<bool>& used, Visitor&& visit,
                         BlockVisitor&& visit_block) const {
        const auto states = contents<SegmentState>(states_);
        const std::uint64_t segment = layout_.segment_bytes();
        std::uint64_t free = 0;
        const auto end_free = [&](std::uint64_t end) {
            if (free != 0) visit(Region{end - free, free, false});
            free = 0;
        };
        for (std::uint32_t i = 0; i < count_;) {
            const std::uint64_t offset = i * segment;
            if (states[i] >= kRun) {
                end_free(offset);
                const std::uint32_t n = states[i] - kRun;
                visit(Region{offset, n * segment, true});
                i += n;
                continue;
            }
            const std::uint32_t first = i << layout_.blocks_shift();
            const auto end = used.begin() + first + layout_.blocks(0);
            if (std::find(used.begin() + first, end, true) == end) {
                free += segment;
                ++i;
                continue;
            }
            end_free(offset);
            const std::uint32_t k = class_of(states[i++]);
            const std::uint64_t block = segment / layout_.blocks(k);
            for (std::uint32_t j = 0; j < layout_.blocks(k); ++j) {
                const Region region{offset + j * block, block, used[first + j]};
                if (region.allocated) {
                    visit_block(region, first + j, k);
                } else {
                    visit(region);
                }
            }
        }
        end_free(pool_bytes());
    }

private:
    static std::uint32_t class_of(SegmentState divided) { return (divided >> kClassShift) - 1; }
    /// Words of bits of a segment.
    std::uint64_t bit_words() const { return (layout_.blocks(0) + 63) / 64; }

    Layout layout_;
    std::uint32_t count_;
    TreeShape shape_;
    Buffer pool_;
    Buffer states_;
    Buffer bits_;
    Buffer trees_;
    Buffer moves_;
};

}  // namespace heapwood::allocators::segments
