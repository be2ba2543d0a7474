/// @file
/// The papers' sweeps: their settings, tasks that measure what they promise, published rows.
#include "app/measure/workloads/sweeps/sweeps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocators/measure/adjacency.cuh"
#include "app/inputs/matrix_market.h"
#include "app/measure/workloads/bench_report.h"
#include "tests/app/measure/workloads/task_run.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

using tests::run_on_cpu;

std::vector<Series> all_series(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const TestName& test : test_names()) {
        for (Series& series : series_of(test.name, settings)) all.push_back(std::move(series));
    }
    return all;
}

std::vector<std::string> ids_of(const std::vector<Series>& all) {
    std::vector<std::string> ids;
    for (const Series& series : all) ids.push_back(series.id);
    return ids;
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
                        if (has_live_set(t.procedure)) {
                            EXPECT_LE(t.max_bytes, t.pool_bytes * t.live / 100);
                            continue;
                        }
                        if (has_graph(t.procedure)) {
                            EXPECT_EQ(t.sources > 0, t.procedure == Procedure::updates);
                            EXPECT_LE(t.sources, t.callers);
                            // A batch finds edges that are not there yet, even if all of the
                            // family's are at its vertices.
                            EXPECT_LE(t.edges, std::uint64_t{t.sources} * t.callers / 2);
                            EXPECT_GE(t.max_bytes, 4 * (t.callers - 1));
                            EXPECT_LE(std::uint64_t{t.callers} * t.min_bytes, t.pool_bytes / 2);
                            continue;
                        }
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

TEST(Sweeps, AFilesGraphTakesThePlaceOfTheFamilies) {
    SweepSettings settings;
    const Graph graph = make_graph(GraphFamily::rmat, 1024, 1);
    settings.graph = facts_of(graph, "folder/some.mtx");
    const std::vector<Series> init = series_of("graph-init", settings);
    ASSERT_EQ(init.size(), 1U);
    EXPECT_EQ(init[0].id, "graph-init.file");
    EXPECT_NE(init[0].title.find("graph of some.mtx"), std::string::npos) << init[0].title;
    EXPECT_TRUE(init[0].baseline);
    ASSERT_EQ(init[0].points.size(), 1U);
    EXPECT_EQ(init[0].points[0].x, 1024);
    const Task& task = init[0].points[0].task;
    EXPECT_EQ(task.callers, 1024U);
    EXPECT_EQ(task.max_bytes, allocators::adjacency_bytes(settings.graph->greatest_degree));
    // Room for the arrays, half of it empty.
    settings.pool_bytes = 2 * settings.graph->array_bytes;
    EXPECT_EQ(series_of("graph-init", settings)[0].points.size(), 1U);
    settings.pool_bytes = 2 * settings.graph->array_bytes - 1;
    EXPECT_TRUE(series_of("graph-init", settings)[0].points.empty());

    settings.pool_bytes.reset();
    settings.graph->greatest_degree = 9;
    const std::vector<Series> updates = series_of("graph-update", settings);
    ASSERT_EQ(updates.size(), 1U);
    EXPECT_TRUE(updates[0].full_only);
    ASSERT_EQ(updates[0].points.size(), 2U);
    for (const Point& point : updates[0].points) {
        EXPECT_EQ(point.task.sources, point.x);
        EXPECT_EQ(point.task.callers, 1024U);
        // As many as 16 vertices without an edge could get, half of them.
        EXPECT_EQ(point.task.edges, 16 * (1023 - 9) / 2);
        EXPECT_EQ(point.task.max_bytes, 4096U) << "there may be 1023 edges at a vertex";
        EXPECT_GE(point.task.array_bytes, 2 * settings.graph->array_bytes);
    }
    EXPECT_EQ(updates[0].points[0].x, 1024 / 64);
    EXPECT_EQ(updates[0].points[1].x, 1024);
    settings.graph->greatest_degree = 1023;
    settings.graph->edges = 1024 * 1023 / 2;
    EXPECT_TRUE(series_of("graph-update", settings).empty()) << "no edge can be inserted";
}

TEST(Sweeps, ABatchIsSmallEnoughWhereverItStarts) {
    std::mt19937_64 random(tests::test_seed());
    for (int round = 0; round < 200; ++round) {
        const auto vertices = static_cast<std::uint32_t>(2 + random() % 300);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges{{0, 1}};
        for (std::uint64_t i = random() % (std::uint64_t{vertices} * vertices); i > 0; --i) {
            // Of all edges, or of a few vertices alone.
            const std::uint32_t from = round % 2 == 0 ? vertices : 1 + vertices / 20;
            edges.emplace_back(random() % from, random() % vertices);
        }
        const Graph graph = graph_of(vertices, edges);
        const std::uint64_t batch = most_batch_edges(facts_of(graph, ""));
        for (const std::uint32_t sources : {std::max(vertices / 64, 1U), vertices}) {
            for (std::uint32_t begin = 0; begin < vertices; ++begin) {
                std::uint64_t room = 0;
                for (std::uint32_t i = 0; i < sources; ++i) {
                    room += vertices - 1 - graph.degree((begin + i) % vertices);
                }
                ASSERT_LE(batch, room / 2) << vertices << " vertices, from " << begin;
            }
        }
    }
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
    const TaskResult result = run_on_cpu("cmalloc", task);
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

TEST(Sweeps, HaveTheSizesAndCallersThatWereChosen) {
    for (const bool quick : {false, true}) {
        SweepSettings settings;
        settings.quick = quick;
        settings.pool_bytes = 64 << 20;
        settings.bytes = {20, 64, 3000};
        settings.callers = {7, 300};
        for (const char* id : {"ad.payload", "acd.payload", "alloc.thread.7", "alloc.warp.300",
                               "mixed.300", "fragmentation", "oom"}) {
            std::vector<double> x;
            for (const Point& point : series_named(id, settings).points) {
                x.push_back(point.x);
                EXPECT_EQ(point.task.max_bytes, point.x) << id;
            }
            EXPECT_EQ(x, (std::vector<double>{20, 64, 3000})) << id;
        }
        for (const char* id : {"scaling.20", "scaling.3000", "work.4-64", "access.4-64"}) {
            std::vector<std::uint32_t> callers;
            for (const Point& point : series_named(id, settings).points) {
                callers.push_back(point.task.callers);
            }
            EXPECT_EQ(callers, (std::vector<std::uint32_t>{7, 300})) << id;
        }
        EXPECT_EQ(series_named("alloc.warp.300", settings).points.at(0).task.callers, 300U);
        EXPECT_EQ(series_of("alloc", settings).size(), 4U);
        EXPECT_EQ(series_of("scaling", settings).size(), 3U);
    }
    // Each test that is said to have them changes by them, and no other.
    const SweepSettings papers;
    for (const TestName& test : test_names()) {
        const auto axes = [&](const SweepSettings& settings) {
            std::vector<std::string> all;
            for (const Series& series : series_of(test.name, settings)) {
                all.push_back(series.id);
                for (const Point& p : series.points) {
                    all.push_back(std::to_string(p.task.max_bytes) + " " +
                                  std::to_string(p.task.callers));
                }
            }
            return all;
        };
        const auto lists = [&](const std::vector<std::string>& tests) {
            return std::ranges::find(tests, test.name) != tests.end();
        };
        SweepSettings sized = papers;
        sized.bytes = {20};
        EXPECT_EQ(axes(sized) != axes(papers), lists(tests_over_sizes())) << test.name;
        SweepSettings called = papers;
        called.callers = {7};
        EXPECT_EQ(axes(called) != axes(papers), lists(tests_over_callers())) << test.name;
    }
}

TEST(Sweeps, TasksMeasureWhatTheirSeriesPromise) {
    SweepSettings settings;
    settings.quick = true;
    settings.iterations = 1;
    for (const Series& series : all_series(settings)) {
        if (series.points.empty()) continue;
        const TaskResult result = run_on_cpu("cmalloc", series.points.front().task);
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
    const std::vector<PublishedRow> rows = published_rows(ids_of(all_series(settings)));
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
