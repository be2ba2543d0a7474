/// @file
/// The checks of a finished tree.
#include "kdtree/tree/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "allocators/platform/threads.h"
#include "kdtree/config.h"
#include "kdtree/tree/walk.h"

namespace heapwood::kdtree {
namespace {

/// Ends a walk with the sentence to return.
struct Violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string text(const Box& box) {
    std::ostringstream out;
    out.precision(9);
    out << '(' << box.lo.x << ", " << box.lo.y << ", " << box.lo.z << ") to (" << box.hi.x << ", "
        << box.hi.y << ", " << box.hi.z << ')';
    return out.str();
}

std::string text(float value) {
    std::ostringstream out;
    out.precision(9);
    out << value;
    return out.str();
}

/// Corner i (0 to 2) of a triangle.
const glm::vec3& corner(const scenes::Scene& scene, std::uint32_t triangle, int i) {
    return scene.positions[scene.triangles[triangle][i]];
}

Box box_of(const scenes::Scene& scene, std::uint32_t triangle) {
    Box box{corner(scene, triangle, 0), corner(scene, triangle, 0)};
    for (int i = 1; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            box.lo[k] = std::min(box.lo[k], corner(scene, triangle, i)[k]);
            box.hi[k] = std::max(box.hi[k], corner(scene, triangle, i)[k]);
        }
    }
    return box;
}

bool meet(const Box& a, const Box& b) {
    return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y &&
           a.lo.z <= b.hi.z && b.lo.z <= a.hi.z;
}

/// Points 3 of verify for one leaf; marks the triangles found.
void check_leaf(const scenes::Scene& scene, const Tree& tree, std::uint32_t number, const Box& cell,
                std::vector<bool>& found) {
    const Node node = tree.nodes[number];
    const std::string leaf = "leaf " + std::to_string(number);
    const std::uint64_t end = std::uint64_t{node.first()} + node.count();
    for (std::uint64_t i = node.first(); i < end; ++i) {
        const std::uint32_t triangle = tree.references[i];
        if (triangle >= scene.triangles.size()) {
            throw Violation(leaf + " refers to triangle " + std::to_string(triangle) + " of " +
                            std::to_string(scene.triangles.size()));
        }
        if (i > node.first() && tree.references[i - 1] >= triangle) {
            throw Violation(leaf + " has triangle " + std::to_string(triangle) +
                            (tree.references[i - 1] == triangle ? " twice" : " out of order"));
        }
        const Box box = box_of(scene, triangle);
        if (!meet(box, cell)) {
            throw Violation(leaf + " with cell " + text(cell) + " has triangle " +
                            std::to_string(triangle) + ", which is outside: " + text(box));
        }
        found[triangle] = true;
    }
}

/// Points 1 to 4 of verify.
void check_structure(const scenes::Scene& scene, const Tree& tree, std::uint32_t depth_limit) {
    const Box& root = tree.bounds;
    if (root.lo != scene.bounds.lo || root.hi != scene.bounds.hi) {
        throw Violation("the root's cell " + text(root) + " is not the box of the triangles, " +
                        text(Box{scene.bounds.lo, scene.bounds.hi}));
    }
    std::vector<bool> found(scene.triangles.size(), false);
    walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t depth) {
        const Node node = tree.nodes[number];
        if (depth > depth_limit) {
            throw Violation("node " + std::to_string(number) + " is deeper than " +
                            std::to_string(depth_limit));
        }
        if (node.is_leaf()) {
            check_leaf(scene, tree, number, cell, found);
        } else if (!(component(cell.lo, node.axis()) <= node.split() &&
                     node.split() <= component(cell.hi, node.axis()))) {
            throw Violation("node " + std::to_string(number) + " is split at " +
                            "xyz"[node.axis()] + " = " + text(node.split()) +
                            ", outside its cell " + text(cell));
        }
    });
    const auto lost = std::find(found.begin(), found.end(), false);
    if (lost != found.end()) {
        throw Violation("triangle " + std::to_string(lost - found.begin()) + " is in no leaf");
    }
}

/// Some points of a triangle whose convex hull is (nearly) its part in a cell.
class Polygon {
public:
    using Point = std::array<double, 3>;

    Polygon() = default;
    Polygon(const scenes::Scene& scene, std::uint32_t triangle) {
        for (int i = 0; i < 3; ++i) {
            const glm::vec3& v = corner(scene, triangle, i);
            add({v.x, v.y, v.z});
        }
    }

    double least(unsigned axis) const {
        double value = points_[0][axis];
        for (std::size_t i = 1; i < size_; ++i) value = std::min(value, points_[i][axis]);
        return value;
    }
    double most(unsigned axis) const {
        double value = points_[0][axis];
        for (std::size_t i = 1; i < size_; ++i) value = std::max(value, points_[i][axis]);
        return value;
    }

    /// The part where the coordinate is at most (sign = 1) or at least (sign = -1) `plane`; some
    /// of the polygon is known to be.
    Polygon part(unsigned axis, double plane, double sign) const {
        Polygon result;
        for (std::size_t i = 0; i < size_; ++i) {
            const Point& a = points_[i];
            const Point& b = points_[i + 1 == size_ ? 0 : i + 1];
            const double from = (a[axis] - plane) * sign;
            const double to = (b[axis] - plane) * sign;
            if (from <= 0) result.add(a);
            if ((from < 0 && to > 0) || (from > 0 && to < 0)) {
                const double t = (plane - a[axis]) / (b[axis] - a[axis]);
                Point cut;
                for (std::size_t k = 0; k < 3; ++k) {
                    // Between the ends, whatever the rounding; and equal to them if they are.
                    const auto [lo, hi] = std::minmax(a[k], b[k]);
                    cut[k] = std::clamp(a[k] + t * (b[k] - a[k]), lo, hi);
                }
                cut[axis] = plane;
                result.add(cut);
            }
        }
        return result;
    }

private:
    /// Exactly clipped, a triangle in a box has at most nine corners; rounding may produce a few
    /// more. To forget some makes the part smaller, and verify less demanding, but never wrong.
    static constexpr std::size_t kCapacity = 24;

    void add(const Point& point) {
        if (size_ < kCapacity) points_[size_++] = point;
    }

    std::array<Point, kCapacity> points_;
    std::size_t size_ = 0;
};

/// Looks for one triangle where it ought to be.
class Search {
public:
    Search(const scenes::Scene& scene, const Tree& tree, std::uint32_t triangle)
        : tree_(tree), triangle_(triangle) {
        const Box box = box_of(scene, triangle);
        for (int k = 0; k < 3; ++k) {
            const double largest = std::max(std::abs(box.lo[k]), std::abs(box.hi[k]));
            flat_[k] = box.lo[k] == box.hi[k];
            margin_[k] = flat_[k] ? 0 : std::ldexp(largest, -44);
        }
    }

    /// A leaf at or below the node that the triangle is missing from, given its part in the node's
    /// cell; nothing if there is none. Recursion ends with the tree's depth, which is limited.
    std::optional<std::uint32_t> missing(std::uint32_t number, const Polygon& polygon) const {
        const Node node = tree_.nodes[number];
        if (node.is_leaf()) {
            const auto first = tree_.references.begin() + node.first();
            if (std::binary_search(first, first + node.count(), triangle_)) return {};
            return number;
        }
        const unsigned axis = node.axis();
        const std::uint32_t left = node.child();
        const std::uint32_t right = left + 1;
        const double plane = node.split();
        const double below = plane - margin_[axis];
        const double above = plane + margin_[axis];
        const double least = polygon.least(axis);
        const double most = polygon.most(axis);
        if (flat_[axis] && least == plane) {
            const auto in_left = missing(left, polygon);
            return in_left ? missing(right, polygon) : in_left;
        }
        if (least < below) {
            const auto in_left =
                missing(left, most <= below ? polygon : polygon.part(axis, below, 1));
            if (in_left) return in_left;
        }
        if (most > above) {
            return missing(right, least >= above ? polygon : polygon.part(axis, above, -1));
        }
        return {};
    }

private:
    const Tree& tree_;
    std::uint32_t triangle_;
    std::array<bool, 3> flat_;
    std::array<double, 3> margin_;
};

/// Point 5 of verify for the triangles from `begin` to `end`: the first that is missing somewhere.
std::optional<std::string> check_triangles(const scenes::Scene& scene, const Tree& tree,
                                           std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t triangle = begin; triangle < end; ++triangle) {
        const auto leaf = Search(scene, tree, triangle).missing(0, Polygon(scene, triangle));
        if (!leaf) continue;
        std::string cell_text;
        walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t) {
            if (number == *leaf) cell_text = text(cell);
        });
        return "triangle " + std::to_string(triangle) + " is missing from leaf " +
               std::to_string(*leaf) + ", whose cell " + cell_text + " it overlaps";
    }
    return {};
}

}  // namespace

std::optional<std::string> verify_structure(const scenes::Scene& scene, const Tree& tree,
                                            std::uint32_t depth_limit) {
    try {
        check_structure(scene, tree, std::min(depth_limit, kMaxDepth));
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return {};
}

std::optional<std::string> verify(const scenes::Scene& scene, const Tree& tree,
                                  std::uint32_t depth_limit) {
    if (auto wrong = verify_structure(scene, tree, depth_limit)) return wrong;

    // Each thread takes a stretch of triangles; the first stretch with a violation has the first.
    const auto count = static_cast<std::uint32_t>(scene.triangles.size());
    std::vector<std::optional<std::string>> found(
        std::clamp(count / 4096, 1U, platform::thread_count(0)));
    const auto check = [&](std::uint32_t thread, std::uint32_t threads) {
        const auto bound = [&](std::uint32_t i) {
            return static_cast<std::uint32_t>(std::uint64_t{count} * i / threads);
        };
        found[thread] = check_triangles(scene, tree, bound(thread), bound(thread + 1));
    };
    platform::run_threads(static_cast<unsigned>(found.size()), check);
    const auto first = std::ranges::find_if(found, [](const auto& f) { return f.has_value(); });
    return first == found.end() ? std::nullopt : *first;
}

}  // namespace heapwood::kdtree
