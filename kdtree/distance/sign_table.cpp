/// @file
/// Makes the pseudo-normals of a scene.
#include "kdtree/distance/sign_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "kdtree/distance/triangle_point.cuh"

namespace heapwood::kdtree {
namespace {

/// A triangle's side between two welded corners, the lesser number first.
struct Side {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t triangle;
    std::uint8_t number;  ///< 0: ab, 1: bc, 2: ca
    bool forwards;        ///< whether the triangle goes from the lesser number to the greater

    bool joins_as(const Side& other) const { return from == other.from && to == other.to; }
};

/// For each position the number of one at the same place.
std::vector<std::uint32_t> welded(const std::vector<glm::vec3>& positions) {
    std::vector<std::uint32_t> order(positions.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto key = [&](std::uint32_t i) {
        return std::array{positions[i].x, positions[i].y, positions[i].z};
    };
    std::ranges::sort(order, {}, key);
    std::vector<std::uint32_t> same(positions.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool repeats = i > 0 && key(order[i]) == key(order[i - 1]);
        same[order[i]] = repeats ? same[order[i - 1]] : order[i];
    }
    return same;
}

/// The unit normal; zeros of a triangle without area.
glm::dvec3 unit_normal(const std::array<glm::dvec3, 3>& corners) {
    const glm::dvec3 normal = detail::cross(corners[1] - corners[0], corners[2] - corners[0]);
    const double length = std::sqrt(detail::dot(normal, normal));
    return length > 0 ? normal / length : glm::dvec3(0);
}

/// Between the two sides at a corner.
double angle(const std::array<glm::dvec3, 3>& corners, unsigned at) {
    const glm::dvec3 one = corners[(at + 1) % 3] - corners[at];
    const glm::dvec3 other = corners[(at + 2) % 3] - corners[at];
    const glm::dvec3 across = detail::cross(one, other);
    return std::atan2(std::sqrt(detail::dot(across, across)), detail::dot(one, other));
}

}  // namespace

SignTable::SignTable(const scenes::Scene& scene, allocators::Place place) {
    const std::size_t count = scene.triangles.size();
    const std::vector<std::uint32_t> same = welded(scene.positions);
    std::vector<glm::dvec3> faces(count);
    std::vector<glm::dvec3> corners(scene.positions.size(), glm::dvec3(0));
    std::vector<Side> sides;
    sides.reserve(3 * count);
    for (std::uint32_t i = 0; i < count; ++i) {
        std::array<glm::dvec3, 3> at;
        std::array<std::uint32_t, 3> number{};
        for (int k = 0; k < 3; ++k) {
            number[k] = same[scene.triangles[i][k]];
            at[k] = scene.positions[number[k]];
        }
        faces[i] = unit_normal(at);
        for (unsigned k = 0; k < 3; ++k) {
            if (faces[i] != glm::dvec3(0)) corners[number[k]] += faces[i] * angle(at, k);
            const auto [from, to] = std::minmax(number[k], number[(k + 1) % 3]);
            sides.push_back({from, to, i, static_cast<std::uint8_t>(k), from == number[k]});
        }
    }

    std::vector<glm::vec3> normals(6 * count);
    std::ranges::sort(sides, {}, [](const Side& s) {
        return std::pair(std::uint64_t{s.from} << 32 | s.to, s.triangle);
    });
    for (std::size_t first = 0, end = 0; first < sides.size(); first = end) {
        glm::dvec3 sum(0);
        std::uint64_t forwards = 0;
        for (end = first; end < sides.size() && sides[end].joins_as(sides[first]); ++end) {
            sum += faces[sides[end].triangle];
            forwards += sides[end].forwards ? 1 : 0;
        }
        const bool is_point = sides[first].from == sides[first].to;
        if (!is_point && (end - first != 2 || forwards != 1)) ++open_edges_;
        for (std::size_t i = first; i < end; ++i) {
            normals[6 * std::size_t{sides[i].triangle} + sides[i].number] = glm::vec3(sum);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        for (int k = 0; k < 3; ++k) {
            normals[6 * i + 3 + k] = glm::vec3(corners[same[scene.triangles[i][k]]]);
        }
    }
    normals_ = allocators::Buffer(place, normals.size() * sizeof(glm::vec3));
    if (!normals.empty()) normals_.write(0, normals.data(), normals_.size());
}

}  // namespace heapwood::kdtree
