#include "kdtree/single/build_input.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A power of two that brings the largest coordinate below 2, so that areas neither overflow nor
/// vanish; multiplying by it is exact.
float area_scale(const Box& bounds) {
    float largest = 0;
    for (const glm::vec3& v : {bounds.lo, bounds.hi}) {
        largest = std::max({largest, std::abs(v.x), std::abs(v.y), std::abs(v.z)});
    }
    if (largest == 0) return 1;
    int exponent = 0;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0F, std::clamp(1 - exponent, -126, 127));
}

CostModel cost_model(const BuildConfig& config, float scale) {
    const bool weighs_traversal = config.empty_rule != EmptyRule::tests;
    return {.traversal = config.traversal_cost,
            .intersection = config.intersection_cost,
            .empty_traversal = config.traversal_cost * (weighs_traversal ? config.empty_bonus : 1),
            .empty_intersection = config.intersection_cost * config.empty_bonus,
            .empty_must_pay = config.empty_rule == EmptyRule::pays,
            .scale = scale};
}

}  // namespace

float normalisation(const scenes::Scene& scene) {
    return normalisation(scene.bounds, scenes::magnitudes(scene.positions));
}

float normalisation(const scenes::Bounds& bounds, const scenes::Magnitudes& magnitudes) {
    const float scale = area_scale({bounds.lo, bounds.hi});
    const auto exact = [&](float x) { return x * scale * (1 / scale) == x; };
    if (magnitudes.largest == 0) return scale;
    return exact(magnitudes.grain) && exact(magnitudes.largest) ? scale : 1;
}

void require_triangles(std::uint64_t triangles) {
    if (triangles > 0 && triangles < Node::kLimit) return;
    throw std::invalid_argument("a scene must have between 1 and 2^30 - 1 triangles, not " +
                                std::to_string(triangles));
}

std::vector<Triangle> gather(const scenes::Scene& scene, float scale) {
    require_triangles(scene.triangles.size());
    return gather(scene, scale, 0, scene.triangles.size());
}

std::vector<Triangle> gather(const scenes::Scene& scene, float scale, std::size_t begin,
                             std::size_t end) {
    std::vector<Triangle> triangles(end - begin);
    for (std::size_t i = begin; i < end; ++i) triangles[i - begin] = triangle_of(scene, i, scale);
    return triangles;
}

TreeRules tree_rules(const BuildConfig& config, const Box& bounds, std::uint64_t triangles) {
    const std::uint32_t depth = max_depth(config, triangles);
    const CostModel model = cost_model(config, area_scale(bounds));
    return {.model = model,
            .grid = BinGrid::of(config.planes),
            .leaf_limit = config.leaf_limit,
            .leaf_measure = config.leaf_area > 0
                                ? config.leaf_area * half_area(bounds, model.scale) /
                                      static_cast<float>(triangles)
                                : kInfinity,
            .exact_limit = config.exact_limit,
            .snap_limit = config.snap_limit,
            .max_depth = depth,
            .bad_ratio = config.bad_split_ratio,
            .hopeless_ratio = config.hopeless_ratio > 0 ? config.hopeless_ratio : kInfinity,
            .bad_limit = max_bad_splits(config, depth),
            .tight_cuts = config.tight_cuts,
            .clip = config.clip};
}

void denormalise(std::vector<Node>& nodes, float scale) {
    for (Node& node : nodes) {
        if (!node.is_leaf()) {
            node = Node::inner(node.axis(), node.split() / scale, node.child());
        }
    }
}

}  // namespace heapwood::kdtree
