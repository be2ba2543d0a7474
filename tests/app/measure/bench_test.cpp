/// @file
/// The parts of `bench`: tasks on real allocators and on broken ones, sweeps, published rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>

#include "allocators/atomicmalloc.cuh"
#include "allocators/memory/buffer.h"
#include "app/backends/workload_cpu.h"
#include "app/measure/bench_report.h"
#include "app/measure/sweeps.h"
#include "app/measure/task.h"
#include "app/measure/worker.h"
#include "tests/app/revolving.h"

namespace heapwood::app {
namespace {

using allocators::Counts;
using allocators::PoolConfig;
using tests::Revolving;

/// A task for an allocator of the program, or for nobody, by two threads.
TaskResult run(const std::string& allocator, const Task& task) {
    const auto machine = cpu_workloads(2);
    if (allocator.empty()) return perform({.machine = *machine, .threads = 2}, task);
    const Backend* backend = find_backend(allocator, false);
    return perform({.machine = *machine,
                    .make = backend->make_pool,
                    .frees = backend->traits.frees_individually,
                    .threads = 2},
                   task);
}

Task task(Procedure procedure, std::uint32_t callers, std::uint32_t requests) {
    Task t;
    t.procedure = procedure;
    t.callers = callers;
    t.requests = requests;
    t.pool_bytes = 1 << 20;
    t.iterations = 2;
    t.budget_ms = 1e9;
    return t;
}

TEST(Task, CountsWhatWasAskedAndFreed) {
    for (const char* allocator : {"cmalloc", "hybrid", "buddy", "cudamalloc", "atomicmalloc"}) {
        for (const Procedure procedure : {Procedure::allocate, Procedure::pairs, Procedure::cycle,
                                          Procedure::work, Procedure::access}) {
            const TaskResult result = run(allocator, task(procedure, 50, 4));
            EXPECT_EQ(result.outcome, Outcome::done) << allocator << result.message;
            EXPECT_EQ(result.counts, (Counts{200, 200, 0, 0})) << allocator;
            for (const auto& [metric, samples] : result.metrics) {
                EXPECT_EQ(samples.cold.size(), 1U) << metric;
                EXPECT_EQ(samples.warm.size(), 2U) << metric;
                EXPECT_TRUE(samples.value.empty()) << metric;
                for (const double ms : samples.warm) EXPECT_GE(ms, 0);
            }
        }
    }
}

TEST(Task, ProbabilityFreesWhatItHasTaken) {
    Task t = task(Procedure::probability, 400, 1);
    t.rounds = 32;
    t.threshold = 0.75F;
    const TaskResult result = run("cmalloc", t);
    EXPECT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_EQ(result.counts.requests, result.counts.frees);
    // Of 12800 steps 3200 act, and all but the last of a caller take turns.
    EXPECT_NEAR(static_cast<double>(result.counts.requests), 1700, 250);
}

TEST(Task, MeasuresWhatItsBlocksTakeAndLeave) {
    Task t = task(Procedure::remains, 100, 1);
    t.min_bytes = t.max_bytes = 4;
    for (const char* allocator : {"cmalloc", "atomicmalloc"}) {
        const TaskResult result = run(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        // 4 of 16 bytes were asked for.
        EXPECT_EQ(result.metrics.at("internal").value, std::vector<double>{0.75}) << allocator;
        EXPECT_GE(result.metrics.at("external").value.at(0), 0) << allocator;
    }
    const TaskResult unknown = run("cudamalloc", t);
    EXPECT_EQ(unknown.outcome, Outcome::done);
    EXPECT_TRUE(unknown.metrics.empty());
}

TEST(Task, HoldsBlocksAllTheTime) {
    Task t = task(Procedure::allocate, 8, 1);
    t.min_bytes = t.max_bytes = 64 << 10;  // half of the pool
    EXPECT_EQ(run("cmalloc", t).outcome, Outcome::done);
    t.held_blocks = 600;  // more than half of it
    t.held_bytes = 1024;
    for (const char* allocator : {"cmalloc", "atomicmalloc"}) {
        EXPECT_EQ(run(allocator, t).outcome, Outcome::out_of_pool) << allocator;
    }
    t.min_bytes = t.max_bytes = 16;
    for (const char* allocator : {"cmalloc", "atomicmalloc", "hybrid"}) {
        const TaskResult result = run(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << allocator << result.message;
        EXPECT_EQ(result.counts.requests, 8U) << "those of the test alone";
    }
}

TEST(Task, StopsToIterateWhenItsTimeIsUp) {
    Task t = task(Procedure::allocate, 10, 1);
    t.iterations = 1000000;
    t.budget_ms = 0;
    const TaskResult result = run("cmalloc", t);
    EXPECT_EQ(result.metrics.at("alloc_ms").warm.size(), 1U);
}

TEST(Task, EmptiesThePoolOfAnAllocatorThatFreesNothing) {
    Task t = task(Procedure::cycle, 10, 10);
    t.min_bytes = t.max_bytes = 6 << 10;  // more than half of the pool in an iteration
    t.iterations = 5;
    const TaskResult result = run("atomicmalloc", t);
    EXPECT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_EQ(result.metrics.at("ms").warm.size(), 5U);
}

TEST(Task, FillsAPoolToTheLastBlock) {
    Task t = task(Procedure::fill, 10, 1);
    t.min_bytes = t.max_bytes = 1024;
    for (const char* allocator : {"atomicmalloc", "buddy", "cmalloc"}) {
        const TaskResult result = run(allocator, t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.metrics.at("utilisation_all").value, std::vector<double>{1}) << allocator;
        EXPECT_EQ(result.counts.requests - result.counts.failed, 1024U) << allocator;
        EXPECT_EQ(result.counts.frees, 1024U) << allocator;
        EXPECT_GE(result.counts.failed, 10U) << "every caller is refused";
    }
    // Blocks of 768 bytes leave the last of 1365 and a third unused.
    t.min_bytes = t.max_bytes = 768;
    const TaskResult result = run("atomicmalloc", t);
    EXPECT_EQ(result.metrics.at("utilisation_all").value,
              std::vector<double>{1365 * 768 / 1048576.0});
}

TEST(Task, MeasuresTheRangeOfAddresses) {
    Task t = task(Procedure::fragmentation, 100, 1);
    t.min_bytes = t.max_bytes = 96;
    t.rounds = 3;
    const TaskResult bump = run("atomicmalloc", t);
    ASSERT_EQ(bump.outcome, Outcome::done) << bump.message;
    EXPECT_EQ(bump.metrics.at("range_first").value, std::vector<double>{9600});
    EXPECT_EQ(bump.metrics.count("range_last"), 0U) << "nothing is freed";
    const TaskResult packed = run("", t);
    EXPECT_EQ(packed.metrics.at("range_first").value, std::vector<double>{9600});
    EXPECT_EQ(packed.metrics.at("range_last").value, std::vector<double>{9600});
    const TaskResult cmalloc = run("cmalloc", t);
    ASSERT_EQ(cmalloc.outcome, Outcome::done) << cmalloc.message;
    const double last = cmalloc.metrics.at("range_last").value.at(0);
    EXPECT_GE(last, 9600);
    EXPECT_LE(last, cmalloc.metrics.at("range_all").value.at(0));
    EXPECT_LE(cmalloc.metrics.at("range_all").value.at(0), 1 << 20);
    EXPECT_EQ(cmalloc.counts, (Counts{100, 100, 0, 0})) << "of the last round";
    // Each round is given the cells behind those of the last.
    t.pool_bytes = 64 << 10;
    t.min_bytes = t.max_bytes = 60;
    const auto machine = cpu_workloads(1);
    const TaskResult moving = perform(
        {.machine = *machine, .make = &make_pool<CpuWorkloadPool<Revolving>>, .threads = 1}, t);
    ASSERT_EQ(moving.outcome, Outcome::done) << moving.message;
    EXPECT_EQ(moving.metrics.at("range_first").value, std::vector<double>{100 * 64 - 4});
    EXPECT_EQ(moving.metrics.at("range_last").value, std::vector<double>{100 * 64 - 4});
    EXPECT_EQ(moving.metrics.at("range_all").value, std::vector<double>{300 * 64 - 4});
}

TEST(Task, DoesWithoutAnAllocator) {
    for (const Procedure procedure : {Procedure::work, Procedure::access}) {
        Task t = task(procedure, 1000, 1);
        t.max_bytes = 256;
        const TaskResult result = run("", t);
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.metrics.size(), procedure == Procedure::work ? 1U : 2U);
    }
}

TEST(Task, SaysWhenThePoolRunsOut) {
    for (const Procedure procedure :
         {Procedure::allocate, Procedure::cycle, Procedure::work, Procedure::probability,
          Procedure::access, Procedure::fragmentation}) {
        Task t = task(procedure, 100, 1);
        t.min_bytes = t.max_bytes = 64 << 10;
        t.rounds = 4;
        if (procedure == Procedure::cycle) std::swap(t.callers, t.requests);
        for (const char* allocator : {"cmalloc", "cudamalloc"}) {
            const TaskResult result = run(allocator, t);
            EXPECT_EQ(result.outcome, Outcome::out_of_pool);
            EXPECT_NE(result.message.find("were refused"), std::string::npos) << result.message;
            EXPECT_GT(result.counts.failed, 0U);
            EXPECT_TRUE(result.metrics.empty());
        }
    }
    Task tiny = task(Procedure::allocate, 1, 1);
    tiny.pool_bytes = 16;
    const TaskResult result = run("cmalloc", tiny);
    EXPECT_EQ(result.outcome, Outcome::out_of_memory);
    EXPECT_NE(result.message.find("4096"), std::string::npos) << result.message;
}

TEST(Task, NoticesMemoryThatIsHandedOutTwice) {
    const auto machine = cpu_workloads(1);
    for (const Procedure procedure :
         {Procedure::allocate, Procedure::cycle, Procedure::work, Procedure::access,
          Procedure::fragmentation, Procedure::fill}) {
        // 64 cells.
        for (const std::uint32_t blocks : {64U, 65U}) {
            Task t = task(procedure, blocks, 1);
            t.pool_bytes = 4096;
            t.min_bytes = t.max_bytes = 64;
            if (procedure == Procedure::cycle) {
                t.callers = 1;
                t.requests = blocks;
            }
            // A pool that never refuses cannot be filled without handing out blocks twice.
            const bool sound = blocks == 64 && procedure != Procedure::fill;
            const TaskResult result = perform(
                {.machine = *machine, .make = &make_pool<CpuWorkloadPool<Revolving>>, .threads = 1},
                t);
            EXPECT_EQ(result.outcome, sound ? Outcome::done : Outcome::corrupt)
                << static_cast<int>(procedure) << " " << blocks << " " << result.message;
            EXPECT_EQ(result.metrics.empty(), !sound) << "a corrupt result is no figure";
        }
    }
}

TEST(Task, NeverThrows) {
    const auto machine = cpu_workloads(1);
    const auto outcome = [&](MakePool make_pool) {
        return perform({.machine = *machine, .make = make_pool, .threads = 1},
                       task(Procedure::allocate, 1, 1));
    };
    EXPECT_EQ(outcome([](const PoolConfig&, unsigned) -> std::unique_ptr<WorkloadPool> {
                  throw allocators::BufferError("no memory of that kind");
              }).outcome,
              Outcome::out_of_memory);
    const TaskResult failed =
        outcome([](const PoolConfig&, unsigned) -> std::unique_ptr<WorkloadPool> {
            throw std::runtime_error("CUDA: no such thing");
        });
    EXPECT_EQ(failed.outcome, Outcome::failed);
    EXPECT_EQ(failed.message, "CUDA: no such thing");
}

TEST(Task, SurvivesJson) {
    Task t = task(Procedure::probability, 3, 4);
    t.lanes = 7;
    t.held_blocks = 8;
    t.held_bytes = 9;
    t.rounds = 5;
    t.min_bytes = 8;
    t.max_bytes = 12;
    t.threshold = 0.75F;
    t.seed = ~std::uint64_t{0};
    const Task copy = Json::parse(Json(t).dump());
    EXPECT_EQ(Json(copy), Json(t));
    EXPECT_EQ(copy.seed, t.seed);
    const TaskResult result{.outcome = Outcome::out_of_pool,
                            .message = "why",
                            .counts = {1, 2, 3, 4},
                            .metrics = {{"ms", {.cold = {0.25}, .warm = {1, 2}, .value = {}}}}};
    const TaskResult read = Json::parse(Json(result).dump());
    EXPECT_EQ(read.outcome, result.outcome);
    EXPECT_EQ(read.message, result.message);
    EXPECT_EQ(read.counts, result.counts);
    EXPECT_EQ(read.metrics, result.metrics);
}

std::vector<Series> all_series(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const TestName& test : test_names()) {
        for (Series& series : series_of(test.name, settings)) all.push_back(std::move(series));
    }
    return all;
}

TEST(Sweeps, AscendAndFitAndHaveNamesOfTheirOwn) {
    for (const std::uint32_t largest : {64U, 8192U, 1U << 20}) {
        for (const bool gpu : {false, true}) {
            for (const bool quick : {false, true}) {
                SweepSettings settings;
                settings.gpu = gpu;
                settings.quick = quick;
                settings.largest_bytes = largest;
                std::set<std::string> ids;
                for (const Series& series : all_series(settings)) {
                    EXPECT_TRUE(ids.insert(series.id).second) << series.id;
                    EXPECT_EQ(series.id.rfind(series.test, 0), 0U) << series.id;
                    EXPECT_FALSE(series.metrics.empty());
                    double before = -1;
                    for (const Point& point : series.points) {
                        EXPECT_GT(point.x, before) << series.id;
                        before = point.x;
                        const Task& t = point.task;
                        EXPECT_EQ(t.min_bytes % 4, 0U);
                        EXPECT_GE(t.min_bytes, 4U);
                        EXPECT_LE(t.min_bytes, t.max_bytes);
                        EXPECT_GE(t.callers, 1U);
                        if (t.procedure == Procedure::fill) continue;
                        const double bytes = (t.min_bytes + t.max_bytes) / 2.0 * t.callers *
                                             (one_block_each(t.procedure) ? 1 : t.requests);
                        const bool of_2015 = series.source.find("2015, fig") != std::string::npos;
                        EXPECT_LE(bytes,
                                  static_cast<double>(t.pool_bytes) / (of_2015 ? 1 : 2) + t.callers)
                            << series.id << " at " << point.x;
                    }
                }
            }
        }
    }
}

/// A series by its id.
Series series_named(const std::string& id, const SweepSettings& settings) {
    for (Series& series : series_of(id.substr(0, id.find('.')), settings)) {
        if (series.id == id) return std::move(series);
    }
    ADD_FAILURE() << "no series " << id;
    return {};
}

// Table 1 of 2014, Table 2 of 2015.
TEST(Sweeps, ThePapersSettings) {
    SweepSettings settings;
    settings.gpu = true;
    constexpr std::uint64_t k2GiB = std::uint64_t{1} << 31;
    for (const char* id : {"ad.payload", "ad.fragmentation", "acd.payload"}) {
        const Series series = series_named(id, settings);
        EXPECT_EQ(series.points.front().x, 4) << id;
        EXPECT_EQ(series.points.back().x, 128 << 10) << id;
        for (const Point& point : series.points) {
            EXPECT_EQ(point.task.lanes, 1U) << id;
            EXPECT_EQ(point.task.callers, 120U * 8) << id;
            EXPECT_EQ(point.task.pool_bytes, k2GiB) << id;
            EXPECT_EQ(point.task.requests, series.test == "acd" ? 10U : 1U) << id;
        }
    }
    const Series heaps = series_named("acd.pool", settings);
    EXPECT_EQ(heaps.points.front().task.pool_bytes, 256U << 10) << "128 KiB have too little room";
    EXPECT_EQ(heaps.points.back().task.pool_bytes, k2GiB);
    EXPECT_EQ(heaps.points.back().task.min_bytes, 4U);
    const Series cycles = series_named("acd.requests", settings);
    EXPECT_EQ(cycles.points.back().task.requests, 100U);
    EXPECT_EQ(cycles.points.at(1).task.requests, 10U);
    const Series blocks = series_named("p.blocks", settings);
    EXPECT_EQ(blocks.points.front().task.callers, 8U);
    EXPECT_EQ(blocks.points.back().x, 120);
    EXPECT_EQ(blocks.points.back().task.callers, 960U);
    EXPECT_EQ(blocks.points.back().task.rounds, 10U);
    settings.blocks = 8 * 132;  // a GPU filled as theirs was
    EXPECT_EQ(series_named("ad.payload", settings).points.front().task.callers, 8U * 8 * 132);
    EXPECT_EQ(series_named("p.blocks", settings).points.back().x, 8 * 132);
    const Series lanes = series_named("xmalloc.lanes", settings);
    EXPECT_EQ(lanes.points.size(), 6U);
    EXPECT_EQ(lanes.points.back().task.lanes, 32U);
    EXPECT_EQ(lanes.points.back().task.callers, 1000000U);
    EXPECT_EQ(series_named("xmalloc.held", settings).points.at(0).task.held_blocks, 1U << 17);
}

// At 120 blocks the papers count 1450 allocations and 986 frees.
TEST(Sweeps, ProbabilityActsAsOftenAsInThePapers) {
    SweepSettings settings;
    settings.gpu = true;
    Task task = series_named("p.blocks", settings).points.back().task;
    task.pool_bytes = 8 << 20;
    task.iterations = 1;
    const TaskResult result = run("cmalloc", task);
    EXPECT_EQ(result.outcome, Outcome::done) << result.message;
    EXPECT_NEAR(static_cast<double>(result.counts.requests), 1450, 100);
}

TEST(Sweeps, TheRestOfThePapersSettings) {
    SweepSettings settings;
    settings.gpu = true;
    std::vector<std::string> ids;
    for (const Series& series : series_of("alloc", settings)) ids.push_back(series.id);
    EXPECT_EQ(ids, (std::vector<std::string>{"alloc.thread.10000", "alloc.thread.100000",
                                             "alloc.warp.10000", "alloc.warp.100000"}));
    EXPECT_EQ(series_of("alloc", settings).at(1).points.back().x, 8192);
    EXPECT_EQ(series_of("scaling", settings).at(0).points.back().x, 1 << 20);
    EXPECT_EQ(series_of("fragmentation", settings).at(0).points.at(0).task.rounds, 100U);
    settings.largest_bytes = 1 << 20;
    EXPECT_EQ(series_of("alloc", settings).at(0).id, "alloc.thread.1000");
    EXPECT_EQ(series_of("alloc", settings).at(0).points.back().x, 1 << 20);
}

TEST(Sweeps, TasksMeasureWhatTheirSeriesPromise) {
    SweepSettings settings;
    settings.quick = true;
    settings.iterations = 1;
    for (const Series& series : all_series(settings)) {
        if (series.points.empty()) continue;
        const TaskResult result = run("cmalloc", series.points.front().task);
        ASSERT_EQ(result.outcome, Outcome::done) << series.id << ": " << result.message;
        EXPECT_EQ(result.metrics.size(), series.metrics.size()) << series.id;
        for (const Metric& metric : series.metrics) {
            ASSERT_EQ(result.metrics.count(metric.name), 1U) << series.id << " " << metric.name;
            const Samples& samples = result.metrics.at(metric.name);
            EXPECT_EQ(samples.cold.size(), metric.timed ? 1U : 0U) << series.id;
            EXPECT_EQ(samples.warm.size(), metric.timed ? 1U : 0U) << series.id;
            EXPECT_EQ(samples.value.empty(), metric.timed) << series.id;
        }
    }
}

TEST(Published, TheSurveysMediansOnATitanV) {
    SweepSettings settings;
    settings.gpu = true;
    const std::vector<PublishedRow> rows = published_rows(all_series(settings));
    const auto value = [&](const std::string& series, const std::string& metric,
                           const std::string& name, double x) -> std::optional<double> {
        for (const PublishedRow& row : rows) {
            if (row.series != series || row.metric != metric || row.name != name) continue;
            const auto at = std::find(row.x.begin(), row.x.end(), x);
            if (at != row.x.end()) return row.values[static_cast<std::size_t>(at - row.x.begin())];
        }
        return -1.0;
    };
    EXPECT_EQ(value("alloc.thread.100000", "alloc_ms", "CUDA", 16), 24.8);
    EXPECT_EQ(value("alloc.thread.100000", "free_ms", "CUDA", 16), 25.0);
    EXPECT_EQ(value("alloc.thread.100000", "alloc_ms", "CUDA", 1024), 3960.0);
    EXPECT_EQ(value("alloc.thread.100000", "alloc_ms", "XMalloc", 256), std::nullopt);
    EXPECT_EQ(value("alloc.thread.100000", "alloc_ms", "RegEff-C", 8192), std::nullopt);
    EXPECT_EQ(value("alloc.warp.10000", "alloc_ms", "RegEff-CFM", 8192), 102.0);
    EXPECT_EQ(value("mixed.100000", "alloc_ms", "RegEff-CF", 4), 270.0);
    EXPECT_EQ(value("mixed.100000", "alloc_ms", "CUDA", 8192), 149.0);
    EXPECT_EQ(value("scaling.16", "alloc_ms", "CUDA", 1048576), 789.0);
    EXPECT_EQ(value("scaling.16", "alloc_ms", "CUDA", 1), 0.0266);
    EXPECT_TRUE(published_rows({}).empty());
    for (const PublishedRow& row : rows) EXPECT_EQ(row.x.size(), row.values.size());
}

}  // namespace
}  // namespace heapwood::app
