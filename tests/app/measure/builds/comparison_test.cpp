/// @file
/// What a comparison makes of its turns.
#include "app/measure/builds/comparison.h"

#include <gtest/gtest.h>

#include "tests/app/sample_comparison.h"

namespace heapwood::app {
namespace {

Outcome outcome_of(const Comparison& comparison, std::size_t group, std::size_t allocator) {
    return comparison.groups[group].report.results[allocator].outcome;
}

TEST(Comparison, TurnsAddUp) {
    Result r = failed_result("a", Outcome::unfinished);
    r.kernels.emplace();
    r.minimal_pool_bytes = 5;
    Result first = done_result("a", 3, 7);
    first.built.allocations.emplace();
    first.tree->verified = true;
    add_turn(r, first, 2);
    EXPECT_FALSE(settled(r));
    Result last = done_result("a", 1, 7);
    last.built.warps = 9;
    add_turn(r, last, 2);
    EXPECT_TRUE(settled(r));
    EXPECT_EQ(r.outcome, Outcome::done);
    EXPECT_EQ(r.built.milliseconds, (std::vector<double>{3, 1}));
    EXPECT_TRUE(r.built.allocations && r.tree->verified) << "the first turn's";
    EXPECT_EQ(r.built.warps, 9U) << "the last turn's";
    EXPECT_TRUE(r.kernels && r.minimal_pool_bytes) << "no turn's";
}

TEST(Comparison, AFailureEndsTheTurnsAndKeepsTheTimes) {
    Result r = failed_result("a", Outcome::unfinished);
    add_turn(r, done_result("a", 3, 7), 3);
    add_turn(r, failed_result("a", Outcome::hang), 3);
    EXPECT_TRUE(settled(r));
    EXPECT_EQ(r.outcome, Outcome::hang);
    EXPECT_EQ(r.message, "why");
    EXPECT_EQ(r.built.milliseconds, std::vector<double>{3});
}

TEST(Comparison, AnotherTreeInAnotherTurnIsWrong) {
    Result r = failed_result("a", Outcome::unfinished);
    add_turn(r, done_result("a", 3, 7), 3);
    add_turn(r, done_result("a", 3, 8), 3);
    EXPECT_EQ(r.outcome, Outcome::wrong_tree);
}

TEST(Comparison, AtomicmallocsTreeIsTheRightOneInWhicheverPool) {
    Comparison c = sample_comparison(
        {{failed_result("atomicmalloc", Outcome::pool_exhausted), done_result("a", 1, 8),
          done_result("b", 1, 8)},
         {done_result("atomicmalloc", 1, 7), done_result("a", 1, 8), done_result("b", 1, 7)}});
    judge(c);
    EXPECT_EQ(outcome_of(c, 0, 1), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 0, 2), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 1, 1), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 1, 2), Outcome::done);
    EXPECT_EQ(c.groups[0].report.results[1].message,
              "the tree's digest is 0000000000000008, but atomicmalloc's is 0000000000000007");
    EXPECT_EQ(verdict(c), ExitCode::verification_failed);
}

TEST(Comparison, AVerifiedTreeIsTheRightOne) {
    Comparison c = sample_comparison({{done_result("atomicmalloc", 1, 7), done_result("a", 1, 8)}});
    c.groups[0].report.results[1].tree->verified = true;
    judge(c);
    EXPECT_EQ(outcome_of(c, 0, 0), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 0, 1), Outcome::done);
}

TEST(Comparison, ElseTheMajorityHasTheRightTree) {
    Comparison c = sample_comparison(
        {{done_result("a", 1, 9), done_result("b", 1, 7), done_result("c", 1, 7)}});
    judge(c);
    EXPECT_EQ(outcome_of(c, 0, 0), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 0, 1), Outcome::done);
}

TEST(Comparison, WithoutAMajorityNobodyHas) {
    Comparison c = sample_comparison({{done_result("a", 1, 9), done_result("b", 1, 7)}});
    judge(c);
    EXPECT_EQ(outcome_of(c, 0, 0), Outcome::wrong_tree);
    EXPECT_EQ(outcome_of(c, 0, 1), Outcome::wrong_tree);
}

TEST(Comparison, ScenesHaveTreesOfTheirOwn) {
    Comparison c = sample_comparison({{done_result("atomicmalloc", 1, 7)}});
    c.scenes.push_back(c.scenes[0]);
    c.groups.push_back(c.groups[0]);
    c.groups[1].scene = 1;
    c.groups[1].report.results[0].tree->digest = 8;
    judge(c);
    EXPECT_EQ(verdict(c), ExitCode::done);
}

TEST(Comparison, FastestOfTheFullOnesThatAreDone) {
    Comparison c = sample_comparison(
        {{done_result("atomicmalloc", 1, 7, false), done_result("a", 5, 7), done_result("b", 4, 7),
          done_result("c", 2, 8), done_result("levels", 3, 7)}});
    c.groups[0].report.results[4].method = Method::levels;
    judge(c);
    EXPECT_EQ(fastest_full(c.groups[0]), 2U) << "c's tree is wrong, levels is no allocator";
    EXPECT_EQ(
        fastest_full(sample_comparison({{done_result("atomicmalloc", 1, 7, false)}}).groups[0]),
        std::nullopt);
}

TEST(Comparison, TheWorstDecidesTheExitCode) {
    const auto code = [](Outcome a, Outcome b) {
        return verdict(sample_comparison({{failed_result("a", a), failed_result("b", b)}}));
    };
    EXPECT_EQ(code(Outcome::done, Outcome::pool_exhausted), ExitCode::out_of_memory);
    EXPECT_EQ(code(Outcome::pool_exhausted, Outcome::hang), ExitCode::internal);
    EXPECT_EQ(code(Outcome::verification_failed, Outcome::crashed), ExitCode::verification_failed);
    EXPECT_EQ(code(Outcome::done, Outcome::done), ExitCode::done);
}

TEST(Comparison, SlowdownIsOverTheSamePoolOrElseTheFirstThatHasATime) {
    Comparison c = sample_comparison(
        {{failed_result("atomicmalloc", Outcome::pool_exhausted, false), done_result("a", 3, 7)},
         {done_result("atomicmalloc", 2, 7, false), done_result("a", 3, 7)},
         {done_result("atomicmalloc", 1, 7, false), done_result("a", 3, 7)}});
    judge(c);
    const auto factor = [&](std::size_t group) {
        return slowdown(c.groups[group].report, c.groups[group].report.results[1]).value_or(-1);
    };
    EXPECT_EQ(factor(0), 1.5);
    EXPECT_EQ(c.groups[0].baseline_pool, "2x");
    EXPECT_EQ(factor(1), 1.5);
    EXPECT_EQ(factor(2), 3);
    EXPECT_EQ(c.groups[2].baseline_pool, "3x");
}

}  // namespace
}  // namespace heapwood::app
