/// @file
/// The words of Hybrid: an open block, and how many of a block's pieces are in use.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::hybrid {

inline constexpr std::uint32_t kUnitShift = 4;
inline constexpr std::uint32_t kUnit = 1U << kUnitShift;  ///< bytes

/// Pieces in use of a block; while it is open kOpen - frees.
using Live = std::uint32_t;

inline constexpr Live kOpen = Live{1} << 31;

/// {block + 1, units used, pieces given}; 0: there is no open block.
using Open = std::uint64_t;

inline constexpr std::uint32_t kPiecesBits = 16;

/// What pieces of so many units together add to an open word.
HEAPWOOD_INLINE Open make_pieces(std::uint32_t units, std::uint32_t pieces) {
    return (Open{units} << kPiecesBits) + pieces;
}
HEAPWOOD_INLINE std::uint32_t block_of_word(Open w) {
    return static_cast<std::uint32_t>(w >> 32) - 1;
}
HEAPWOOD_INLINE std::uint32_t used_of(Open w) {
    return static_cast<std::uint32_t>(w >> kPiecesBits) & 0xffffU;
}
HEAPWOOD_INLINE std::uint32_t pieces_of(Open w) {
    return static_cast<std::uint32_t>(w) & 0xffffU;
}

/// Words between two shared open words, which lie in sectors of the L2 cache of their own.
inline constexpr std::uint32_t kSharedStride = 4;

}  // namespace heapwood::allocators::hybrid
