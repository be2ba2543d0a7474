#include "app/measure/builds/report.h"

#include <gtest/gtest.h>

#include "scenes/digest.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {
namespace {

TEST(Report, Spread) {
    EXPECT_EQ(spread({3}).median, 3);
    EXPECT_EQ(spread({4, 1}).median, 2.5);
    const Spread five = spread({5, 1, 4, 2, 30});
    EXPECT_EQ(five.median, 4);
    EXPECT_EQ(five.min, 1);
    EXPECT_EQ(five.max, 30);
}

TEST(Report, SlowdownIsOverAtomicMalloc) {
    Report report = sample_report();
    EXPECT_EQ(slowdown(report, report.results[0]), 1.0);
    EXPECT_FALSE(slowdown(report, report.results[1]));
    report.results[1].built.milliseconds = {5};
    EXPECT_FALSE(slowdown(report, report.results[1])) << "its build is not done";
    report.results[1].outcome = Outcome::done;
    EXPECT_EQ(slowdown(report, report.results[1]), 2.5);
    report.baseline_ms = 10;
    EXPECT_EQ(slowdown(report, report.results[1]), 2.5) << "atomicmalloc's own time counts first";
    report.results[0].outcome = Outcome::failed;
    EXPECT_EQ(slowdown(report, report.results[1]), 0.5);
    report.baseline_ms.reset();
    EXPECT_FALSE(slowdown(report, report.results[1]));
    report.results[0].outcome = Outcome::done;
    report.results[0].built.milliseconds.clear();
    EXPECT_FALSE(slowdown(report, report.results[1]));
}

TEST(Report, TreesMustAgree) {
    Report report = sample_report();
    EXPECT_TRUE(trees_agree(report)) << "a build without a tree has no say";
    report.results[1].tree = report.results[0].tree;
    EXPECT_TRUE(trees_agree(report));
    report.results[1].tree->digest ^= 1;
    EXPECT_FALSE(trees_agree(report));
}

TEST(Report, OutcomesHaveTheirExitCodes) {
    EXPECT_EQ(exit_code(Outcome::done), ExitCode::done);
    EXPECT_EQ(exit_code(Outcome::pool_exhausted), ExitCode::out_of_memory);
    EXPECT_EQ(exit_code(Outcome::nodes_exhausted), ExitCode::out_of_memory);
    EXPECT_EQ(exit_code(Outcome::references_exhausted), ExitCode::out_of_memory);
    EXPECT_EQ(exit_code(Outcome::out_of_memory), ExitCode::out_of_memory);
    EXPECT_EQ(exit_code(Outcome::verification_failed), ExitCode::verification_failed);
    EXPECT_EQ(exit_code(Outcome::overwritten), ExitCode::out_of_memory);
    EXPECT_EQ(exit_code(Outcome::wrong_tree), ExitCode::verification_failed);
    EXPECT_EQ(exit_code(Outcome::hang), ExitCode::internal);
    EXPECT_EQ(exit_code(Outcome::crashed), ExitCode::internal);
    EXPECT_EQ(exit_code(Outcome::failed), ExitCode::internal);
}

TEST(Report, SceneDigestSeesEveryNumber) {
    scenes::Scene scene;
    scene.positions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    scene.triangles = {{0, 1, 2}};
    const std::uint64_t original = digest(scene);
    EXPECT_EQ(digest(scene), original);
    scene.triangles[0].z = 1;
    EXPECT_NE(digest(scene), original);
    scene.triangles[0].z = 2;
    EXPECT_EQ(digest(scene), original);
    scene.positions[2].x = 1e-30F;
    EXPECT_NE(digest(scene), original);
}

}  // namespace
}  // namespace heapwood::app
