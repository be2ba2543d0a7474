/// @file
/// What the generators build with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scenes/random.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// Adds geometry to a scene up to a number of triangles; what comes after that is ignored.
class Mesh {
public:
    Mesh(Scene& scene, std::uint64_t triangles) : scene_(scene), limit_(triangles) {
        scene_.triangles.reserve(triangles);
    }

    /// Whether the number of triangles is reached.
    bool full() const { return scene_.triangles.size() == limit_; }

    /// Adds a vertex and returns its number.
    std::uint32_t vertex(Point p) {
        scene_.positions.push_back(
            {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)});
        return static_cast<std::uint32_t>(scene_.positions.size() - 1);
    }

    /// Adds a triangle of vertex numbers.
    void triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        if (!full()) scene_.triangles.push_back({a, b, c});
    }

    /// Adds the quadrilateral abcd as two triangles.
    void quad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
        triangle(a, b, c);
        triangle(a, c, d);
    }

    /// Adds up to `triangles` triangles of a grid of columns x rows cells, row by row, two a cell.
    /// Only the rows needed are made. at(i, j) is the Point of column line i and row line j.
    template <class At>
    void grid(std::uint64_t columns, std::uint64_t rows, std::uint64_t triangles, At at) {
        triangles = std::min(triangles, limit_ - scene_.triangles.size());
        rows = std::min(rows, (triangles + 2 * columns - 1) / (2 * columns));
        const std::uint64_t last = scene_.triangles.size() + triangles;
        std::vector<std::uint32_t> below, above;
        for (std::uint64_t j = 0; j <= rows; ++j) {
            above.clear();
            for (std::uint64_t i = 0; i <= columns; ++i) above.push_back(vertex(at(i, j)));
            for (std::uint64_t i = 0; i != columns && j != 0; ++i) {
                if (scene_.triangles.size() < last) triangle(below[i], below[i + 1], above[i + 1]);
                if (scene_.triangles.size() < last) triangle(below[i], above[i + 1], above[i]);
            }
            below.swap(above);
        }
    }

private:
    Scene& scene_;
    std::uint64_t limit_;
};

/// The smallest s >= 1 with s * s >= x.
inline std::uint64_t root_up(std::uint64_t x) {
    std::uint64_t s = 1;
    while (s * s < x) s *= 2;
    for (std::uint64_t step = s / 2; step != 0; step /= 2) {
        if ((s - step) * (s - step) >= x) s -= step;
    }
    return s;
}

}  // namespace heapwood::scenes
