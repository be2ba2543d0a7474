/// @file
/// A curve through space along which points that follow one another are neighbours.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"
#include "kdtree/model/rounding.cuh"

namespace heapwood::kdtree::detail {

/// Where a point is along a Z-order curve through twice a box: a number of 30 bits. What is outside
/// counts as at its side, and NaN as lowest.
HEAPWOOD_INLINE std::uint32_t z_order(const glm::vec3& p, const Box& box) {
    const auto spread = [](float at, float lo, float hi) {
        const float part = (at - lo) / (hi - lo) * 512 + 256;
        auto bits = static_cast<std::uint32_t>(lesser_number(greater_number(0, part), 1023));
        bits = (bits | bits << 16) & 0x030000FFU;
        bits = (bits | bits << 8) & 0x0300F00FU;
        bits = (bits | bits << 4) & 0x030C30C3U;
        return (bits | bits << 2) & 0x09249249U;
    };
    return spread(p.x, box.lo.x, box.hi.x) << 2 | spread(p.y, box.lo.y, box.hi.y) << 1 |
           spread(p.z, box.lo.z, box.hi.z);
}

}  // namespace heapwood::kdtree::detail
