#include "kdtree/single/build_input.h"

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

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

}  // namespace heapwood::kdtree
