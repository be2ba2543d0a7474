/// @file
/// The graph tests of Winter et al. 2021, with graphs of the same families made by rule, or with
/// that of a file.
#include <algorithm>
#include <filesystem>

#include "allocators/measure/adjacency.cuh"
#include "app/base/text.h"
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

/// A batch on a GPU is the survey's.
constexpr std::uint32_t kBatchEdges = 100000;
constexpr std::uint32_t kBatchEdgesOnCpu = 10000;
constexpr std::uint32_t kQuickBatchEdges = 200;
constexpr std::uint32_t kVertices = 1U << 15;
constexpr std::uint32_t kVerticesOnCpu = 1U << 12;
constexpr std::uint32_t kQuickVertices = 1U << 8;
/// A focused batch has one vertex in so many.
constexpr std::uint32_t kFocus = 64;

void set_vertices(Task& task, std::uint64_t vertices) {
    task.callers = narrow(vertices);
    task.min_bytes = allocators::kSmallestAdjacency;
    task.max_bytes = allocators::adjacency_bytes(task.callers - 1);
}

const Axis kSize{"vertices", "vertices", set_vertices};
const Axis kSizeOfFile{"vertices", "vertices",
                       [](Task& task, std::uint64_t vertices) { task.callers = narrow(vertices); }};
const Axis kSources{"sources", "vertices that the edges of a batch start from",
                    [](Task& task, std::uint64_t sources) { task.sources = narrow(sources); }};
const std::vector<Metric> kUse{{"live", "arrays, of the pool", "%", false},
                               {"taken", "regions that hold them, of the pool", "%", false}};

/// A number for a GPU, a CPU, or --quick.
std::uint32_t sized(const SweepSettings& settings, std::uint32_t gpu, std::uint32_t cpu,
                    std::uint32_t quick) {
    if (settings.quick) return quick;
    return settings.gpu ? gpu : cpu;
}

/// What the series of a test have in common.
struct GraphTest {
    std::string id;
    std::string title;
    std::string figure;
    std::vector<Metric> metrics;

    Series series(const std::string& graph, const std::string& of, const Axis& axis,
                  const Task& task, const std::vector<std::uint64_t>& values) const {
        std::vector<Metric> all = metrics;
        all.insert(all.end(), kUse.begin(), kUse.end());
        return sweeps::series(id + "." + graph, title + of, "Winter et al. 2021, " + figure, axis,
                              all, task, values, Room::half);
    }
    /// A series for each family of graphs.
    std::vector<Series> families(const Axis& axis, Task task,
                                 const std::vector<std::uint64_t>& values) const {
        std::vector<Series> all;
        for (const GraphFamilyName& family : kGraphFamilies) {
            task.family = family.family;
            all.push_back(series(family.id, family.title, axis, task, values));
        }
        return all;
    }
    /// The series of a file's graph.
    std::vector<Series> file(const GraphFile& graph, const Axis& axis, Task task,
                             const std::vector<std::uint64_t>& values) const {
        task.callers = graph.vertices;
        task.min_bytes = allocators::kSmallestAdjacency;
        const std::uint64_t degree = std::uint64_t{graph.greatest_degree} + task.edges;
        task.max_bytes =
            allocators::adjacency_bytes(narrow(std::min<std::uint64_t>(degree, task.callers - 1)));
        // An edge more may take an array of twice the size.
        task.array_bytes = task.edges == 0
                               ? graph.array_bytes
                               : 2 * graph.array_bytes + 2 * sizeof(std::uint32_t) * task.edges;
        const std::string name = std::filesystem::path(graph.path).filename().string();
        return {series("file", "graph of " + name, axis, task, values)};
    }
};

/// How many vertices a focused batch has of so many.
std::uint32_t focused(std::uint32_t vertices) {
    return std::max(vertices / kFocus, 1U);
}

Task graph_task(Procedure procedure, const SweepSettings& settings) {
    return task_of(procedure, settings.pool_bytes.value_or(default_bench_pool(settings)), settings);
}

}  // namespace

std::vector<Series> graph_init(const SweepSettings& settings) {
    const std::uint32_t most = sized(settings, 2 * kVertices, 4 * kVerticesOnCpu, kQuickVertices);
    const GraphTest test{"graph-init",
                         "An array for the edges of each vertex, ",
                         "section 4.4.3",
                         {{"alloc_ms", "allocation", "ms", true},
                          {"fill_ms", "writing the edges", "ms", true},
                          {"free_ms", "deallocation", "ms", true}}};
    const Task task = graph_task(Procedure::graph, settings);
    std::vector<Series> all =
        settings.graph ? test.file(*settings.graph, kSizeOfFile, task, {settings.graph->vertices})
                       : test.families(kSize, task, powers(most / 64, most, 8));
    for (Series& one : all) one.baseline = true;
    return all;
}

std::vector<Series> graph_update(const SweepSettings& settings) {
    const std::optional<GraphFile>& graph = settings.graph;
    const std::uint32_t vertices =
        graph ? graph->vertices : sized(settings, kVertices, kVerticesOnCpu, kQuickVertices);
    Task task = graph_task(Procedure::updates, settings);
    task.edges = sized(settings, kBatchEdges, kBatchEdgesOnCpu, kQuickBatchEdges);
    if (graph) {
        task.edges = narrow(std::min<std::uint64_t>(task.edges, most_batch_edges(*graph)));
        if (task.edges == 0) return {};
    }
    const GraphTest test{
        "graph-update",
        grouped(task.edges) + " edges inserted, then as many deleted, ",
        "section 4.4.4",
        {{"insert_ms", "insertion", "ms", true}, {"delete_ms", "deletion", "ms", true}}};
    const std::vector<std::uint64_t> sources{focused(vertices), vertices};
    set_vertices(task, vertices);
    std::vector<Series> all =
        graph ? test.file(*graph, kSources, task, sources) : test.families(kSources, task, sources);
    for (Series& one : all) one.full_only = true;
    return all;
}

}  // namespace heapwood::app::sweeps

namespace heapwood::app {

std::uint64_t most_batch_edges(const GraphFile& graph) {
    const std::uint64_t sources = sweeps::focused(graph.vertices);
    const std::uint64_t there = std::min(2 * graph.edges, sources * graph.greatest_degree);
    return (sources * (graph.vertices - 1) - there) / 2;
}

}  // namespace heapwood::app
