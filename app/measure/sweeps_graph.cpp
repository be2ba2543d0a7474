/// @file
/// The graph tests of Winter et al. 2021, with graphs of the same families made by rule.
#include "allocators/measure/adjacency.cuh"
#include "app/base/text.h"
#include "app/measure/sweep_parts.h"

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

/// A series for each family of graphs.
std::vector<Series> families(const std::string& id, const std::string& title,
                             const std::string& figure, const Axis& axis,
                             std::vector<Metric> metrics, Task task,
                             const std::vector<std::uint64_t>& values) {
    metrics.insert(metrics.end(), kUse.begin(), kUse.end());
    std::vector<Series> all;
    for (const GraphFamilyName& family : kGraphFamilies) {
        task.family = family.family;
        all.push_back(series(id + "." + family.id, title + family.title,
                             "Winter et al. 2021, " + figure, axis, metrics, task, values,
                             Room::half));
    }
    return all;
}

Task graph_task(Procedure procedure, const SweepSettings& settings) {
    return task_of(procedure, settings.pool_bytes.value_or(default_bench_pool(settings)), settings);
}

}  // namespace

std::vector<Series> graph_init(const SweepSettings& settings) {
    const std::uint32_t most = sized(settings, 2 * kVertices, 4 * kVerticesOnCpu, kQuickVertices);
    std::vector<Series> all =
        families("graph-init", "An array for the edges of each vertex, ", "section 4.4.3", kSize,
                 {{"alloc_ms", "allocation", "ms", true},
                  {"fill_ms", "writing the edges", "ms", true},
                  {"free_ms", "deallocation", "ms", true}},
                 graph_task(Procedure::graph, settings), powers(most / 64, most, 8));
    for (Series& one : all) one.baseline = true;
    return all;
}

std::vector<Series> graph_update(const SweepSettings& settings) {
    Task task = graph_task(Procedure::updates, settings);
    const std::uint32_t vertices = sized(settings, kVertices, kVerticesOnCpu, kQuickVertices);
    set_vertices(task, vertices);
    task.edges = sized(settings, kBatchEdges, kBatchEdgesOnCpu, kQuickBatchEdges);
    std::vector<Series> all =
        families("graph-update", grouped(task.edges) + " edges inserted, then as many deleted, ",
                 "section 4.4.4", kSources,
                 {{"insert_ms", "insertion", "ms", true}, {"delete_ms", "deletion", "ms", true}},
                 task, {vertices / kFocus, vertices});
    for (Series& one : all) one.full_only = true;
    return all;
}

}  // namespace heapwood::app::sweeps
