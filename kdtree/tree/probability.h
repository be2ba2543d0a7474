/// @file
/// How likely a ray is to pass through a cell: what expected costs are sums of.
#pragma once

#include "kdtree/model/box.cuh"

namespace heapwood::kdtree {

/// The chance that a random ray through the root's cell passes through another cell: see Quality.
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

    double area_;
    double length_;
};

}  // namespace heapwood::kdtree
