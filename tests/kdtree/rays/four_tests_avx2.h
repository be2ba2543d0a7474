/// @file
/// FourTests for callers that are compiled for any x86-64.
#pragma once

#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree::tests {

/// What the ray meets of the triangle of `rows`, up to its end: that triangle as one of four, and
/// that ray as one of four. Needs a CPU that WideTree::is_supported() accepts.
Hit hit_of_four_triangles(const Ray& ray, const CornerRow* rows);
Hit hit_of_four_rays(const Ray& ray, const CornerRow* rows);

}  // namespace heapwood::kdtree::tests
