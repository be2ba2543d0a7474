#include "scenes/obj/obj_piece.h"

#include <cmath>
#include <cstddef>
#include <istream>
#include <span>

// Compiled in here rather than linked, so that the program can be carried to a machine without it.
#define TINYOBJLOADER_IMPLEMENTATION
#include <tiny_obj_loader.h>

namespace heapwood::scenes {
namespace {

/// Fills a piece with vertices, of which tinyobjloader makes numbers, and faces.
class Collector {
public:
    Collector(ByteSource& source, std::size_t bytes, const ObjLimits& limits, ObjPiece& piece)
        : filter_(
              source, [this](std::span<const std::int32_t> face) { add_face(face); }, bytes),
          limits_(limits),
          piece_(piece) {}

    const ObjFilter& filter() const { return filter_; }

    void read() {
        std::istream stream(&filter_);
        // Lets the filter's faults out; a stream otherwise swallows exceptions of its buffer.
        stream.exceptions(std::ios::badbit);
        tinyobj::callback_t callbacks;
        callbacks.vertex_cb = [](void* to, float x, float y, float z, float) {
            static_cast<Collector*>(to)->add_vertex(x, y, z);
        };
        tinyobj::LoadObjWithCallback(stream, callbacks, this);
    }

private:
    // Both are called while their statement is the filter's last, so the filter's line is theirs.
    void add_vertex(float x, float y, float z) {
        if (piece_.positions.size() == limits_.vertices) {
            throw limits_.too_many_vertices(filter_.line());
        }
        glm::vec3 position{x, y, z};
        const bool finite = std::isfinite(x) && std::isfinite(y) && std::isfinite(z);
        if (!finite || !filter_.non_finite().empty()) {
            piece_.unusable.push_back(
                {piece_.positions.size(), filter_.line(), filter_.non_finite()});
            position = {};
        }
        piece_.positions.push_back(position);
        piece_.vertex_lines.add(filter_.line(), 1);
    }

    void add_face(std::span<const std::int32_t> face) {
        if (face.size() - 2 > limits_.triangles - piece_.triangles.size()) {
            throw limits_.too_many_triangles(filter_.line());
        }
        for (const std::int32_t index : face) note(index);
        const auto bits = [&](std::size_t i) { return static_cast<std::uint32_t>(face[i]); };
        for (std::size_t i = 2; i < face.size(); ++i) {
            piece_.triangles.emplace_back(bits(0), bits(i - 1), bits(i));
        }
        piece_.face_lines.add(filter_.line(), static_cast<std::uint32_t>(face.size() - 2));
    }

    /// Whether there is such a vertex is not known yet.
    void note(std::int32_t index) {
        if (index > piece_.largest_index) {
            piece_.largest_index = index;
            piece_.largest_line = filter_.line();
        } else if (index < 0) {
            const std::size_t before = piece_.positions.size();
            const std::int64_t vertex = static_cast<std::int64_t>(before) + index;
            if (vertex < 0 && (piece_.reaches.empty() || vertex < piece_.reaches.back().vertex)) {
                piece_.reaches.push_back({vertex, before, filter_.line()});
            }
        }
    }

    ObjFilter filter_;
    const ObjLimits& limits_;
    ObjPiece& piece_;
};

}  // namespace

LineFault ObjLimits::too_many_vertices(std::uint64_t line) const {
    return {line, "more than " + std::to_string(vertices) +
                      " vertices; that is more than indices can name"};
}

LineFault ObjLimits::too_many_triangles(std::uint64_t line) const {
    return {line, "more than " + std::to_string(triangles) +
                      " triangles; that is more than a tree can hold"};
}

ObjPiece read_piece(const ObjText& text, const ObjLimits& limits) {
    ObjPiece piece;
    try {
        TextSource source(text);
        Collector collector(source, text.bytes.size(), limits, piece);
        try {
            collector.read();
        } catch (const LineFault& fault) {
            piece.fault = fault;
        }
        piece.lines = collector.filter().lines();
        piece.unknown_line = collector.filter().unknown_line();
        piece.unknown_text = collector.filter().unknown_text();
        piece.positions.shrink_to_fit();
        piece.triangles.shrink_to_fit();
    } catch (...) {
        piece.failure = std::current_exception();
    }
    return piece;
}

}  // namespace heapwood::scenes
