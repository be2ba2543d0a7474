#include "scenes/obj/polygon.h"

#include <algorithm>
#include <glm/geometric.hpp>
#include <vector>

namespace heapwood::scenes {
namespace {

constexpr std::size_t kMostTried = 32;
/// The share of a polygon's area that triangles may have outside of it: corners that lie on a line
/// but for rounding have some.
constexpr double kMostOutside = 0x1p-16;

/// Products of coordinates in double precision neither overflow nor vanish.
using Corners = std::vector<glm::dvec3>;

/// The cross product of two edges of triangle i of the fan from a corner.
glm::dvec3 fan_normal(const Corners& p, std::size_t from, std::size_t i) {
    const glm::dvec3& apex = p[from];
    const std::size_t next = from + 1 + i;
    return cross(p[next % p.size()] - apex, p[(next + 1) % p.size()] - apex);
}

}  // namespace

std::optional<std::size_t> fan_corner(std::span<const glm::vec3> corners) {
    const Corners p(corners.begin(), corners.end());
    const std::size_t triangles = p.size() - 2;
    glm::dvec3 normal(0);
    bool flat = true;  // all triangles of the first fan are without an area
    for (std::size_t i = 0; i < triangles; ++i) {
        const glm::dvec3 one = fan_normal(p, 0, i);
        normal += one;
        flat = flat && one == glm::dvec3(0);
    }
    if (flat) return 0;
    const double most = kMostOutside * dot(normal, normal);
    for (std::size_t from = 0; from < std::min(p.size(), kMostTried) && most > 0; ++from) {
        double outside = 0;
        for (std::size_t i = 0; i < triangles && outside <= most; ++i) {
            outside += std::max(0.0, -dot(fan_normal(p, from, i), normal));
        }
        if (outside <= most) return from;
    }
    return std::nullopt;
}

}  // namespace heapwood::scenes
