#include "scenes/scene.h"

#include <cstddef>
#include <glm/common.hpp>
#include <mutex>
#include <span>

#include "allocators/platform/for_chunks.h"
#include "scenes/zero_area.h"

namespace heapwood::scenes {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 15;

/// What finish() computes of some triangles.
struct Extent {
    Bounds bounds;
    std::uint64_t degenerate = 0;
};

Bounds together(const Bounds& a, const Bounds& b) {
    if (a.lo.x > a.hi.x) return b;
    return {glm::min(a.lo, b.lo), glm::max(a.hi, b.hi)};
}

Extent extent_of(const Scene& scene, std::uint64_t begin, std::uint64_t end) {
    Extent extent;
    const glm::vec3& first = scene.positions[scene.triangles[begin].x];
    extent.bounds = {first, first};
    for (std::uint64_t t = begin; t < end; ++t) {
        const glm::uvec3& triangle = scene.triangles[t];
        const glm::vec3& a = scene.positions[triangle.x];
        const glm::vec3& b = scene.positions[triangle.y];
        const glm::vec3& c = scene.positions[triangle.z];
        if (has_zero_area(a, b, c)) ++extent.degenerate;
        for (const glm::vec3* p : {&a, &b, &c}) {
            extent.bounds = {glm::min(extent.bounds.lo, *p), glm::max(extent.bounds.hi, *p)};
        }
    }
    return extent;
}

}  // namespace

void finish(Scene& scene, unsigned threads) {
    platform::for_chunks(scene.positions.size(), kChunk, threads, [&](auto begin, auto end) {
        // Adding +0 turns -0 into +0 and leaves every other value alone.
        for (glm::vec3& p : std::span(scene.positions).subspan(begin, end - begin)) {
            p = {p.x + 0.0f, p.y + 0.0f, p.z + 0.0f};
        }
    });
    scene.degenerate = 0;
    scene.bounds = {};
    std::mutex mutex;  // of the sums
    platform::for_chunks(scene.triangles.size(), kChunk, threads, [&](auto begin, auto end) {
        const Extent extent = extent_of(scene, begin, end);
        const std::lock_guard lock(mutex);
        scene.bounds = together(scene.bounds, extent.bounds);
        scene.degenerate += extent.degenerate;
    });
}

std::vector<bool> used_positions(const std::vector<glm::uvec3>& triangles, std::size_t positions) {
    std::vector<bool> used(positions);
    for (const glm::uvec3& t : triangles) used[t.x] = used[t.y] = used[t.z] = true;
    return used;
}

}  // namespace heapwood::scenes
