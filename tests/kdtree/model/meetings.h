/// @file
/// Rays and triangles that are hard to decide on, at random.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kdtree/model/triangle.cuh"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {

/// A ray, and a triangle for it.
struct Meeting {
    Ray ray;
    glm::vec3 a;
    glm::vec3 b;
    glm::vec3 c;
};

/// The triangle as tests read it; its number is 0.
inline std::array<CornerRow, 3> rows_of(const Meeting& m) {
    return {{{m.a.x, m.b.x, m.c.x, 0}, {m.a.y, m.b.y, m.c.y, 0}, {m.a.z, m.b.z, m.c.z, 0}}};
}

/// A coordinate of any size, 0 and small multiples of one value among them, so that areas vanish,
/// overflow and underflow.
inline float awkward(Dice& dice, float unit) {
    if (dice.below(3) == 0) return static_cast<float>(dice.integer(-2, 2)) * unit;
    const float any = std::ldexp(dice.uniform(-1, 1), dice.integer(-40, 3));
    return any * unit;
}

/// The ray need not be valid.
inline Meeting any_meeting(Dice& dice) {
    // The squares of the units from 2^-64 and 2^60 on are no floats.
    const float unit = std::ldexp(1.0F, dice.below(2) == 0 ? 0 : dice.integer(-110, 110));
    const auto point = [&] {
        return glm::vec3{awkward(dice, unit), awkward(dice, unit), awkward(dice, unit)};
    };
    const glm::vec3 a = point(), b = point(), c = point();
    Ray ray{point(),
            {awkward(dice, 1), awkward(dice, 1), awkward(dice, 1)},
            0,
            std::numeric_limits<float>::infinity()};
    if (dice.below(2) == 0) ray.direction[dice.integer(0, 2)] = 0;
    if (dice.below(4) == 0) ray.t_max = std::abs(awkward(dice, unit));
    return {ray, a, b, c};
}

/// Seen from the ray the triangle is so small that its area is a few of the smallest floats, or
/// none; but its corners are far apart along it, on both sides of its end.
inline Meeting meeting_of_tiny_areas(Dice& dice) {
    const float unit = std::ldexp(1.0F, dice.integer(-77, -72));
    const auto point = [&] {
        return glm::vec3{dice.uniform(-1, 1) * unit, dice.uniform(-1, 1) * unit,
                         dice.uniform(1, 2)};
    };
    const glm::vec3 a = point(), b = point(), c = point();
    return {{{0, 0, 0}, {0, 0, 1}, 0, dice.uniform(1, 2)}, a, b, c};
}

/// An area times a distance is about the smallest float, and so may the distance itself be.
inline Meeting meeting_of_tiny_distances(Dice& dice) {
    const int across = dice.integer(-47, 20);
    const int along = std::max(-149, -149 - 2 * across) + dice.integer(0, 8);
    const auto point = [&] {
        const float x = std::ldexp(dice.uniform(-1, 1), across);
        const float y = std::ldexp(dice.uniform(-1, 1), across);
        return glm::vec3{x, y, std::ldexp(dice.uniform(1, 2), along)};
    };
    const glm::vec3 a = point(), b = point(), c = point();
    const int step = dice.below(2) == 0 ? 0 : dice.integer(-60, 60);
    const float t_max = std::ldexp(dice.uniform(1, 2), along - step);
    return {{{0, 0, 0}, {0, 0, std::ldexp(1.0F, step)}, 0, t_max}, a, b, c};
}

}  // namespace heapwood::kdtree::tests
