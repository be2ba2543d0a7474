#include "app/inspect/boxes.h"

#include <bit>
#include <stdexcept>

#include "allocators/platform/bits.cuh"
#include "kdtree/tree/walk.h"

namespace heapwood::app {
namespace {

void append(std::string& bytes, std::uint32_t word) {
    for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(word >> 8 * i & 0xFFU);
}

void append(std::string& bytes, const glm::vec3& point) {
    for (const float v : {point.x, point.y, point.z}) append(bytes, platform::float_bits(v));
}

/// Faces by the numbers of their corners, whose bits 0, 1, 2 say whether x, y, z are the high ones;
/// seen from outside they run against the clock.
constexpr std::uint32_t kFaces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                        {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};

std::string header(std::uint64_t boxes) {
    return "ply\nformat binary_little_endian 1.0\ncomment cells of a kd-tree by Heapwood\n"
           "element vertex " +
           std::to_string(8 * boxes) +
           "\nproperty float x\nproperty float y\nproperty float z\nelement face " +
           std::to_string(6 * boxes) +
           "\nproperty list uchar int vertex_indices\nproperty uchar depth\n"
           "property int references\nend_header\n";
}

}  // namespace

std::string boxes_file(const kdtree::Tree& tree, std::uint32_t depth) {
    std::string vertices;
    std::string faces;
    std::uint32_t boxes = 0;
    kdtree::walk(tree, [&](std::uint32_t number, const kdtree::Box& cell, std::uint32_t at) {
        if (at > depth) return;
        for (std::uint32_t corner = 0; corner < 8; ++corner) {
            append(vertices, glm::vec3{(corner & 1U) != 0 ? cell.hi.x : cell.lo.x,
                                       (corner & 2U) != 0 ? cell.hi.y : cell.lo.y,
                                       (corner & 4U) != 0 ? cell.hi.z : cell.lo.z});
        }
        const kdtree::Node node = tree.nodes[number];
        for (const auto& face : kFaces) {
            faces += static_cast<char>(4);
            for (const std::uint32_t corner : face) append(faces, 8 * boxes + corner);
            faces += static_cast<char>(at);
            append(faces, node.is_leaf() ? node.count() : 0xFFFFFFFFU);
        }
        if (++boxes == 1U << 28) {
            throw std::runtime_error(
                "the tree has too many nodes for a PLY file: choose a "
                "smaller --depth");
        }
    });
    return header(boxes) + vertices + faces;
}

}  // namespace heapwood::app
