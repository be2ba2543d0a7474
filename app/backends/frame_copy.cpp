#include "app/backends/frame_copy.cuh"

#include "allocators/platform/for_chunks.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;

/// Rows that a thread takes at a time.
constexpr std::uint64_t kChunk = 1 << 14;

/// Calls body(i) for i = 0 .. count - 1 on all cores.
template <class Body>
void for_rows(std::uint64_t count, const Body& body) {
    platform::for_chunks(count, kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) body(i);
    });
}

template <class T>
std::vector<T> on_host(const Buffer& buffer) {
    std::vector<T> rows(buffer.size() / sizeof(T));
    buffer.read(0, rows.data(), buffer.size());
    return rows;
}

}  // namespace

FrameCopy::FrameCopy(Place place, const RowArray<float>& positions, const CornerArray& corners,
                     void* stream)
    : positions_(place, positions.count * sizeof(glm::vec3)),
      triangles_(place, corners.count * sizeof(glm::uvec3)) {
    auto* const to_positions = positions_.as<glm::vec3>();
    auto* const to_triangles = triangles_.as<glm::uvec3>();
    if (place == Place::device) {
        detail::copy_frame_on_gpu(positions, to_positions, corners, to_triangles, stream);
        return;
    }
    for_rows(positions.count,
             [&](std::uint64_t i) { to_positions[i] = position_at(positions, i); });
    for_rows(corners.count, [&](std::uint64_t i) { to_triangles[i] = corners_at(corners, i); });
}

kdtree::Frame FrameCopy::frame() const {
    return {.positions = positions_.as<glm::vec3>(),
            .position_count = static_cast<std::uint32_t>(positions_.size() / sizeof(glm::vec3)),
            .triangles = triangles_.as<glm::uvec3>(),
            .triangle_count = static_cast<std::uint32_t>(triangles_.size() / sizeof(glm::uvec3)),
            .bounds = {}};
}

std::vector<glm::vec3> FrameCopy::positions() const {
    return on_host<glm::vec3>(positions_);
}

std::vector<glm::uvec3> FrameCopy::triangles() const {
    return on_host<glm::uvec3>(triangles_);
}

}  // namespace heapwood::app
