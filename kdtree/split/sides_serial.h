/// @file
/// Sorts references by the side of a split on which they are, for a warp of width 1.
#pragma once

#include <cstdint>

#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"

namespace heapwood::kdtree {

/// Which of a few references go left only, right only, and both ways.
///
/// The order of a node's references says nothing about their sides, so that a processor would
/// guess wrongly at many a branch; here there is none.
class SerialSides {
public:
    /// Most references at a time.
    static constexpr std::uint32_t kMost = 128;

    /// Numbers of references, by their place in the array.
    struct List {
        std::uint8_t numbers[kMost];
        std::uint32_t count = 0;

        const std::uint8_t* begin() const { return numbers; }
        const std::uint8_t* end() const { return numbers + count; }
    };

    /// For the first n references of an array.
    SerialSides(const Reference* references, std::uint32_t n, int axis, float position, Side side) {
        const bool plane_left = side == Side::left;
        for (std::uint32_t i = 0; i < n; ++i) {
            const float lo = references[i].lo[axis];
            const float hi = references[i].hi[axis];
            // goes_left and goes_right, in a form in which compilers see no branch. A reference
            // that is on neither side of the plane lies in it.
            const bool begins_left = lo < position;
            const bool ends_right = hi > position;
            const bool to_left = begins_left | (plane_left & !ends_right);
            const bool to_right = ends_right | (!plane_left & !begins_left);
            append(left, i, !to_right);
            append(right, i, !to_left);
            append(both, i, to_left & to_right);
        }
    }

    List left;
    List right;
    List both;

private:
    static void append(List& list, std::uint32_t i, bool whether) {
        list.numbers[list.count] = static_cast<std::uint8_t>(i);
        list.count += whether;
    }
};

}  // namespace heapwood::kdtree
