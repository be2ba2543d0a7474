#include "scenes/obj/obj_loader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <vector>

#include "scenes/limits.h"
#include "scenes/obj/byte_source.h"
#include "scenes/obj/chunked.h"
#include "scenes/obj/obj_filter.h"
#include "scenes/obj/polygon.h"

// Compiled in here rather than linked, so that the program can be carried to a machine without it.
#define TINYOBJLOADER_IMPLEMENTATION
#include <tiny_obj_loader.h>

namespace heapwood::scenes {
namespace {

/// Takes what tinyobjloader reads. Its callbacks come while the statement is the filter's last, so
/// the filter's line is theirs.
class Collector {
public:
    explicit Collector(const ObjFilter& filter) : filter_(filter) {}

    void add_vertex(float x, float y, float z) {
        if (positions_.size() == kMaxVertices) {
            filter_.fail("more than 2147483647 vertices; that is more than indices can name");
        }
        glm::vec3 position{x, y, z};
        const bool finite = std::isfinite(x) && std::isfinite(y) && std::isfinite(z);
        if (!finite || !filter_.non_finite().empty()) {
            unusable_.push_back({positions_.size(), filter_.line(), filter_.non_finite()});
            position = {};
        }
        positions_.push_back(position);
    }

    void add_face(const tinyobj::index_t* corners, std::size_t count) {
        if (count - 2 > kMaxTriangles - triangles_.size()) {
            filter_.fail("more than " + std::to_string(kMaxTriangles) +
                         " triangles; that is more than a tree can hold");
        }
        corners_.clear();
        std::uint32_t last = 0;
        for (std::size_t i = 0; i < count; ++i) {
            corners_.push_back(resolve(corners[i].vertex_index));
            last = std::max(last, corners_.back());
        }
        std::size_t from = 0;
        if (count > 3 && last < positions_.size()) {
            from = fan_corner_of(positions_);
        } else if (count > 3) {
            early_.push_back({triangles_.size(), count});
        }
        for (std::size_t i = 0; i < count - 2; ++i) triangles_.push_back(fan_triangle(from, i));
    }

    /// Checks what only the whole file can tell and hands over the scene.
    Scene take(const std::string& path) {
        if (largest_index_ > static_cast<std::int64_t>(positions_.size())) {
            filter_.fail("face index " + std::to_string(largest_index_) +
                             " is out of range; the file has " + vertices(),
                         largest_line_);
        }
        if (triangles_.size() == 0) {
            std::string message = path + ": no triangle, " + vertices();
            if (filter_.unknown_line() != 0) {
                message += "; is it a Wavefront OBJ? Line " +
                           std::to_string(filter_.unknown_line()) + " begins with " +
                           filter_.unknown_text() + ", which is none of its keywords";
            } else {
                message += "; export it with faces ('f' lines)";
            }
            throw SceneError(message);
        }
        Scene scene;
        scene.path = path;
        scene.triangles = triangles_.take();
        check_used(scene.triangles);
        scene.positions = positions_.take();
        cut_early(scene);
        scene.overlapping = overlapping_;
        finish(scene);
        return scene;
    }

private:
    static constexpr std::size_t kMaxVertices = std::numeric_limits<std::int32_t>::max();

    /// A vertex with a coordinate that is not finite. The scene has it in the origin.
    struct UnusableVertex {
        std::uint64_t vertex;
        std::uint64_t line;
        std::string spelt;  ///< the coordinate, in quotes; empty: a number that is too large
    };

    /// Fails for the first unusable vertex that a triangle uses: what no face uses does not matter.
    void check_used(const std::vector<glm::uvec3>& triangles) const {
        if (unusable_.empty()) return;
        const std::vector<bool> used = used_positions(triangles, positions_.size());
        for (const UnusableVertex& one : unusable_) {
            if (!used[one.vertex]) continue;
            filter_.fail(one.spelt.empty() ? "vertex coordinate is too large; the largest is 3.4e38"
                                           : "vertex with " + one.spelt +
                                                 ", which is not finite; repair the mesh",
                         one.line);
        }
    }

    /// A polygon that stands before a vertex of its own.
    struct EarlyPolygon {
        std::size_t first;  ///< of its triangles
        std::size_t corners;
    };

    /// The corner from which the polygon corners_ is cut into a fan.
    template <class Positions>
    std::size_t fan_corner_of(const Positions& positions) {
        points_.clear();
        for (const std::uint32_t corner : corners_) points_.push_back(positions[corner]);
        const auto from = fan_corner(points_);
        if (!from) ++overlapping_;
        return from.value_or(0);
    }

    /// Triangle i of the fan from a corner of the polygon corners_.
    glm::uvec3 fan_triangle(std::size_t from, std::size_t i) const {
        const std::size_t n = corners_.size();
        return {corners_[from], corners_[(from + 1 + i) % n], corners_[(from + 2 + i) % n]};
    }

    /// Cuts again, now that all vertices are known, the polygons that stand before theirs.
    void cut_early(Scene& scene) {
        for (const EarlyPolygon& polygon : early_) {
            glm::uvec3* const triangles = scene.triangles.data() + polygon.first;
            corners_ = {triangles->x, triangles->y};
            for (std::size_t i = 2; i < polygon.corners; ++i) {
                corners_.push_back(triangles[i - 2].z);
            }
            const std::size_t from = fan_corner_of(scene.positions);
            for (std::size_t i = 0; i < polygon.corners - 2; ++i) {
                triangles[i] = fan_triangle(from, i);
            }
        }
    }

    std::string vertices() const {
        const std::size_t count = positions_.size();
        return count == 1 ? "1 vertex" : std::to_string(count) + " vertices";
    }

    std::uint32_t resolve(int index) {
        if (index < 0) {
            const std::int64_t position =
                static_cast<std::int64_t>(positions_.size()) + std::int64_t{index};
            if (position < 0) {
                filter_.fail("face index " + std::to_string(index) + " is out of range; only " +
                             vertices() + " precede it");
            }
            return static_cast<std::uint32_t>(position);
        }
        // A vertex may follow later, so the range is checked at the end.
        if (index > largest_index_) {
            largest_index_ = index;
            largest_line_ = filter_.line();
        }
        return static_cast<std::uint32_t>(index - 1);
    }

    const ObjFilter& filter_;
    Chunked<glm::vec3> positions_;
    Chunked<glm::uvec3> triangles_;
    std::vector<std::uint32_t> corners_;  ///< of the polygon that is being cut
    std::vector<glm::vec3> points_;       ///< their positions
    std::vector<EarlyPolygon> early_;
    std::vector<UnusableVertex> unusable_;
    std::uint64_t overlapping_ = 0;
    std::int64_t largest_index_ = 0;
    std::uint64_t largest_line_ = 0;
};

}  // namespace

Scene load_obj(const std::string& path) {
    const auto source = open_source(path);
    ObjFilter filter(*source, path);
    Collector collector(filter);
    std::istream stream(&filter);
    // Lets the filter's SceneError out; a stream otherwise swallows exceptions of its buffer.
    stream.exceptions(std::ios::badbit);
    tinyobj::callback_t callbacks;
    callbacks.vertex_cb = [](void* to, float x, float y, float z, float) {
        static_cast<Collector*>(to)->add_vertex(x, y, z);
    };
    callbacks.index_cb = [](void* to, tinyobj::index_t* corners, int count) {
        static_cast<Collector*>(to)->add_face(corners, static_cast<std::size_t>(count));
    };
    tinyobj::LoadObjWithCallback(stream, callbacks, &collector);
    return collector.take(path);
}

}  // namespace heapwood::scenes
