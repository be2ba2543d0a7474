#include "scenes/obj_loader.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>

#include "scenes/byte_source.h"
#include "scenes/chunked.h"
#include "scenes/limits.h"
#include "scenes/obj_filter.h"

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
        if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) {
            filter_.fail("vertex coordinate is too large; the largest is 3.4e38");
        }
        if (positions_.size() == kMaxVertices) {
            filter_.fail("more than 2147483647 vertices; that is more than indices can name");
        }
        positions_.push_back({x, y, z});
    }

    void add_face(const tinyobj::index_t* corners, std::size_t count) {
        if (count - 2 > kMaxTriangles - triangles_.size()) {
            filter_.fail("more than " + std::to_string(kMaxTriangles) +
                         " triangles; that is more than a tree can hold");
        }
        const std::uint32_t first = resolve(corners[0].vertex_index);
        std::uint32_t previous = resolve(corners[1].vertex_index);
        for (std::size_t i = 2; i != count; ++i) {
            const std::uint32_t next = resolve(corners[i].vertex_index);
            triangles_.push_back({first, previous, next});
            previous = next;
        }
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
        scene.positions = positions_.take();
        finish(scene);
        return scene;
    }

private:
    static constexpr std::size_t kMaxVertices = std::numeric_limits<std::int32_t>::max();

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
