/// @file
/// Graphs by rule against what defines their families, the model of updates against sets of edges,
/// and tasks with a graph on real allocators and on broken ones.
#include "app/inputs/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/backends/backend.h"
#include "app/backends/workload_cpu.h"
#include "app/measure/workloads/graph_model.h"
#include "app/measure/workloads/perform.h"
#include "tests/app/measure/workloads/task_run.h"
#include "tests/app/revolving.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

using tests::run_on_cpu;
using tests::test_seed;
using EdgeSet = std::set<std::pair<std::uint32_t, std::uint32_t>>;

EdgeSet edges_of(const Graph& graph) {
    EdgeSet edges;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
        for (std::uint64_t i = graph.first[v]; i < graph.first[v + 1]; ++i) {
            edges.emplace(v, graph.targets[i]);
        }
    }
    return edges;
}

std::uint32_t largest_degree(const Graph& graph) {
    std::uint32_t most = 0;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) most = std::max(most, graph.degree(v));
    return most;
}

TEST(Graph, IsSimpleAndHasEveryEdgeInBothDirections) {
    const std::uint64_t seed = test_seed();
    for (const GraphFamilyName& family : kGraphFamilies) {
        for (const std::uint32_t vertices : {2U, 3U, 100U, 1024U}) {
            const Graph graph = make_graph(family.family, vertices, seed);
            ASSERT_EQ(graph.vertices(), vertices) << family.id;
            const EdgeSet edges = edges_of(graph);
            EXPECT_EQ(edges.size(), graph.targets.size()) << "an edge is there twice";
            for (const auto& [u, v] : edges) {
                EXPECT_LT(v, vertices) << family.id;
                EXPECT_NE(u, v) << family.id;
                EXPECT_EQ(edges.count({v, u}), 1U) << family.id;
            }
        }
        const Graph graph = make_graph(family.family, 1024, seed);
        EXPECT_LE(graph.targets.size(), std::size_t{1024} * family.mean_degree) << family.id;
        EXPECT_EQ(edges_of(make_graph(family.family, 1024, seed)), edges_of(graph));
        EXPECT_NE(edges_of(make_graph(family.family, 1024, seed + 1)), edges_of(graph));
    }
}

TEST(Graph, FamiliesAreWhatTheyAreCalled) {
    const std::uint64_t seed = test_seed();
    constexpr std::uint32_t kVertices = 4096;
    const auto mean = [](const Graph& graph) {
        return static_cast<double>(graph.targets.size()) / graph.vertices();
    };
    const Graph road = make_graph(GraphFamily::road, kVertices, seed);
    EXPECT_LE(largest_degree(road), 4U);
    EXPECT_NEAR(mean(road), 2.5 * 63 / 64, 0.1);
    for (const auto& [u, v] : edges_of(road)) {
        const std::uint32_t step = u < v ? v - u : u - v;
        EXPECT_TRUE(step == 64 || (step == 1 && u / 64 == v / 64)) << u << " " << v;
    }
    // Of a binomial law; of 4096 vertices none has four times the mean.
    const Graph uniform = make_graph(GraphFamily::uniform, kVertices, seed);
    EXPECT_NEAR(mean(uniform), 16, 0.2);
    EXPECT_LT(largest_degree(uniform), 64U);
    // Hubs, and vertices that have none.
    const Graph rmat = make_graph(GraphFamily::rmat, kVertices, seed);
    EXPECT_GT(mean(rmat), 8);
    EXPECT_GT(largest_degree(rmat), 200U);
    // A fourth of the matrix has 0.05 of the edges before equal ones are left out, of which most
    // are in the fourth that has 0.57.
    double among_late = 0;
    for (const auto& [u, v] : edges_of(rmat))
        among_late += u >= kVertices / 2 && v >= kVertices / 2;
    EXPECT_NEAR(among_late / static_cast<double>(rmat.targets.size()), 0.06, 0.01);
    std::uint32_t alone = 0;
    for (std::uint32_t v = 0; v < kVertices; ++v) alone += rmat.degree(v) == 0;
    EXPECT_GT(alone, kVertices / 20);
    // A vertex's neighbours are often neighbours: about 0.59 of their pairs in the plane, where by
    // chance it would be 0.003.
    const Graph geometric = make_graph(GraphFamily::geometric, kVertices, seed);
    EXPECT_NEAR(mean(geometric), 11.7, 0.6);
    const EdgeSet edges = edges_of(geometric);
    double pairs = 0;
    double closed = 0;
    for (std::uint32_t v = 0; v < kVertices; v += 8) {
        for (std::uint64_t i = geometric.first[v]; i < geometric.first[v + 1]; ++i) {
            for (std::uint64_t j = geometric.first[v]; j < i; ++j) {
                ++pairs;
                closed +=
                    static_cast<double>(edges.count({geometric.targets[i], geometric.targets[j]}));
            }
        }
    }
    EXPECT_NEAR(closed / pairs, 0.59, 0.06);
}

TEST(Graph, OfEdgesInAnyOrder) {
    const Graph graph = graph_of(4, {{2, 0}, {1, 1}, {0, 2}, {0, 1}, {2, 0}});
    EXPECT_EQ(graph.first, (std::vector<std::uint64_t>{0, 2, 3, 4, 4}));
    EXPECT_EQ(graph.targets, (std::vector<std::uint32_t>{1, 2, 0, 0}));
}

/// The edges of lists, each of which must be new to the set, or all in it.
void apply(bool insert, const EdgeLists& lists, EdgeSet& edges) {
    ASSERT_EQ(lists.first.size(), lists.vertices.size() + 1);
    for (std::size_t i = 0; i < lists.vertices.size(); ++i) {
        for (std::uint32_t k = lists.first[i]; k < lists.first[i + 1]; ++k) {
            EXPECT_TRUE(k == lists.first[i] || lists.targets[k - 1] < lists.targets[k]);
            const std::pair edge{lists.vertices[i], lists.targets[k]};
            EXPECT_NE(edge.first, edge.second);
            EXPECT_TRUE(insert ? edges.insert(edge).second : edges.erase(edge) == 1);
        }
    }
}

TEST(GraphModel, IsTheGraphWithItsBatches) {
    const std::uint64_t seed = test_seed();
    for (const SourceRange range : {SourceRange{90, 20}, SourceRange{0, 100}, SourceRange{7, 1}}) {
        const Graph graph = make_graph(GraphFamily::uniform, 100, seed);
        GraphModel model(graph, seed);
        EdgeSet edges = edges_of(graph);
        for (int round = 0; round < 10; ++round) {
            for (const bool insert : {true, false}) {
                const std::uint32_t number = range.count == 1 ? 40 : 300;
                const EdgeLists lists =
                    insert ? model.insert(number, range) : model.remove(number, range);
                EXPECT_EQ(lists.targets.size(), number);
                for (const std::uint32_t vertex : lists.vertices) {
                    EXPECT_LT((vertex + 100 - range.begin) % 100, range.count);
                }
                apply(insert, lists, edges);
                const std::vector<std::uint64_t> first = model.first();
                std::vector<std::uint32_t> targets;
                for (const auto& [source, target] : edges) targets.push_back(target);
                ASSERT_EQ(first.back(), targets.size());
                // In any order, but no other than these.
                std::uint32_t v = 9;
                while (model.degree(v) == 0) ++v;
                std::reverse(targets.begin() + static_cast<std::ptrdiff_t>(first[v]),
                             targets.begin() + static_cast<std::ptrdiff_t>(first[v + 1]));
                EXPECT_FALSE(model.difference(targets).has_value());
                ++targets[first[v]];
                EXPECT_EQ(model.difference(targets).value_or("").find(
                              "vertex " + std::to_string(v) + " has other edges"),
                          0U);
            }
        }
    }
}

Task graph_task(Procedure procedure) {
    Task task;
    task.procedure = procedure;
    task.callers = 512;
    task.edges = 1000;
    task.sources = 64;
    task.min_bytes = 16;
    task.max_bytes = 2048;
    task.pool_bytes = 4 << 20;
    task.iterations = 2;
    task.budget_ms = 1e9;
    return task;
}

TEST(GraphTask, MeasuresArraysWithEveryFamily) {
    for (const GraphFamilyName& family : kGraphFamilies) {
        for (const char* allocator : {"halloc", "buddy", "atomicmalloc", ""}) {
            Task task = graph_task(Procedure::graph);
            task.family = family.family;
            const TaskResult result = run_on_cpu(allocator, task);
            ASSERT_EQ(result.outcome, Outcome::done)
                << allocator << " " << family.id << ": " << result.message;
            for (const char* metric : {"alloc_ms", "fill_ms", "free_ms"}) {
                if (metric == std::string("free_ms") && allocator == std::string("atomicmalloc")) {
                    continue;
                }
                EXPECT_EQ(result.metrics.at(metric).cold.size(), 1U) << metric;
                EXPECT_EQ(result.metrics.at(metric).warm.size(), 2U) << metric;
            }
            if (allocator == std::string()) continue;
            EXPECT_EQ(result.counts, (allocators::Counts{512, 512, 0, 0}));
            double bytes = 0;
            const Graph graph = make_graph(family.family, 512, task.seed);
            for (std::uint32_t v = 0; v < 512; ++v) {
                std::uint32_t size = 16;
                while (size < 4 * graph.degree(v)) size *= 2;
                bytes += size;
            }
            EXPECT_EQ(result.metrics.at("live").value,
                      std::vector<double>{100 * bytes / static_cast<double>(result.pool_bytes)});
            EXPECT_GE(result.metrics.at("taken").value.at(0), result.metrics.at("live").value[0]);
        }
    }
}

TEST(GraphTask, UpdatesWithFullAllocators) {
    for (const char* allocator : {"cmalloc", "hybrid", "ouroboros-p-s", "cudamalloc"}) {
        for (const std::uint32_t sources : {16U, 512U}) {
            Task task = graph_task(Procedure::updates);
            task.sources = sources;
            const TaskResult result = run_on_cpu(allocator, task);
            ASSERT_EQ(result.outcome, Outcome::done) << allocator << ": " << result.message;
            EXPECT_EQ(result.metrics.at("insert_ms").warm.size(), 2U);
            EXPECT_EQ(result.metrics.at("delete_ms").cold.size(), 1U);
            EXPECT_EQ(result.metrics.count("taken"),
                      allocator == std::string("cudamalloc") ? 0U : 1U);
            // 62 edges more at each of 16 vertices are more than an array has left.
            EXPECT_GT(result.counts.requests, 16U);
            EXPECT_EQ(result.counts.requests, result.counts.frees);
        }
    }
}

TEST(GraphTask, TakesTheGraphOfItsSubject) {
    // A star: a hub with edges to all others.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t v = 1; v < 300; ++v) edges.emplace_back(0, v);
    const Graph star = graph_of(300, edges);
    for (const char* allocator : {"halloc", ""}) {
        Task task = graph_task(Procedure::graph);
        task.callers = 300;
        const TaskResult init = run_on_cpu(allocator, task, &star);
        ASSERT_EQ(init.outcome, Outcome::done) << allocator << ": " << init.message;
        if (allocator == std::string()) continue;
        EXPECT_EQ(
            init.metrics.at("live").value,
            std::vector<double>{100 * (2048 + 299 * 16.0) / static_cast<double>(init.pool_bytes)});
        task.procedure = Procedure::updates;
        task.edges = 200;
        task.sources = 4;
        const TaskResult updates = run_on_cpu(allocator, task, &star);
        EXPECT_EQ(updates.outcome, Outcome::done) << updates.message;
    }
}

TEST(GraphTask, SaysWhatWasRefused) {
    Task task = graph_task(Procedure::graph);
    task.pool_bytes = 16 << 10;
    const TaskResult init = run_on_cpu("buddy", task);
    EXPECT_EQ(init.outcome, Outcome::out_of_pool);
    EXPECT_NE(init.message.find(" of 512 vertices were refused an array when the graph was made"),
              std::string::npos)
        << init.message;
    EXPECT_GT(init.counts.failed, 0U);
    task = graph_task(Procedure::updates);
    task.family = GraphFamily::road;
    task.edges = 16000;
    task.pool_bytes = 64 << 10;
    const TaskResult updates = run_on_cpu("buddy", task);
    EXPECT_EQ(updates.outcome, Outcome::out_of_pool);
    EXPECT_NE(updates.message.find("were refused an array when edges were inserted"),
              std::string::npos)
        << updates.message;
}

/// A pool in which the first edge of an array is another after each update.
class SpoiledPool final : public CpuWorkloadPool<tests::Revolving> {
public:
    using CpuWorkloadPool::CpuWorkloadPool;

    double update(const allocators::EdgeBatch& batch) override {
        const double ms = CpuWorkloadPool::update(batch);
        if (batch.sources > 0) ++*static_cast<std::uint32_t*>(batch.arrays[batch.vertices[0]]);
        return ms;
    }
};

/// A pool in which, after each update, a vertex has its only edge in the rest of another's array.
class SharingPool final : public CpuWorkloadPool<tests::Revolving> {
public:
    using CpuWorkloadPool::CpuWorkloadPool;

    double update(const allocators::EdgeBatch& batch) override {
        const double ms = CpuWorkloadPool::update(batch);
        std::vector<std::uint32_t> singles;
        for (std::uint32_t v = 0; batch.sources > 0 && singles.size() < 2; ++v) {
            if (batch.degrees[v] == 1) singles.push_back(v);
        }
        if (singles.empty()) return ms;
        auto* rest = static_cast<std::uint32_t*>(batch.arrays[singles[0]]) + 1;
        *rest = *static_cast<std::uint32_t*>(batch.arrays[singles[1]]);
        batch.arrays[singles[1]] = rest;
        return ms;
    }
};

TEST(GraphTask, NoticesMemoryThatIsHandedOutTwice) {
    const auto machine = cpu_workloads(1);
    const auto perform_with = [&](MakePool make, const Task& task) {
        return perform({.machine = *machine, .make = make, .threads = 1}, task);
    };
    Task task = graph_task(Procedure::graph);
    task.family = GraphFamily::road;  // 16 bytes an array, 64 a cell
    task.pool_bytes = 512 * 64;
    const auto revolving = &make_pool<CpuWorkloadPool<tests::Revolving>>;
    EXPECT_EQ(perform_with(revolving, task).outcome, Outcome::done);
    task.pool_bytes = 511 * 64;
    const TaskResult twice = perform_with(revolving, task);
    EXPECT_EQ(twice.outcome, Outcome::corrupt);
    EXPECT_TRUE(twice.metrics.empty());
    // Arrays of 512 bytes in cells of 64 overlap.
    task = graph_task(Procedure::updates);
    task.family = GraphFamily::road;
    EXPECT_EQ(perform_with(revolving, task).outcome, Outcome::corrupt);
    // Few edges, all of which fit into cells.
    task.edges = 64;
    task.sources = 512;
    EXPECT_EQ(perform_with(revolving, task).outcome, Outcome::done);
    const TaskResult shared = perform_with(&make_pool<SharingPool>, task);
    EXPECT_EQ(shared.outcome, Outcome::corrupt);
    EXPECT_NE(shared.message.find("the arrays of two vertices overlap"), std::string::npos)
        << shared.message;
    const TaskResult spoiled = perform_with(&make_pool<SpoiledPool>, task);
    EXPECT_EQ(spoiled.outcome, Outcome::corrupt);
    EXPECT_NE(spoiled.message.find("has other edges than its"), std::string::npos)
        << spoiled.message;
}

}  // namespace
}  // namespace heapwood::app
