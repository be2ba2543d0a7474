/// @file
/// Buddy: the binary buddy system (Knowlton 1965, "A fast storage allocator"), without headers and
/// without locks, for thousands of callers at once.
///
/// A block has 16 * 2^n bytes and lies at a multiple of its size from the pool's start; a request
/// gets the smallest that holds it. Two buddies, the halves of a block, that are both free are that
/// block. Pools of any size are used in full: they are a forest of the largest buddies that fit.
///
/// No header is in the pool. The state is a tree of bits beside it, and takes 1.6 % of it (8 bytes
/// for 512) plus the upper levels, which are stored in full: at most another 1.7 %.
/// buddy/core.cuh has the algorithm, and why it is sound.
///
/// **Against the original**: there are no free lists, because all callers would meet at their
/// heads. Buddies merge on demand instead of at once. A forest takes the place of a power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/buddy/core.cuh"
#include "allocators/buddy/tree.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// The host object: owns the pool and the tree; makes them and walks them.
template <class Policy>
class BasicBuddy {
    using Word = buddy::Word;

public:
    using Ref = buddy::Core<Policy>;

    static constexpr Traits traits() {
        return {.name = "buddy",
                .title = "Buddy",
                .source = "Knowlton 1965",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = 4096,
                .slow_crowds = true};
    }

    explicit BasicBuddy(const PoolConfig& config)
        : tree_(buddy::Tree::of(std::max<std::uint64_t>(config.bytes >> buddy::kUnitShift, 1))),
          callers_(std::max({config.callers, config.multiprocessors, 1U})) {
        if (config.bytes < traits().smallest_pool || tree_.leaves > buddy::Tree::kMostLeaves) {
            throw std::invalid_argument("buddy needs a pool of 4096 bytes to 1 TiB");
        }
        pool_ = Buffer(config.place, pool_bytes());
        hints_ = std::bit_floor(std::clamp<std::uint32_t>(tree_.words(0) / 4, 1, 2 * callers_));
        table_ = Buffer(config.place, (tree_.places() + hints_) * sizeof(Word));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.template as<char>();
        r.table_ = table_.template as<Word>();
        r.hints_ = r.table_ + tree_.places();
        r.hint_mask_ = hints_ - 1;
        r.tree_ = tree_;
        r.largest_ = std::uint64_t{1} << (platform::floor_log2(tree_.leaves) + buddy::kUnitShift);
        r.callers_ = callers_;
        // A group of words for each caller in level 0 and one word in level 1, if that leaves three
        // quarters and a half of the pool to others.
        const std::uint64_t words = tree_.words(1);
        const std::uint64_t group_each = std::uint64_t{callers_} * buddy::kGroup;
        r.homes_0_ = narrow(std::clamp<std::uint64_t>(tree_.words(0) / 4, 1, group_each));
        r.homes_1_ = narrow(std::clamp<std::uint64_t>(words / 2, 1, callers_));
        r.first_home_1_ = narrow(std::min<std::uint64_t>(
            platform::ceil_div(r.homes_0_, buddy::kUnits), words - r.homes_1_));
        return r;
    }

    void reset() {
        table_.zero();
        // Of each level the units that do not fill one of the level above are free; behind them
        // lies one that the pool's end cuts off, as if it were split.
        for (std::uint32_t level = 0; level <= tree_.top; ++level) {
            const std::uint64_t whole = tree_.whole_units(level);
            const std::uint64_t index = level == tree_.top ? 0 : whole / buddy::kUnits;
            const std::uint64_t count = whole - index * buddy::kUnits;
            const bool cut = whole << (buddy::kOrders * level) != tree_.leaves;
            const Word w = ((Word{1} << count) - 1) | (Word{cut} << 32 << count);
            if (w != 0) table_.write((tree_.first(level) + index) * sizeof(Word), &w, sizeof(w));
        }
    }
    std::uint64_t pool_bytes() const { return tree_.leaves << buddy::kUnitShift; }
    std::uint64_t overhead_bytes() const { return table_.size(); }

    /// Allocated regions are allocations. Free ones are the largest free blocks, merged as far as a
    /// request would merge them; two adjacent ones are no buddies.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Word> table(tree_.places());
        table_.read(0, table.data(), table.size() * sizeof(Word));
        for (std::uint32_t level = 1; level <= tree_.top; ++level) {
            for (std::uint32_t i = 0; i < tree_.words(level); ++i) {
                merge(table, tree_.first(level) + i);
            }
        }
        walk(table, tree_.top, buddy::Tree::kRoot, visit);
    }

private:
    static std::uint32_t narrow(std::uint64_t v) { return static_cast<std::uint32_t>(v); }

    /// As the core's merge_children, in a copy.
    static void merge(std::vector<Word>& table, buddy::Node at) {
        for (std::uint32_t split = buddy::heads(table[at]); split != 0; split &= split - 1) {
            const std::uint32_t unit = buddy::lowest(split);
            Word& child = table[buddy::Tree::child(at, unit)];
            if (child != buddy::kAllFree) continue;
            child = 0;
            table[at] += (Word{1} << unit) - (Word{1} << 32 << unit);
        }
    }

    template <class Visitor>
    void walk(const std::vector<Word>& table, std::uint32_t level, buddy::Node at,
              Visitor&& visit) const {
        const std::uint32_t free = buddy::free_units(table[at]);
        const std::uint32_t heads = buddy::heads(table[at]);
        const std::uint64_t before = std::uint64_t{at - tree_.first(level)} * buddy::kUnits;
        const std::uint64_t whole = tree_.whole_units(level);
        const std::uint64_t end = std::min<std::uint64_t>(whole - std::min(before, whole), 32);
        const auto is = [](std::uint32_t bits, std::uint32_t unit) {
            return unit < 32 && (bits >> unit & 1) != 0;
        };
        for (std::uint32_t unit = 0; unit < end || is(heads, unit);) {
            const bool head = is(heads, unit);
            const buddy::Node child = head && level > 0 ? buddy::Tree::child(at, unit) : 0;
            std::uint32_t size = 1;
            if (child != 0 && table[child] != 0) {
                walk(table, level - 1, child, visit);
            } else {
                if (head) {
                    while (unit + size < end && !is(free | heads, unit + size)) ++size;
                } else {
                    for (std::uint32_t order = 0; order <= buddy::kOrders; ++order) {
                        if (is(buddy::runs(free, order), unit)) size = 1U << order;
                    }
                }
                const std::uint32_t shift = buddy::Tree::unit_shift(level);
                visit(Region{(before + unit) << shift, std::uint64_t{size} << shift, head});
            }
            unit += size;
        }
    }

    buddy::Tree tree_;
    std::uint32_t callers_;
    std::uint32_t hints_;
    Buffer pool_;
    Buffer table_;  ///< the words, then the hints
};

/// What BasicBuddy needs to be told.
struct BuddyPolicy {
    static constexpr std::uint32_t kPatience = 64;
    HEAPWOOD_INLINE static void pause() {}
};

using Buddy = BasicBuddy<BuddyPolicy>;

static_assert(Allocator<Buddy>);

}  // namespace heapwood::allocators
