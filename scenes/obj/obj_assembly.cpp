#include "scenes/obj/obj_assembly.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "scenes/obj/polygon.h"

namespace heapwood::scenes {
namespace {

/// What indices of a piece mean.
class Naming {
public:
    explicit Naming(const std::vector<glm::vec3>& positions) : positions_(positions) {}

    /// Turns a piece's indices into numbers of the scene's vertices, and cuts its polygons.
    /// @param first_vertex the number of its first vertex.
    /// @return how many polygons no fan covers.
    std::uint64_t apply(const ObjPiece& piece, std::uint64_t first_vertex, glm::uvec3* triangles) {
        std::uint64_t overlapping = 0;
        for (std::size_t i = 0; i < piece.face_lines.run_count(); ++i) {
            const StatementLines::Run& run = piece.face_lines.run(i);
            const auto before = static_cast<std::uint32_t>(
                first_vertex + piece.vertex_lines.items_before(run.line));
            const std::uint32_t end = piece.face_lines.end_of(i);
            for (std::uint32_t t = run.first; t < end; ++t) {
                for (int corner = 0; corner < 3; ++corner) {
                    // Of unsigned numbers, so that a sum below 0 comes out right.
                    std::uint32_t& index = triangles[t][corner];
                    index += static_cast<std::int32_t>(index) < 0 ? before : ~std::uint32_t{0};
                }
            }
            for (std::uint32_t t = run.first; run.each > 1 && t < end; t += run.each) {
                if (!cut({triangles + t, run.each})) ++overlapping;
            }
        }
        return overlapping;
    }

private:
    /// Cuts a polygon, which is the fan from its first corner, anew from the right one.
    /// @return whether there is one.
    bool cut(std::span<glm::uvec3> triangles) {
        corners_ = {triangles[0].x, triangles[0].y};
        for (const glm::uvec3& triangle : triangles) corners_.push_back(triangle.z);
        points_.clear();
        for (const std::uint32_t corner : corners_) points_.push_back(positions_[corner]);
        const std::optional<std::size_t> from = fan_corner(points_);
        const auto corner = [&](std::size_t i) {
            return corners_[(from.value_or(0) + i) % corners_.size()];
        };
        for (std::size_t i = 0; i < triangles.size(); ++i) {
            triangles[i] = {corner(0), corner(i + 1), corner(i + 2)};
        }
        return from.has_value();
    }

    const std::vector<glm::vec3>& positions_;
    std::vector<std::uint32_t> corners_;  ///< of the polygon that is being cut
    std::vector<glm::vec3> points_;       ///< their positions
};

std::string counted(std::uint64_t vertices) {
    return vertices == 1 ? "1 vertex" : std::to_string(vertices) + " vertices";
}

/// Adds values to those that there is room for, and frees them.
template <class T>
void move_to(std::vector<T>& all, std::vector<T>& some) {
    all.insert(all.end(), some.begin(), some.end());
    std::vector<T>().swap(some);
}

}  // namespace

std::size_t ObjAssembly::begin() {
    pieces_.emplace_back();
    return pieces_.size() - 1;
}

void ObjAssembly::end(std::size_t number, ObjPiece&& piece) {
    pieces_[number].piece = std::move(piece);
    while (settled_ < pieces_.size() && pieces_[settled_].piece && !refused_) {
        settle(pieces_[settled_]);
        refused_ = pieces_[settled_].piece->fault || pieces_[settled_].piece->failure;
        ++settled_;
    }
}

/// Finds the piece's place, and what is wrong there first.
void ObjAssembly::settle(Placed& placed) {
    ObjPiece& piece = *placed.piece;
    placed.first_vertex = vertices_;
    placed.first_triangle = triangles_;
    placed.first_line = lines_;
    const auto fault = [&](const LineFault& other) {
        if (!piece.fault || other.line() < piece.fault->line()) piece.fault = other;
    };
    if (piece.positions.size() > limits_.vertices - vertices_) {
        fault(limits_.too_many_vertices(piece.vertex_lines.line_of(limits_.vertices - vertices_)));
    }
    if (piece.triangles.size() > limits_.triangles - triangles_) {
        fault(limits_.too_many_triangles(piece.face_lines.line_of(limits_.triangles - triangles_)));
    }
    const auto first = static_cast<std::int64_t>(vertices_);
    for (const ObjPiece::Reach& reach : piece.reaches) {
        if (first + reach.vertex >= 0) continue;
        const std::int64_t index = reach.vertex - static_cast<std::int64_t>(reach.before);
        fault({reach.line, "face index " + std::to_string(index) + " is out of range; only " +
                               counted(vertices_ + reach.before) + " precede it"});
        break;
    }
    vertices_ += piece.positions.size();
    triangles_ += piece.triangles.size();
    lines_ += piece.lines;
}

Scene ObjAssembly::take(unsigned threads) {
    check();
    Scene scene;
    scene.path = path_;
    copy_to(scene);
    std::atomic<std::uint64_t> overlapping = 0;
    platform::for_chunks(pieces_.size(), 1, threads, [&](std::uint64_t i, std::uint64_t) {
        const Placed& placed = pieces_[i];
        overlapping.fetch_add(Naming(scene.positions)
                                  .apply(*placed.piece, placed.first_vertex,
                                         scene.triangles.data() + placed.first_triangle),
                              std::memory_order_relaxed);
    });
    scene.overlapping = overlapping;
    check_used(scene);
    pieces_.clear();
    finish(scene, threads);
    return scene;
}

void ObjAssembly::fail(std::uint64_t line, const std::string& message) const {
    throw SceneError(path_ + ":" + std::to_string(line) + ": " + message);
}

/// What only the whole file can tell.
void ObjAssembly::check() const {
    if (refused_) {
        const Placed& last = pieces_[settled_ - 1];
        if (!last.piece->fault) std::rethrow_exception(last.piece->failure);
        fail(last.first_line + last.piece->fault->line(), last.piece->fault->what());
    }
    std::int32_t largest = 0;
    std::uint64_t largest_line = 0, unknown_line = 0;
    std::string unknown;
    for (const Placed& placed : pieces_) {
        if (placed.piece->largest_index > largest) {
            largest = placed.piece->largest_index;
            largest_line = placed.first_line + placed.piece->largest_line;
        }
        if (unknown_line == 0 && placed.piece->unknown_line != 0) {
            unknown_line = placed.first_line + placed.piece->unknown_line;
            unknown = placed.piece->unknown_text;
        }
    }
    if (static_cast<std::uint64_t>(largest) > vertices_) {
        fail(largest_line, "face index " + std::to_string(largest) +
                               " is out of range; the file has " + counted(vertices_));
    }
    if (triangles_ > 0) return;
    const std::string message = path_ + ": no triangle, " + counted(vertices_);
    if (unknown_line == 0) throw SceneError(message + "; export it with faces ('f' lines)");
    throw SceneError(message + "; is it a Wavefront OBJ? Line " + std::to_string(unknown_line) +
                     " begins with " + unknown + ", which is none of its keywords");
}

/// Fails for the first unusable vertex that a triangle uses: what no face uses does not matter.
void ObjAssembly::check_used(const Scene& scene) const {
    std::vector<bool> used;
    for (const Placed& placed : pieces_) {
        for (const ObjPiece::UnusableVertex& one : placed.piece->unusable) {
            if (used.empty()) used = used_positions(scene.triangles, scene.positions.size());
            if (!used[placed.first_vertex + one.vertex]) continue;
            fail(placed.first_line + one.line,
                 one.spelt.empty()
                     ? "vertex coordinate is too large; the largest is 3.4e38"
                     : "vertex with " + one.spelt + ", which is not finite; repair the mesh");
        }
    }
}

/// Vertices and triangles, whose indices are still those of the pieces, each of which is freed
/// before the next one comes.
void ObjAssembly::copy_to(Scene& scene) {
    scene.positions.reserve(vertices_);
    for (Placed& placed : pieces_) move_to(scene.positions, placed.piece->positions);
    scene.triangles.reserve(triangles_);
    for (Placed& placed : pieces_) move_to(scene.triangles, placed.piece->triangles);
}

}  // namespace heapwood::scenes
