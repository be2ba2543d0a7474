/// @file
/// Sums over a finished tree.
#include "kdtree/tree/quality.h"

#include <algorithm>

#include "kdtree/tree/walk.h"

namespace heapwood::kdtree {
namespace {

/// The edges of a box. Squares of any float fit a double.
struct Extent {
    double x;
    double y;
    double z;

    explicit Extent(const Box& box)
        : x(double{box.hi.x} - double{box.lo.x}),
          y(double{box.hi.y} - double{box.lo.y}),
          z(double{box.hi.z} - double{box.lo.z}) {}

    double half_area() const { return x * y + y * z + z * x; }
    double length() const { return x + y + z; }
};

/// Chance that a ray through the root's cell passes through another cell.
class Probability {
public:
    explicit Probability(const Box& root)
        : area_(Extent(root).half_area()), length_(Extent(root).length()) {}

    double operator()(const Box& cell) const {
        const Extent extent(cell);
        if (area_ > 0) return extent.half_area() / area_;
        return length_ > 0 ? extent.length() / length_ : 1.0;
    }

private:
    double area_;
    double length_;
};

}  // namespace

Quality quality(const Tree& tree, std::uint64_t triangles) {
    Quality result;
    const Probability probability(tree.bounds);
    walk(tree, [&](std::uint32_t number, const Box& cell, std::uint32_t depth) {
        const Node node = tree.nodes[number];
        const double p = probability(cell);
        ++result.nodes;
        result.max_depth = std::max(result.max_depth, depth);
        if (!node.is_leaf()) {
            result.I += p;
            return;
        }
        ++result.leaves;
        result.empty_leaves += node.count() == 0;
        result.references += node.count();
        result.largest_leaf = std::max(result.largest_leaf, node.count());
        result.L += p;
        result.P += p * node.count();
    });
    if (triangles > 0) {
        result.references_per_triangle =
            static_cast<double>(result.references) / static_cast<double>(triangles);
    }
    return result;
}

}  // namespace heapwood::kdtree
