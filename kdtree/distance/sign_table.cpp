/// @file
/// Makes the pseudo-normals of a scene.
#include "kdtree/distance/sign_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "kdtree/distance/triangle_point.cuh"

namespace heapwood::kdtree {
namespace {

/// The triangles at an edge between two welded corners.
struct Edge {
    glm::dvec3 normals{0};        ///< their sum
    std::uint32_t forwards = 0;   ///< triangles that go from the lesser number to the greater
    std::uint32_t backwards = 0;  ///< ... and from the greater to the lesser
};

/// Both numbers, the lesser first.
std::uint64_t key_of(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
}

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
    const auto corner = [&](std::size_t triangle, unsigned k) {
        return same[scene.triangles[triangle][static_cast<int>(k % 3)]];
    };
    std::vector<glm::dvec3> corners(scene.positions.size(), glm::dvec3(0));
    std::unordered_map<std::uint64_t, Edge> edges;
    edges.reserve(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        std::array<glm::dvec3, 3> at;
        for (unsigned k = 0; k < 3; ++k) at[k] = scene.positions[corner(i, k)];
        const glm::dvec3 face = unit_normal(at);
        for (unsigned k = 0; k < 3; ++k) {
            const std::uint32_t from = corner(i, k);
            const std::uint32_t to = corner(i, k + 1);
            if (face != glm::dvec3(0)) corners[from] += face * angle(at, k);
            Edge& edge = edges[key_of(from, to)];
            edge.normals += face;
            ++(from <= to ? edge.forwards : edge.backwards);
        }
    }
    for (const auto& [key, edge] : edges) {
        const bool is_point = key >> 32 == (key & 0xFFFFFFFFU);
        if (!is_point && (edge.forwards != 1 || edge.backwards != 1)) ++open_edges_;
    }

    std::vector<glm::vec3> normals;
    normals.reserve(6 * count);
    for (std::size_t i = 0; i < count; ++i) {
        for (unsigned k = 0; k < 3; ++k) {
            normals.emplace_back(edges.at(key_of(corner(i, k), corner(i, k + 1))).normals);
        }
        for (unsigned k = 0; k < 3; ++k) normals.emplace_back(corners[corner(i, k)]);
    }
    normals_ = allocators::Buffer(place, normals.size() * sizeof(glm::vec3));
    if (!normals.empty()) normals_.write(0, normals.data(), normals_.size());
}

}  // namespace heapwood::kdtree
