#include "scenes/zero_area.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace heapwood::scenes {
namespace {

/// Whether the exact sum is 0. Adds each term to a list of numbers of which no two overlap and
/// whose sum is exact (Shewchuk 1997, Adaptive Precision Floating-Point Arithmetic and Fast Robust
/// Geometric Predicates, Grow-Expansion): that sum is 0 only if all of them are.
bool is_zero_sum(const std::array<double, 6>& terms) {
    std::array<double, 6> exact{};
    for (std::size_t n = 0; n < terms.size(); ++n) {
        double carry = terms[n];
        for (std::size_t i = 0; i < n; ++i) {
            const double sum = carry + exact[i];
            const double part = sum - carry;
            exact[i] = (carry - (sum - part)) + (exact[i] - part);
            carry = sum;
        }
        exact[n] = carry;
    }
    return std::ranges::all_of(exact, [](double x) { return x == 0; });
}

/// Whether three points of a plane lie on one line.
bool on_one_line(double ax, double ay, double bx, double by, double cx, double cy) {
    // Products of floats are exact in double precision, differences are rounded: by 2^-53 each, so
    // that most triangles are known to have an area from twice the area that these give.
    const double one = (bx - ax) * (cy - ay);
    const double other = (by - ay) * (cx - ax);
    if (std::abs(one - other) > 0x1p-50 * (std::abs(one) + std::abs(other))) return false;
    return is_zero_sum({ax * by, -(ay * bx), bx * cy, -(by * cx), cx * ay, -(cy * ax)});
}

}  // namespace

bool has_zero_area(const glm::vec3& a, const glm::vec3& b, const glm::vec3& c) {
    return on_one_line(a.x, a.y, b.x, b.y, c.x, c.y) && on_one_line(a.y, a.z, b.y, b.z, c.y, c.z) &&
           on_one_line(a.z, a.x, b.z, b.x, c.z, c.x);
}

}  // namespace heapwood::scenes
