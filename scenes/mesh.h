/// @file
/// What the generators build with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scenes/piece.h"
#include "scenes/random.h"

namespace heapwood::scenes {

/// Adds geometry to a piece of a scene. Shapes describe the whole scene; what comes after the piece
/// is ignored, and what comes before it is counted, or passed over.
class Mesh {
public:
    /// Triangles `first` to `last` of a scene. Refers to the piece, which is empty.
    Mesh(Piece& piece, std::uint64_t first, std::uint64_t last)
        : piece_(piece), first_(first), limit_(last) {
        piece_.scene.triangles.reserve(last - first);
    }

    /// Whether the last triangle is there.
    bool full() const { return triangles_ == limit_; }

    /// Passes over objects that end before the piece, of up to `count` that come next, with so many
    /// vertices and triangles each. @return how many.
    std::uint64_t pass_over(std::uint64_t count, std::uint64_t vertices, std::uint64_t triangles) {
        const std::uint64_t before = std::max(first_, triangles_) - triangles_;
        const std::uint64_t passed = std::min(count, before / triangles);
        vertices_ += passed * vertices;
        triangles_ += passed * triangles;
        return passed;
    }

    /// Adds a vertex and returns its number in the whole scene.
    std::uint32_t vertex(Point p) {
        std::vector<glm::vec3>& positions = piece_.scene.positions;
        if (positions.empty()) piece_.first_position = vertices_;
        positions.emplace_back(static_cast<float>(p.x), static_cast<float>(p.y),
                               static_cast<float>(p.z));
        return static_cast<std::uint32_t>(vertices_++);
    }

    /// Adds a triangle of vertex numbers.
    void triangle(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        if (full()) return;
        const auto base = static_cast<std::uint32_t>(piece_.first_position);
        if (triangles_ >= first_) {
            piece_.scene.triangles.emplace_back(a - base, b - base, c - base);
        }
        ++triangles_;
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
        if (full()) return;
        triangles = std::min(triangles, limit_ - triangles_);
        rows = std::min(rows, (triangles + 2 * columns - 1) / (2 * columns));
        const std::uint64_t last = triangles_ + triangles;
        const std::uint64_t line = columns + 1;
        if (pass_over(1, (rows + 1) * line, triangles) != 0) return;
        const std::uint64_t row = pass_over(rows, line, 2 * columns);
        std::vector<std::uint32_t> below, above;
        for (std::uint64_t j = row; j <= rows; ++j) {
            above.clear();
            for (std::uint64_t i = 0; i <= columns; ++i) above.push_back(vertex(at(i, j)));
            for (std::uint64_t i = 0; i != columns && j != row; ++i) {
                if (triangles_ < last) triangle(below[i], below[i + 1], above[i + 1]);
                if (triangles_ < last) triangle(below[i], above[i + 1], above[i]);
            }
            below.swap(above);
        }
    }

private:
    Piece& piece_;
    std::uint64_t first_;
    std::uint64_t limit_;
    std::uint64_t vertices_ = 0;  ///< so far, of the whole scene
    std::uint64_t triangles_ = 0;
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
