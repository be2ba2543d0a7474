#include "scenes/warnings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace heapwood::scenes {
namespace {

constexpr double kMostLoss = 0x1p-16;

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", value);
    return text;
}

std::string loss_sentence(const Bounds& bounds) {
    const double loss = precision_loss(bounds);
    return "far from the origin for its size: single precision rounds its coordinates to multiples "
           "of " +
           short_number(spacing(bounds)) + ", " +
           (loss < 1 ? short_number(100 * loss) + " % of its size" : "more than its size") +
           "; move the scene to the origin before it is saved";
}

}  // namespace

double spacing(const Bounds& bounds) {
    float largest = 0;
    for (int axis = 0; axis < 3; ++axis) {
        largest = std::max({largest, std::abs(bounds.lo[axis]), std::abs(bounds.hi[axis])});
    }
    if (largest == 0) return 0;
    return std::ldexp(1.0, std::max(std::ilogb(largest) - 23, -149));
}

double precision_loss(const Bounds& bounds) {
    double side = 0;
    for (int axis = 0; axis < 3; ++axis) {
        side = std::max(side, double{bounds.hi[axis]} - double{bounds.lo[axis]});
    }
    const double step = spacing(bounds);
    if (side > 0) return step / side;
    return step > 0 ? std::numeric_limits<double>::infinity() : 0;
}

std::vector<std::string> warnings(const std::string& path, const SceneFacts& facts) {
    std::vector<std::string> all;
    if (precision_loss(facts.bounds) > kMostLoss) {
        all.push_back(path + ": " + loss_sentence(facts.bounds));
    }
    if (facts.degenerate == facts.triangles) {
        all.push_back(
            path + ": all triangles have zero area, and no ray meets them; correct the vertices");
    }
    if (facts.overlapping > 0) {
        all.push_back(path + ": " + std::to_string(facts.overlapping) +
                      (facts.overlapping == 1 ? " polygon is" : " polygons are") +
                      " concave and not covered by a fan of triangles from any corner, so that "
                      "triangles overlap; triangulate the scene before it is saved");
    }
    return all;
}

std::vector<std::string> warnings(const Scene& scene) {
    return warnings(scene.path, {.triangles = scene.triangles.size(),
                                 .degenerate = scene.degenerate,
                                 .overlapping = scene.overlapping,
                                 .bounds = scene.bounds,
                                 .magnitudes = {}});
}

}  // namespace heapwood::scenes
