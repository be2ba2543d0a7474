#include "tests/kdtree/rays/four_tests_avx2.h"

#include "kdtree/rays/four_tests.h"

namespace heapwood::kdtree::tests {
namespace {

Hit last_lane(const FourTests::Met& met) {
    if ((met.lanes & 8U) == 0) return {};
    return {met.t[3], 0, met.u[3], met.v[3]};
}

}  // namespace

Hit hit_of_four_triangles(const Ray& ray, const CornerRow* rows) {
    FourTests::Met met;
    FourTests(ray).triangles(rows, 1, ray.t_max, met);
    return last_lane(met);
}

Hit hit_of_four_rays(const Ray& ray, const CornerRow* rows) {
    // The other three have the same axes and meet other points, or nothing.
    Ray rays[4] = {ray, ray, ray, ray};
    for (int i = 0; i < 3; ++i) rays[i].origin[i] += 1;
    FourTests::Met met;
    FourTests(Axes(ray), rays).triangle(rows, _mm_set1_ps(ray.t_max), met);
    return last_lane(met);
}

}  // namespace heapwood::kdtree::tests
