/// @file
/// Tasks with a live set on real allocators and on a broken one, and the sizes that they ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "allocators/measure/churn.cuh"
#include "app/backends/backend.h"
#include "app/backends/workload_cpu.h"
#include "app/inputs/request_sizes.h"
#include "app/measure/workloads/perform.h"
#include "tests/app/measure/workloads/task_run.h"
#include "tests/app/revolving.h"

namespace heapwood::app {
namespace {

using tests::Revolving;
using tests::run_on_cpu;

Task live_task(Procedure procedure, std::uint32_t percent) {
    Task t;
    t.procedure = procedure;
    t.callers = 50;
    t.rounds = 2;
    t.live = percent;
    t.min_bytes = 16;
    t.max_bytes = 1024;
    t.pool_bytes = 1 << 20;
    t.iterations = 2;
    t.budget_ms = 1e9;
    return t;
}

double mean(const std::vector<std::uint32_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(sizes.size());
}

TEST(LiveSet, StaysAtItsShareOfThePool) {
    for (const std::uint32_t percent : {30U, 60U, 90U}) {
        for (const Procedure procedure : {Procedure::churn, Procedure::aged}) {
            // The system's memory, beside which the pool is a number: it refuses nothing.
            const TaskResult result = run_on_cpu("cudamalloc", live_task(procedure, percent));
            ASSERT_EQ(result.outcome, Outcome::done) << result.message;
            // Sizes deviate by 240 bytes from a mean of 128, and there are 2457 slots at least.
            EXPECT_NEAR(result.metrics.at("live").value.at(0), percent, percent / 10.0);
            EXPECT_EQ(result.metrics.at("refused").value, std::vector<double>{0});
            EXPECT_EQ(result.counts.requests, result.counts.frees);
        }
    }
}

TEST(LiveSet, HasTheSameRequestsForTheSameSeed) {
    // One caller at a time, of an allocator that is the same each time.
    const auto machine = cpu_workloads(1);
    const Backend* cmalloc = find_backend("cmalloc", false);
    const auto aged = [&](std::uint64_t seed) {
        Task task = live_task(Procedure::aged, 30);
        task.seed = seed;
        return perform({.machine = *machine, .make = cmalloc->make_pool, .threads = 1}, task);
    };
    const TaskResult first = aged(1);
    ASSERT_EQ(first.outcome, Outcome::done) << first.message;
    EXPECT_EQ(aged(1).metrics, first.metrics);
    EXPECT_NE(aged(2).metrics, first.metrics);
}

TEST(LiveSet, MeasuresCallsAndFragmentation) {
    const TaskResult calls = run_on_cpu("cmalloc", live_task(Procedure::churn, 30));
    ASSERT_EQ(calls.outcome, Outcome::done) << calls.message;
    EXPECT_EQ(calls.metrics.at("rate").value.size(), 2U);
    EXPECT_GT(calls.metrics.at("rate").value.at(0), 0);
    for (const std::string call : {"alloc_", "free_"}) {
        const auto of = [&](const char* which) {
            return calls.metrics.at(call + which).value.at(0);
        };
        EXPECT_LE(of("p50"), of("p99"));
        EXPECT_LE(of("p99"), of("p999"));
        EXPECT_LE(of("p999"), of("worst") * (1 + 1.0 / 64));
        EXPECT_GT(of("worst"), 0);
    }
    // It fills the table, is replaced twice, twice for each of two iterations, and once more.
    EXPECT_EQ(calls.counts.requests % 8, 0U);
    const TaskResult aged = run_on_cpu("cmalloc", live_task(Procedure::aged, 30));
    ASSERT_EQ(aged.outcome, Outcome::done) << aged.message;
    EXPECT_EQ(aged.counts.requests, calls.counts.requests / 8 * 3);
    for (const char* metric : {"internal", "external"}) {
        EXPECT_GT(aged.metrics.at(metric).value.at(0), 0) << metric;
        EXPECT_LT(aged.metrics.at(metric).value.at(0), 1) << metric;
    }
    EXPECT_EQ(run_on_cpu("cudamalloc", live_task(Procedure::aged, 30)).metrics.count("internal"),
              0U)
        << "nobody knows";
}

TEST(LiveSet, CountsRefusals) {
    Task task = live_task(Procedure::churn, 90);
    const TaskResult result = run_on_cpu("buddy", task);
    ASSERT_EQ(result.outcome, Outcome::done) << result.message;
    // Powers of two, so that the live set would need more than there is.
    EXPECT_GT(result.counts.failed, 0U);
    EXPECT_EQ(result.counts.requests - result.counts.failed, result.counts.frees);
    EXPECT_EQ(result.metrics.at("refused").value.at(0),
              100 * static_cast<double>(result.counts.failed) /
                  static_cast<double>(result.counts.requests));
    EXPECT_LT(result.metrics.at("live").value.at(0), 80);
    task.callers = 10000;
    const TaskResult small = run_on_cpu("buddy", task);
    EXPECT_EQ(small.outcome, Outcome::out_of_pool);
    EXPECT_NE(small.message.find("is less than the 10,000 callers"), std::string::npos)
        << small.message;
}

TEST(LiveSet, NoticesMemoryThatIsHandedOutTwice) {
    const auto machine = cpu_workloads(1);
    for (const Procedure procedure : {Procedure::churn, Procedure::aged}) {
        Task task = live_task(procedure, 30);
        task.max_bytes = 64;  // a cell of the allocator
        const TaskResult result = perform(
            {.machine = *machine, .make = &make_pool<CpuWorkloadPool<Revolving>>, .threads = 1},
            task);
        EXPECT_EQ(result.outcome, Outcome::corrupt);
        EXPECT_GT(result.counts.corrupt, 0U);
        EXPECT_TRUE(result.metrics.empty());
    }
}

TEST(RequestSizes, ArePowerLaws) {
    for (const std::uint32_t most : {16U, 64U, 8192U, 1U << 20}) {
        const std::vector<std::uint32_t> sizes = power_law_sizes(16, most);
        ASSERT_EQ(sizes.size(), allocators::Tickets::kSizes);
        EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
        EXPECT_EQ(sizes.front(), 16U);
        EXPECT_LE(sizes.back(), most);
        EXPECT_GE(sizes.back(), most / 4);
        for (const std::uint32_t size : sizes) EXPECT_EQ(size % 4, 0U);
    }
    // Of the density s^-1.5 from 16 to 8192: a part of (1 - sqrt(16 / s)) / (1 - sqrt(16 / 8192))
    // is below s, and the mean is the geometric mean of the ends.
    const std::vector<std::uint32_t> sizes = power_law_sizes(16, 8192);
    for (const std::uint32_t size : {64U, 256U, 1024U}) {
        const auto below = std::lower_bound(sizes.begin(), sizes.end(), size) - sizes.begin();
        EXPECT_NEAR(static_cast<double>(below) / static_cast<double>(sizes.size()),
                    (1 - std::sqrt(16.0 / size)) / (1 - std::sqrt(16.0 / 8192)), 1e-3);
    }
    EXPECT_NEAR(mean(sizes), std::sqrt(16.0 * 8192), 5);
}

TEST(RequestSizes, AreThoseOfATrace) {
    // Three requests of four are for 8 bytes; frees do not count.
    allocators::Trace trace{1, {{0, 0, 8}, {0, 1, 4096}, {0, 1, 0}, {0, 2, 8}, {0, 3, 8}}};
    const std::vector<std::uint32_t> sizes = sizes_of(trace);
    ASSERT_EQ(sizes.size(), allocators::Tickets::kSizes);
    EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 8U), 3 * allocators::Tickets::kSizes / 4);
    EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 4096U), allocators::Tickets::kSizes / 4);
    // A live set has them, too: 1030 bytes on average.
    Task task = live_task(Procedure::aged, 60);
    const auto machine = cpu_workloads(2);
    const TaskResult result = perform({.machine = *machine,
                                       .make = find_backend("cmalloc", false)->make_pool,
                                       .threads = 2,
                                       .trace = &trace},
                                      task);
    ASSERT_EQ(result.outcome, Outcome::done) << result.message;
    const auto slots = static_cast<std::uint64_t>(0.6 * (1 << 20) / 1030);
    EXPECT_EQ(result.counts.requests, (slots + 49) / 50 * 50 * 3);
}

}  // namespace
}  // namespace heapwood::app
