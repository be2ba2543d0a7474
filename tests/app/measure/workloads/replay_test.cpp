/// @file
/// The parts of `replay`: traces to files and back, and turns on real allocators and on broken
/// ones. replay_test.py has the whole, and files that are wrong.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "allocators/circular.cuh"
#include "app/backends/workload_cpu.h"
#include "app/inputs/trace_file.h"
#include "app/measure/builds/result_json.h"
#include "app/measure/workloads/pace.h"
#include "app/measure/workloads/perform.h"
#include "tests/app/revolving.h"
#include "tests/app/sample_report.h"
#include "tests/app/temporary_folder.h"

namespace heapwood::app {
namespace {

using allocators::Counts;
using allocators::PoolConfig;
using allocators::Trace;
using allocators::TraceEvent;

/// `callers` callers ask for `requests` blocks each, in turn; then each frees those of the next.
Trace ring(std::uint32_t callers, std::uint32_t requests, std::uint32_t bytes) {
    Trace trace{callers, {}};
    for (std::uint32_t i = 0; i < callers * requests; ++i) {
        trace.events.push_back({i % callers, i, bytes});
    }
    for (std::uint32_t i = 0; i < callers * requests; ++i) {
        trace.events.push_back({(i + 1) % callers, i, 0});
    }
    return trace;
}

TaskResult replayed(MakePool make_pool, const Trace& trace, unsigned threads, std::uint64_t pool,
                    bool frees = true, double pace = 0) {
    Task task;
    task.pace = pace;
    task.procedure = Procedure::replay;
    task.pool_bytes = pool;
    task.iterations = 3;
    const auto machine = cpu_workloads(threads);
    return replay_trace(
        {.machine = *machine, .make = make_pool, .frees = frees, .threads = threads}, task, trace);
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

TEST(TraceFile, IsReadAsItWasWritten) {
    const TemporaryFolder folder;
    const Report report = sample_report();
    // Longer than what is read at a time, so that lines begin in one piece and end in the next.
    const Trace trace = ring(7, 30000, 1234568);
    const std::string text = trace_text(trace, trace_origin(report, report.results[0]));
    ASSERT_GT(text.size(), std::size_t{3} << 20);
    const std::string path = folder.path("x");
    write(path, text);
    const TraceFile file = read_trace(path);
    EXPECT_EQ(file.trace.callers, 7U);
    EXPECT_EQ(file.trace.events, trace.events);
    EXPECT_EQ(file.root_bytes, 100U);
    EXPECT_EQ(file.header, text.substr(0, text.find('\n')));
    EXPECT_NE(file.header.find("\"allocator\":\"atomicmalloc\""), std::string::npos);
}

TEST(TraceFile, MayHaveOtherEndsOfLines) {
    const TemporaryFolder folder;
    const Report report = sample_report();
    const Trace trace = ring(1, 2, 16);
    std::string text = trace_text(trace, trace_origin(report, report.results[0]));
    text.pop_back();  // no end of the last line
    std::string other;
    for (const char c : text) {
        if (c == '\n') other += '\r';
        other += c;
    }
    write(folder.path("x"), other);
    EXPECT_EQ(read_trace(folder.path("x")).trace.events, trace.events);
}

TEST(TraceFile, WithoutAnEndOfLineIsRefused) {
    const TemporaryFolder folder;
    write(folder.path("x"), std::string(std::size_t{5} << 20, ' '));
    EXPECT_THROW(read_trace(folder.path("x")), InputError);
}

TEST(Replay, MeasuresWhatIsToBeMeasured) {
    const TaskResult result =
        replayed(&make_pool<CpuWorkloadPool<allocators::CMalloc>>, ring(4, 25, 160), 4, 1 << 20);
    ASSERT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_EQ(result.counts, (Counts{100, 100, 0, 0}));
    EXPECT_EQ(result.metrics.at("ms").cold.size(), 1U);
    EXPECT_EQ(result.metrics.at("ms").warm.size(), 3U);
    EXPECT_EQ(result.metrics.at("callers").value, std::vector<double>{4});
    const double peak = result.metrics.at("peak_allocated_bytes").value[0];
    EXPECT_GE(peak, 16000);
    EXPECT_LE(peak, 32000);
    EXPECT_EQ(result.pool_bytes, std::uint64_t{1} << 20);
}

TEST(Replay, TakesAtLeastItsRecordedTimeAtAPace) {
    Trace trace = ring(2, 5, 160);
    for (std::size_t i = 0; i < trace.events.size(); ++i) trace.times.push_back(i * 1'000'000);
    for (const double pace : {0.0, 1.0, 4.0}) {
        const TaskResult result = replayed(&make_pool<CpuWorkloadPool<allocators::CMalloc>>, trace,
                                           2, 1 << 20, true, pace);
        ASSERT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.counts, (Counts{10, 10, 0, 0}));
        if (pace == 0) {
            EXPECT_FALSE(result.metrics.contains("behind_p50"));
            continue;
        }
        for (const double ms : result.metrics.at("ms").cold) EXPECT_GE(ms, 19 / pace);
        for (const double ms : result.metrics.at("ms").warm) EXPECT_GE(ms, 19 / pace);
        for (const char* metric : {"behind_p50", "behind_p99", "behind_worst"}) {
            const std::vector<double> values = result.metrics.at(metric).value;
            EXPECT_EQ(values.size(), 3U);
            for (const double value : values) EXPECT_GE(value, 0);
        }
    }
}

TEST(Pace, SaysHowFarCallsWereBehind) {
    constexpr std::uint64_t kAnyTime = allocators::ReplayStep::kAnyTime;
    std::vector<std::uint64_t> due{kAnyTime}, begun{0};
    for (std::uint64_t i = 1; i <= 200; ++i) {
        due.push_back(1000 * i);
        begun.push_back(1000 * i + (201 - i) * 1'000'000);  // 200 ms to 1 ms
    }
    due.push_back(kAnyTime);
    begun.push_back(0);
    const Behind all = behind(due, begun);
    EXPECT_DOUBLE_EQ(all.median, 100);
    EXPECT_DOUBLE_EQ(all.p99, 198);
    EXPECT_DOUBLE_EQ(all.worst, 200);
    const Behind one = behind({5, kAnyTime}, {5, 0});
    EXPECT_EQ(one.median + one.p99 + one.worst, 0);
}

TEST(Replay, FindsBlocksThatAreGivenTwice) {
    for (const bool enough : {true, false}) {
        // The pool has 64 cells.
        const Trace trace = ring(2, enough ? 32 : 33, 64);
        for (const bool frees : {true, false}) {
            const TaskResult result =
                replayed(&make_pool<CpuWorkloadPool<tests::Revolving>>, trace, 1, 4096, frees);
            EXPECT_EQ(result.outcome, enough ? Outcome::done : Outcome::corrupt);
            EXPECT_EQ(result.counts.corrupt, enough ? 0U : 2U);
            EXPECT_EQ(result.metrics.empty(), !enough);
        }
    }
}

TEST(Replay, NeedsAllItsCallersAtOnce) {
    // A machine that promises more threads than the pool has.
    Task task;
    task.procedure = Procedure::replay;
    task.pool_bytes = 1 << 20;
    const auto machine = cpu_workloads(3);
    const TaskResult result =
        replay_trace({.machine = *machine,
                      .make = &make_pool<CpuWorkloadPool<allocators::CMalloc>>,
                      .threads = 2},
                     task, ring(3, 5, 64));
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.message, kTooFewThreads);
}

}  // namespace
}  // namespace heapwood::app
