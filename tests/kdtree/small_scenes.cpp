#include "tests/kdtree/small_scenes.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {
namespace {

using glm::vec3;

void add_soup(Dice& dice, std::vector<vec3>& corners, float scale) {
    const vec3 at = dice.point(-1, 1);
    const float size = dice.uniform(0.02F, 0.5F);
    for (int i = 0; i < 3; ++i) corners.push_back((at + dice.point(-size, size)) * scale);
}

void add_grid(Dice& dice, std::vector<vec3>& corners) {
    for (int i = 0; i < 3; ++i) {
        corners.emplace_back(dice.integer(0, 4), dice.integer(0, 4), dice.integer(0, 4));
    }
}

void add_flat(Dice& dice, std::vector<vec3>& corners) {
    const vec3 at = dice.point(-1, 1);
    for (int i = 0; i < 3; ++i) {
        vec3 corner = at + dice.point(-0.2F, 0.2F);
        corner.y = 0.375F;
        corners.push_back(corner);
    }
}

void add_rectangle(Dice& dice, std::vector<vec3>& corners) {
    const int axis = dice.integer(0, 2);
    vec3 a{dice.integer(0, 8), dice.integer(0, 8), dice.integer(0, 8)};
    vec3 c = a + vec3{dice.integer(1, 3), dice.integer(1, 3), dice.integer(1, 3)};
    c[axis] = a[axis];
    vec3 b = a;
    b[(axis + 1) % 3] = c[(axis + 1) % 3];
    corners.insert(corners.end(), {a, b, c});
}

void add_sliver(Dice& dice, std::vector<vec3>& corners) {
    const vec3 a = dice.point(-1, 1);
    const vec3 b = dice.point(-1, 1);
    corners.insert(corners.end(), {a, b, b + dice.point(-1e-6F, 1e-6F)});
}

void add_point(Dice& dice, std::vector<vec3>& corners) {
    const vec3 a = dice.point(-1, 1);
    const vec3 b = dice.integer(0, 1) ? a : dice.point(-1, 1);
    corners.insert(corners.end(), {a, b, b});
}

void add_far(Dice& dice, std::vector<vec3>& corners, bool first) {
    const vec3 at = first ? vec3{900, 800, 700} : dice.point(0, 0.01F);
    for (int i = 0; i < 3; ++i) corners.push_back(at + dice.point(-0.002F, 0.002F));
}

}  // namespace

scenes::Scene scene_of(std::vector<vec3> corners, std::string name) {
    scenes::Scene scene;
    scene.path = std::move(name);
    scene.positions = std::move(corners);
    for (unsigned i = 0; i + 2 < scene.positions.size(); i += 3) {
        scene.triangles.emplace_back(i, i + 1, i + 2);
    }
    scenes::finish(scene);
    return scene;
}

const std::vector<std::string>& scene_kinds() {
    static const std::vector<std::string> kinds{"soup",   "grid",       "flat", "boxes", "slivers",
                                                "points", "coincident", "far",  "huge",  "tiny"};
    return kinds;
}

scenes::Scene fan(unsigned n) {
    std::vector<vec3> corners;
    for (unsigned i = 0; i < 3 * n; ++i) {
        const double turn = 6.283185307179586 * ((i % 3) / 3.0 + (i / 3) * 0.618033988749895 / 3);
        corners.emplace_back(std::cos(turn), std::sin(turn), 0);
    }
    return scene_of(corners, "fan");
}

scenes::Scene random_scene(const std::string& kind, unsigned count, std::uint64_t seed) {
    Dice dice(seed);
    std::vector<vec3> corners;
    for (unsigned i = 0; i < count; ++i) {
        if (kind == "soup") {
            add_soup(dice, corners, 1);
        } else if (kind == "huge") {
            add_soup(dice, corners, 1e30F);
        } else if (kind == "tiny") {
            add_soup(dice, corners, 1e-30F);
        } else if (kind == "grid") {
            add_grid(dice, corners);
        } else if (kind == "flat") {
            add_flat(dice, corners);
        } else if (kind == "boxes") {
            add_rectangle(dice, corners);
        } else if (kind == "slivers") {
            add_sliver(dice, corners);
        } else if (kind == "points") {
            add_point(dice, corners);
        } else if (kind == "coincident") {
            corners.insert(corners.end(), {{0, 0, 0}, {1, 0.5F, 0}, {0, 1, 1}});
        } else if (kind == "far") {
            add_far(dice, corners, i == 0);
        } else {
            throw std::invalid_argument("no such kind of scene: " + kind);
        }
    }
    return scene_of(std::move(corners), kind + " " + std::to_string(seed));
}

}  // namespace heapwood::kdtree::tests
