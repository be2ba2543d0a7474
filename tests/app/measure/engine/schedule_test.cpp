/// @file
/// Turns without processes: their order, budgets, failures, and what a journal brings back.
#include "app/measure/engine/schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "app/measure/engine/worker.h"
#include "app/measure/workloads/bench_report.h"
#include "app/measure/workloads/workload_plan.h"
#include "app/measure/workloads/workload_worker.h"

namespace heapwood::app {
namespace {

/// A report of two tests, of two points each, and three runners; the second test begins with its
/// last point and is not for the prefix sum.
BenchReport small_report(unsigned repeat) {
    BenchReport report;
    report.run.repeat = repeat;
    report.run.time_limit = 100;
    for (const char* name : {"a", "b"}) {
        report.runners.push_back(runner_of(*find_backend("cmalloc", false)));
        report.runners.back().name = name;
    }
    report.runners.push_back(prefix_sum_runner());
    Task one;
    one.pool_bytes = 1 << 20;
    Task two = one;
    two.callers = 2;
    Series series{.id = "t",
                  .test = "t",
                  .title = "",
                  .source = "",
                  .axis = Axis{"x", "x"},
                  .metrics = {{"ms", "time", "ms", true}},
                  .points = {{1, one}, {2, two}},
                  .baseline = true};
    report.series = {series};
    series.id = series.test = "u";
    series.baseline = false;
    series.descending = true;
    report.series.push_back(series);
    report.cells = cells_of(report.series, report.runners);
    return report;
}

TaskResult one_sample(double ms) {
    return {.outcome = Outcome::done,
            .message = "",
            .counts = {},
            .metrics = {{"ms", {.cold = {ms}, .warm = {ms, ms}, .value = {}}}}};
}

/// What takes the turns: told the runner and how many callers the task has.
using Turn = std::function<Answer(const std::string& runner, std::uint32_t callers)>;

class FakeWorkers final : public Workers {
public:
    explicit FakeWorkers(Turn turn) : turn_(std::move(turn)) {}

    void prepare(const Runner& runner, const Setting&) override { prepared.push_back(runner.name); }
    void await(const Runner&) override {}
    Answer ask(const Runner& runner, const Setting&, const Request& request,
               double seconds) override {
        limit = seconds;
        return turn_(runner.name, request.work.at("callers"));
    }
    void stop(const Runner& runner) override { stopped.push_back(runner.name); }

    double limit = 0;
    std::vector<std::string> prepared;
    std::vector<std::string> stopped;

private:
    Turn turn_;
};

Answer answer(const TaskResult& result, double seconds = 0) {
    return {.sample = result, .message = "", .seconds = seconds};
}

/// A schedule of a small report.
struct Trial {
    explicit Trial(unsigned repeat, Turn turn, double budget = 100)
        : report(small_report(repeat)), workers(std::move(turn)) {
        report.run.time_limit = budget;
    }
    void run() {
        WorkloadPlan plan(report);
        Schedule schedule(plan, workers, [&](const Json& entry) { notes.push_back(entry); });
        for (const Json& entry : earlier) schedule.replay(entry);
        schedule.run();
    }
    const TaskResult& result(std::size_t cell) const { return report.cells[cell].result; }
    std::size_t samples(std::size_t cell) const {
        return result(cell).metrics.at("ms").cold.size();
    }

    BenchReport report;
    FakeWorkers workers;
    std::vector<Json> earlier;
    std::vector<Json> notes;
};

TEST(Schedule, RunnersTakeTurnsAtEachPointOfEachRepetition) {
    std::vector<std::string> turns;
    Trial trial(2, [&](const std::string& runner, std::uint32_t callers) {
        turns.push_back(runner + std::to_string(callers));
        return answer(one_sample(static_cast<double>(turns.size())));
    });
    trial.run();
    EXPECT_EQ(turns, (std::vector<std::string>{
                         "a1", "b1", "prefix-sum1", "a2", "b2", "prefix-sum2",  //
                         "a1", "b1", "prefix-sum1", "a2", "b2", "prefix-sum2",  //
                         "a2", "b2", "a1",          "b1", "a2", "b2",          "a1", "b1"}));
    const Samples& first = trial.result(0).metrics.at("ms");
    EXPECT_EQ(first.cold, (std::vector<double>{1, 7}));
    EXPECT_EQ(first.warm, (std::vector<double>{1, 1, 7, 7}));
    EXPECT_EQ(trial.report.cells[0].turns, 2U);
    EXPECT_EQ(trial.notes.size(), turns.size());
    EXPECT_EQ(trial.workers.limit, 100);
}

TEST(Schedule, PassesOverARunnerThatHungUntilTheBlockIsDone) {
    unsigned turns_of_a = 0;
    Trial trial(3, [&](const std::string& runner, std::uint32_t callers) {
        if (runner == "a" && ++turns_of_a == 2 && callers == 2) {
            return Answer{.sample = {}, .outcome = Outcome::hang, .message = "no end"};
        }
        return answer(one_sample(1));
    });
    trial.run();
    // Series t: both points in the first repetition, of which the second hung; then u in full.
    EXPECT_EQ(turns_of_a, 2U + 6U);
    EXPECT_EQ(trial.result(0).outcome, Outcome::done);
    EXPECT_EQ(trial.samples(0), 1U);
    EXPECT_EQ(trial.result(3).outcome, Outcome::hang);
    EXPECT_TRUE(trial.result(3).metrics.empty());
    EXPECT_EQ(trial.samples(4), 3U);
    EXPECT_EQ(verdict(trial.report), ExitCode::done) << "a hang is a finding";
}

TEST(Schedule, ACellThatFailedHasNoFurtherTurn) {
    unsigned turns = 0;
    Trial trial(3, [&](const std::string& runner, std::uint32_t callers) {
        TaskResult result = one_sample(1);
        if (runner == "a" && callers == 1) {
            ++turns;
            result.outcome = Outcome::out_of_pool;
        }
        return answer(result);
    });
    trial.run();
    EXPECT_EQ(turns, 2U) << "once in each test";
    EXPECT_EQ(trial.result(0).outcome, Outcome::out_of_pool);
    EXPECT_EQ(trial.samples(3), 3U);
}

TEST(Schedule, SkipsARunnerWhoseBudgetIsUsedUp) {
    Trial trial(
        1,
        [&](const std::string& runner, std::uint32_t) {
            return answer(one_sample(1), runner == "b" ? 0.002 : 0.0001);
        },
        0.001);
    trial.run();
    EXPECT_EQ(trial.result(1).outcome, Outcome::done);
    EXPECT_EQ(trial.result(3).outcome, Outcome::done);
    EXPECT_EQ(trial.result(4).outcome, Outcome::skipped);
    EXPECT_NE(trial.result(4).message.find("0.001 s"), std::string::npos);
    EXPECT_EQ(trial.result(9).outcome, Outcome::done) << "the next test has a budget of its own";
}

TEST(Schedule, NonsenseEndsTheCellAndTheProcess) {
    Trial trial(1, [&](const std::string& runner, std::uint32_t) {
        Answer strange = answer(one_sample(1));
        if (runner == "a") strange.sample = {{"outcome", "done"}};
        return strange;
    });
    trial.run();
    EXPECT_EQ(trial.result(0).outcome, Outcome::crashed);
    EXPECT_NE(trial.result(0).message.find("nonsense: {\"outcome\""), std::string::npos);
    EXPECT_EQ(trial.workers.stopped.size(), 4U);
    EXPECT_EQ(trial.result(1).outcome, Outcome::done);
    EXPECT_EQ(verdict(trial.report), ExitCode::internal);
}

/// Ends after four turns, the last of which uses the budget of the first test up.
Turn four_turns(unsigned& turns) {
    return [&turns](const std::string&, std::uint32_t) {
        if (turns == 4) throw Interrupted();
        ++turns;
        return answer(one_sample(turns), turns == 4 ? 200 : 1);
    };
}

TEST(Schedule, ATurnMayHaveNothingToMeasure) {
    // The fragmentation of a pool that cannot be walked.
    TaskResult nothing;
    Trial trial(1, [&](const std::string&, std::uint32_t) { return answer(nothing); });
    trial.run();
    EXPECT_EQ(trial.result(0).outcome, Outcome::done);
}

TEST(Schedule, WhatWasInterruptedIsSaidToBe) {
    unsigned turns = 0;
    Trial trial(1, four_turns(turns));
    WorkloadPlan plan(trial.report);
    Schedule schedule(plan, trial.workers, [](const Json&) {});
    EXPECT_THROW(schedule.run(), Interrupted);
    plan.end();
    EXPECT_EQ(trial.result(3).outcome, Outcome::done);
    EXPECT_EQ(trial.result(4).outcome, Outcome::skipped);
    EXPECT_EQ(trial.result(4).message, "interrupted");
}

TEST(Schedule, GoesOnFromWhatWasNoted) {
    unsigned turns = 0;
    Trial first(2, four_turns(turns));
    EXPECT_THROW(first.run(), Interrupted);
    ASSERT_EQ(first.notes.size(), 4U);

    unsigned more = 0;
    Trial second(2, [&](const std::string&, std::uint32_t) {
        ++more;
        return answer(one_sample(0));
    });
    second.earlier = first.notes;
    second.run();
    // Of 20 turns 4 were taken; "a" has no time left for its two others in the first test.
    EXPECT_EQ(more, 20U - 4U - 2U);
    EXPECT_EQ(second.result(1).metrics.at("ms").cold, (std::vector<double>{2, 0}));
    EXPECT_EQ(second.result(0).metrics.at("ms").cold, (std::vector<double>{1}));
}

TEST(Schedule, RefusesNotesThatNoRunMakes) {
    const Json good{{"cell", 0}, {"turn", answer(one_sample(1), 1)}};
    const auto changed = [&](const char* pointer, const Json& value) {
        Json other = good;
        other[Json::json_pointer(pointer)] = value;
        return other;
    };
    const auto without = [&](const char* key) {
        Json other = good;
        other["turn"].erase(key);
        return other;
    };
    const std::vector<Json> bad{
        changed("/cell", 99),
        changed("/cell", -1),
        changed("/turn/seconds", -1),
        without("seconds"),
        without("sample"),
        changed("/turn/sample", Json()),
        changed("/turn/outcome", "hang"),
        {{"cell", 0}, {"turn", Answer{.sample = {}, .outcome = Outcome::skipped, .message = ""}}},
        changed("/turn/sample/outcome", "fine"),
        changed("/turn/sample/outcome", "hang"),
        changed("/turn/sample/counts/frees", -1),
        changed("/turn/sample/counts", 0),
        changed("/turn/sample/pool_bytes", -5),
        changed("/turn/sample/metrics/ms/cold/0", -1),
        changed("/turn/sample/metrics", 1),
        3,
    };
    for (const Json& entry : bad) {
        Trial trial(1, [](const std::string&, std::uint32_t) { return answer(one_sample(1)); });
        trial.earlier = {entry};
        EXPECT_ANY_THROW(trial.run()) << entry.dump();
    }
    Trial twice(1, [](const std::string&, std::uint32_t) { return answer(one_sample(1)); });
    twice.earlier = {good, good};
    EXPECT_ANY_THROW(twice.run()) << "more turns than there are";
}

TEST(Verdict, OverwrittenBlocksBeforeErrorsBeforeMissingMemory) {
    BenchReport report = small_report(1);
    const auto set = [&](std::size_t cell, Outcome outcome) {
        report.cells[cell].result.outcome = outcome;
    };
    for (std::size_t i = 0; i < report.cells.size(); ++i) set(i, Outcome::out_of_pool);
    EXPECT_EQ(verdict(report), ExitCode::out_of_memory);
    set(0, Outcome::done);
    EXPECT_EQ(verdict(report), ExitCode::done);
    set(1, Outcome::failed);
    EXPECT_EQ(verdict(report), ExitCode::internal);
    set(2, Outcome::corrupt);
    EXPECT_EQ(verdict(report), ExitCode::verification_failed);
}

TEST(Verdict, TimeLimitsAreFindingsAlsoWhereThereIsNothingElse) {
    BenchReport report = small_report(1);
    for (BenchCell& cell : report.cells) cell.result.outcome = Outcome::hang;
    EXPECT_EQ(verdict(report), ExitCode::done);
    report.cells[0].result.outcome = Outcome::skipped;
    EXPECT_EQ(verdict(report), ExitCode::done);
    report.cells[0].result.outcome = Outcome::out_of_pool;
    EXPECT_EQ(verdict(report), ExitCode::out_of_memory);
}

TEST(Cells, GiveEveryAllocatorThePoolItNeedsUnlessThePoolIsVaried) {
    BenchReport report = small_report(1);
    report.series[0].points[0].task.pool_bytes = 1;
    report.series[1].points[0].task.pool_bytes = 1;
    report.series[1].exact_pool = true;
    const std::vector<BenchCell> cells = cells_of(report.series, report.runners);
    EXPECT_EQ(cells[0].task.pool_bytes, 4096U);
    EXPECT_EQ(cells[6].task.pool_bytes, 1U);
    EXPECT_EQ(cells.size(), 3U * 2 + 2U * 2) << "the prefix sum has no part in the second";
    // An allocator whose heap has one size for good is not varied.
    Backend cuda = *find_backend("cudamalloc", false);
    cuda.gpu = true;
    report.runners[0] = runner_of(cuda);
    EXPECT_EQ(cells_of(report.series, report.runners).size(), 3U * 2 + 2U);
}

TEST(Outcomes, TheWorstDecides) {
    using enum Outcome;
    EXPECT_EQ(worst({}), done);
    EXPECT_EQ(worst({done, pool_exhausted}), pool_exhausted);
    EXPECT_EQ(worst({pool_exhausted, hang, out_of_memory}), hang);
    EXPECT_EQ(worst({crashed, wrong_tree, corrupt}), wrong_tree) << "the first of equals";
    for (int i = 0; i <= static_cast<int>(unfinished); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        EXPECT_EQ(outcome_named(name(outcome)), outcome);
    }
    EXPECT_THROW(outcome_named("fine"), std::invalid_argument);
}

TEST(WorkloadPlan, AdoptsAPoolOfWholeBytes) {
    BenchReport report;
    ReplayedTrace trace;
    WorkloadPlan plan(report, &trace);
    plan.adopt({{"pool_bytes", 1U << 30}});
    EXPECT_EQ(trace.pool_bytes, 1U << 30);
    for (const Json& wrong : {Json(1e30), Json(-1), Json(0.5), Json("1"), Json()}) {
        EXPECT_THROW(plan.adopt({{"pool_bytes", wrong}}), std::invalid_argument);
    }
}

}  // namespace
}  // namespace heapwood::app
