/// @file
/// How much farther a walk looks than distances say, so that nothing is missed.
#pragma once

#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"
#include "kdtree/model/rounding.cuh"

namespace heapwood::kdtree::detail {

/// A builder may leave out of a leaf what lies beside its cell's border by less than 2^-44 of the
/// triangle's largest coordinate (verify.h): walks look that much farther, and more.
HEAPWOOD_INLINE float aside(const Box& bounds) {
    const auto largest = [](float lo, float hi) { return greater_number(size(lo), size(hi)); };
    return 0x1p-40F * greater_number(largest(bounds.lo.x, bounds.hi.x),
                                     greater_number(largest(bounds.lo.y, bounds.hi.y),
                                                    largest(bounds.lo.z, bounds.hi.z)));
}

/// A square that no smaller square of a distance exceeds, with all that was rounded: by 2^-19 of
/// the square. The constant is some hundred times the smallest float: rounding of the smallest
/// squares.
HEAPWOOD_INLINE float square_limit(float distance) {
    return multiply_add(distance * distance, 1 + 0x1p-19F, 0x1p-140F);
}

}  // namespace heapwood::kdtree::detail
