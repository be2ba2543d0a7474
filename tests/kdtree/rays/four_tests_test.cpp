/// @file
/// The triangle test with vector instructions is the one without.
#include <gtest/gtest.h>

#include "kdtree/rays/wide_tree.h"
#include "tests/kdtree/model/meetings.h"
#include "tests/kdtree/rays/four_tests_avx2.h"

namespace heapwood::kdtree {
namespace {

using tests::Dice;
using tests::Meeting;

bool is_same(const Hit& a, const Hit& b) {
    return a.found() == b.found() &&
           (!a.found() || (a.t == b.t && a.u == b.u && a.v == b.v && a.triangle == b.triangle));
}

template <class Make>
void compare(const Make& make) {
    if (!WideTree::is_supported()) GTEST_SKIP() << "this CPU has no AVX2 with FMA";
    Dice dice;
    unsigned hits = 0;
    for (unsigned i = 0; i < 500000; ++i) {
        const Meeting meeting = make(dice);
        const Ray& ray = meeting.ray;
        if (!ray.is_valid()) continue;
        const auto rows = tests::rows_of(meeting);
        const TriangleTest test(ray);
        Hit wanted{};
        if (test.meets(rows.data(), ray.t_max, wanted)) {
            test.locate(rows.data(), wanted);
            ++hits;
        } else {
            wanted = {};
        }
        ASSERT_TRUE(is_same(tests::hit_of_four_triangles(ray, rows.data()), wanted)) << i;
        ASSERT_TRUE(is_same(tests::hit_of_four_rays(ray, rows.data()), wanted)) << i;
    }
    EXPECT_GT(hits, 2500U);
}

TEST(FourTests, AreTriangleTests) {
    compare(tests::any_meeting);
}

TEST(FourTests, AreTriangleTestsWhereAreasUnderflow) {
    compare(tests::meeting_of_tiny_areas);
}

TEST(FourTests, AreTriangleTestsWhereDistancesUnderflow) {
    compare(tests::meeting_of_tiny_distances);
}

}  // namespace
}  // namespace heapwood::kdtree
