/// @file
/// Costs as integers, for loops of vector instructions over many candidates.
#pragma once

#include <bit>
#include <cstdint>

namespace heapwood::kdtree {

/// More than the bits of any cost: of what is no candidate.
inline constexpr std::int32_t kNoCost = 0x7fffffff;

/// The bits of a cost, which order like costs.
inline std::int32_t cost_bits(float cost, bool is_candidate) {
    // Without the sign, which only what is no number may have.
    return (std::bit_cast<std::int32_t>(cost) | -std::int32_t{!is_candidate}) & kNoCost;
}

}  // namespace heapwood::kdtree
