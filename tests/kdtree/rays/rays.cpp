#include "tests/kdtree/rays/rays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace heapwood::kdtree::tests {
namespace {

using glm::vec3;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Draws points of one scene.
class Picker {
public:
    Picker(const scenes::Scene& scene, const Tree& tree, Dice& dice)
        : scene_(scene), tree_(tree), dice_(dice) {}

    /// In the scene's box made three times as large, or now and then in the box itself.
    vec3 around() {
        const float reach = dice_.below(4) == 0 ? 0.0F : 1.0F;
        vec3 p;
        for (int k = 0; k < 3; ++k) {
            const float lo = scene_.bounds.lo[k];
            const float hi = scene_.bounds.hi[k];
            const float size = largest_extent();
            p[k] = dice_.uniform(lo - reach * size, hi + reach * size);
        }
        return p;
    }
    vec3 corner() { return corner(dice_.below(scene_.triangles.size()), dice_.integer(0, 2)); }
    vec3 edge() {
        const unsigned t = dice_.below(scene_.triangles.size());
        const int i = dice_.integer(0, 2);
        return mix(corner(t, i), corner(t, (i + 1) % 3), dice_.uniform(0, 1));
    }
    vec3 face() {
        const unsigned t = dice_.below(scene_.triangles.size());
        const vec3 side = mix(corner(t, 0), corner(t, 1), dice_.uniform(0, 1));
        return mix(side, corner(t, 2), dice_.uniform(0, 1));
    }
    /// An inner node; the root if it is a leaf.
    Node inner() {
        for (unsigned i = 0; i < 1000; ++i) {
            const Node node = tree_.nodes[dice_.below(tree_.nodes.size())];
            if (!node.is_leaf()) return node;
        }
        return tree_.nodes[0];
    }
    vec3 direction() {
        for (;;) {
            const vec3 d = dice_.point(-1, 1);
            if (d != vec3{0, 0, 0}) return d;
        }
    }
    float largest_extent() const {
        float size = 0;
        for (int k = 0; k < 3; ++k) {
            size = std::max(size, scene_.bounds.hi[k] - scene_.bounds.lo[k]);
        }
        return size;
    }
    Dice& dice() { return dice_; }

private:
    vec3 corner(unsigned triangle, int i) const {
        return scene_.positions[scene_.triangles[triangle][i]];
    }
    static vec3 mix(const vec3& a, const vec3& b, float s) { return a + s * (b - a); }

    const scenes::Scene& scene_;
    const Tree& tree_;
    Dice& dice_;
};

/// From one point through another, scaled to a length that any scene's t can express.
Ray through(const vec3& from, const vec3& to) {
    vec3 d = to - from;
    const float longest = std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
    if (longest == 0) {
        d = {1, 0, 0};
    } else if (longest < 0x1p-40F || longest > 0x1p40F) {
        // The scale itself may be no float.
        for (int k = 0; k < 3; ++k) d[k] = std::ldexp(d[k], -std::ilogb(longest));
    }
    return {from, d, 0, kInfinity};
}

}  // namespace

const std::vector<std::string>& ray_kinds() {
    static const std::vector<std::string> kinds{"any",         "at_corner", "at_edge",  "at_face",
                                                "from_corner", "axis",      "in_plane", "at_plane",
                                                "near_plane",  "short",     "from_face"};
    return kinds;
}

Ray random_ray(const std::string& kind, const scenes::Scene& scene, const Tree& tree, Dice& dice) {
    Picker pick(scene, tree, dice);
    if (kind == "any") return {pick.around(), pick.direction(), 0, kInfinity};
    if (kind == "at_corner") return through(pick.around(), pick.corner());
    if (kind == "at_edge") return through(pick.around(), pick.edge());
    if (kind == "at_face") return through(pick.around(), pick.face());
    if (kind == "from_corner") return through(pick.corner(), pick.corner());
    if (kind == "from_face") return {pick.face(), pick.direction(), 0, kInfinity};
    if (kind == "axis") {
        Ray ray{pick.corner(), {0, 0, 0}, -kInfinity, kInfinity};
        ray.direction[dice.integer(0, 2)] = dice.below(2) == 0 ? 1.0F : -1.0F;
        if (dice.below(2) == 0) ray.origin[dice.integer(0, 2)] = pick.face()[dice.integer(0, 2)];
        return ray;
    }
    if (kind == "short") {
        const Ray ray = through(pick.around(), pick.face());
        return {ray.origin, ray.direction, 0.5F, dice.below(2) == 0 ? 1.0F : 1.5F};
    }
    const Node node = pick.inner();
    const unsigned axis = node.is_leaf() ? 0 : node.axis();
    const float plane = node.is_leaf() ? scene.bounds.lo.x : node.split();
    vec3 from = pick.around();
    set_component(from, axis, plane);
    if (kind == "at_plane") return {from, pick.direction(), 0, kInfinity};
    if (kind == "in_plane") {
        vec3 to = dice.below(2) == 0 ? pick.corner() : pick.face();
        set_component(to, axis, plane);
        return through(from, to);
    }
    if (kind == "near_plane") {
        const float beside = dice.below(2) == 0 ? kInfinity : -kInfinity;
        set_component(from, axis, std::nextafter(plane, beside));
        vec3 to = pick.face();
        set_component(to, axis, plane);
        Ray ray = through(from, to);
        if (dice.below(2) == 0) {
            const float tilt = std::ldexp(1.0F, -dice.integer(10, 120));
            set_component(ray.direction, axis, dice.below(2) == 0 ? tilt : -tilt);
        }
        return ray;
    }
    throw std::invalid_argument("no such kind of ray: " + kind);
}

}  // namespace heapwood::kdtree::tests
