#include "kdtree/build_input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kdtree/tree.h"

namespace heapwood::kdtree {

namespace {

/// A power of two that brings the largest coordinate below 2, so that areas neither overflow nor
/// vanish; multiplying by it is exact.
float area_scale(const scenes::Bounds& bounds) {
    float largest = 0;
    for (const glm::vec3& v : {bounds.lo, bounds.hi}) {
        largest = std::max({largest, std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    }
    if (largest == 0) return 1;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0F, std::clamp(1 - exponent, -126, 127));
}

}  // namespace

std::vector<Triangle> gather(const scenes::Scene& scene) {
    const std::uint64_t n = scene.triangles.size();
    if (n == 0 || n >= Node::kLimit) {
        throw std::invalid_argument("a scene must have between 1 and 2^30 - 1 triangles, not " +
                                    std::to_string(n));
    }
    std::vector<Triangle> triangles(n);
    std::transform(scene.triangles.begin(), scene.triangles.end(), triangles.begin(),
                   [&](const glm::uvec3& t) {
                       return Triangle{scene.positions[t.x], 0, scene.positions[t.y], 0,
                                       scene.positions[t.z], 0};
                   });
    return triangles;
}

CostModel cost_model(const BuildConfig& config, const scenes::Bounds& bounds) {
    return {config.traversal_cost, config.intersection_cost, config.empty_bonus,
            area_scale(bounds)};
}

}  // namespace heapwood::kdtree
