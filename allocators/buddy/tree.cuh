/// @file
/// The state of the buddy allocator as arithmetic: words that hold five orders of blocks each, and
/// the tree into which they are numbered. Nothing here touches memory; core.cuh has the algorithm.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::buddy {

/// A word describes 32 adjacent units of one size. Bit u: unit u is free. Bit 32 + u: unit u is the
/// first of a block that is allocated, or is split into the 32 units of its child word. A unit of
/// which neither can be said lies inside an allocated block, or is wholly in one thread's hands.
using Word = std::uint64_t;

inline constexpr std::uint32_t kUnits = 32;     ///< of a word
inline constexpr std::uint32_t kOrders = 5;     ///< orders of blocks within a word: 1 to 16 units
inline constexpr std::uint32_t kUnitShift = 4;  ///< log2 of the smallest unit's bytes
inline constexpr Word kAllFree = 0xffffffffU;  ///< the word's units could be one unit of its parent

HEAPWOOD_INLINE std::uint32_t free_units(Word w) {
    return static_cast<std::uint32_t>(w);
}
HEAPWOOD_INLINE std::uint32_t heads(Word w) {
    return static_cast<std::uint32_t>(w >> 32);
}
HEAPWOOD_INLINE Word make_word(std::uint32_t free, std::uint32_t heads) {
    return Word{heads} << 32 | free;
}
/// Index of the lowest one bit of v, which must not be 0.
HEAPWOOD_INLINE std::uint32_t lowest(std::uint32_t v) {
    return platform::floor_log2(v & (0U - v));
}
/// The 2^order units from `unit` on.
HEAPWOOD_INLINE std::uint32_t units(std::uint32_t unit, std::uint32_t order) {
    return ((1U << (1U << order)) - 1U) << unit;  // order < 5
}

/// Where blocks of 2^order units, order at most 5, begin that are free: at multiples of their size.
HEAPWOOD_INLINE std::uint32_t runs(std::uint32_t free, std::uint32_t order) {
    std::uint32_t aligned = 1;
    for (std::uint32_t s = order; s < kOrders; ++s) aligned |= aligned << (1U << s);
    for (std::uint32_t s = 0; s < order; ++s) free &= free >> (1U << s);
    return free & aligned;
}

/// One of `candidates`, which are runs(free, order) and not 0: if there are any whose buddy is not
/// free, one of those, so that larger blocks stay whole; the first from unit `start` on.
HEAPWOOD_INLINE std::uint32_t choose(std::uint32_t candidates, std::uint32_t order,
                                     std::uint32_t start) {
    // Of two adjacent runs only an even and the next odd one are buddies.
    const std::uint32_t pairs = candidates & (candidates >> (1U << order)) & runs(~0U, order + 1);
    const std::uint32_t single = candidates & ~(pairs | pairs << (1U << order));
    const std::uint32_t from = single != 0 ? single : candidates;
    const std::uint32_t later = from & (~0U << start);
    return lowest(later != 0 ? later : from);
}

/// The number of a word in the table.
using Node = std::uint32_t;

/// The numbering of the words, as of a heap in an array but 32-ary: the root's is 31, and the
/// children of a word lie side by side from a multiple of 32 on. Level 0 has units of 16 bytes,
/// every level above it units 32 times as large; the root's level is `top`, and less than 32 of its
/// units are whole, so that every block has its level. Every level but 0 is
/// stored in full, although the pool may end early.
struct Tree {
    static constexpr std::uint64_t kMostLeaves = std::uint64_t{1} << 36;  ///< a pool of 1 TiB
    static constexpr Node kRoot = 31;

    std::uint64_t leaves;  ///< units of 16 bytes in the pool, 1 to kMostLeaves
    std::uint32_t top;     ///< the root's level

    /// The tree of a pool of so many units of 16 bytes.
    static Tree of(std::uint64_t leaves) {
        Tree t{leaves, 0};
        while (t.whole_units(t.top) >= kUnits) ++t.top;
        return t;
    }

    /// Log2 of the bytes of a unit of that level.
    HEAPWOOD_INLINE static std::uint32_t unit_shift(std::uint32_t level) {
        return kUnitShift + kOrders * level;
    }
    /// Whole units of that level in the pool.
    HEAPWOOD_INLINE std::uint64_t whole_units(std::uint32_t level) const {
        return leaves >> (kOrders * level);
    }
    /// Words of that level that describe any part of the pool.
    HEAPWOOD_INLINE std::uint32_t words(std::uint32_t level) const {
        return static_cast<std::uint32_t>((leaves - 1) >> (kOrders * (level + 1))) + 1;
    }
    /// Number of the first word of that level.
    HEAPWOOD_INLINE Node first(std::uint32_t level) const {
        // The levels above it have 1 + 32 + 32^2 + ... words.
        constexpr std::uint64_t kOnes = 0x0842108421U;
        const std::uint64_t above = kOnes & ((std::uint64_t{1} << (kOrders * (top - level))) - 1);
        return kRoot + static_cast<Node>(above);
    }
    /// How many words the table must have room for.
    std::uint64_t places() const {
        return first(0) + platform::round_up<std::uint64_t>(words(0), kUnits);
    }
    HEAPWOOD_INLINE static Node parent(Node word) { return (word >> 5) + (kRoot - 1); }
    HEAPWOOD_INLINE static Node child(Node word, std::uint32_t unit) {
        return ((word - (kRoot - 1)) << 5) + unit;
    }
};

}  // namespace heapwood::allocators::buddy
