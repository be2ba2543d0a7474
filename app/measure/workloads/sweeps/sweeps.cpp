#include "app/measure/workloads/sweeps/sweeps.h"

#include <algorithm>
#include <stdexcept>

#include "allocators/allocator.cuh"
#include "allocators/measure/adjacency.cuh"
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app {
namespace sweeps {

std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t v = first; v <= last; v *= factor) values.push_back(v);
    return values;
}

std::vector<std::uint64_t> chosen(std::vector<std::uint64_t> values,
                                  const SweepSettings& settings) {
    if (!settings.quick || values.size() < 3) return values;
    return {values.front(), values[values.size() / 3]};
}

Task task_of(Procedure procedure, std::uint64_t pool, const SweepSettings& settings) {
    Task task;
    task.procedure = procedure;
    task.pool_bytes = pool;
    task.seed = settings.seed;
    task.iterations = warm_iterations(settings);
    return task;
}

namespace {

/// Most bytes of a graph's arrays, on average over the graphs of its family.
std::uint64_t graph_bytes(const Task& task) {
    if (task.array_bytes != 0) return task.array_bytes;
    const auto* const name =
        std::find_if(kGraphFamilies.begin(), kGraphFamilies.end(),
                     [&](const auto& one) { return one.family == task.family; });
    // Twice what the edges take, which is rounded up.
    const std::uint64_t edges = std::uint64_t{task.callers} * name->mean_degree + task.edges;
    return std::uint64_t{task.callers} * allocators::kSmallestAdjacency +
           2 * sizeof(std::uint32_t) * edges;
}

/// Bytes that are in use at once, on average over the dice.
std::uint64_t wanted_bytes(const Task& task) {
    // One block at least in the part of the pool that is to be live.
    if (has_live_set(task.procedure)) return std::uint64_t{100} * task.max_bytes / task.live;
    if (has_graph(task.procedure)) return graph_bytes(task);
    const std::uint64_t mean = (std::uint64_t{task.min_bytes} + task.max_bytes) / 2;
    const std::uint64_t held = std::uint64_t{task.held_blocks} * task.held_bytes;
    return held + std::max<std::uint64_t>(mean, allocators::kAlignment) * task.callers *
                      (one_block_each(task.procedure) ? 1 : task.requests);
}

}  // namespace

Series series(const std::string& id, const std::string& title, const std::string& source,
              const Axis& axis, const std::vector<Metric>& metrics, const Task& common,
              const std::vector<std::uint64_t>& values, Room room) {
    Series all{.id = id,
               .test = id.substr(0, id.find('.')),
               .title = title,
               .source = source,
               .axis = axis,
               .metrics = metrics,
               .points = {}};
    for (const std::uint64_t x : values) {
        Point point{static_cast<double>(x), common};
        axis.set(point.task, x);
        const std::uint64_t most = point.task.pool_bytes / static_cast<std::uint64_t>(room);
        if (common.procedure == Procedure::fill || wanted_bytes(point.task) <= most) {
            all.points.push_back(point);
        }
    }
    return all;
}

namespace {

std::vector<Series> registers(const SweepSettings&) {
    return {{.id = "registers",
             .test = "registers",
             .title = "Registers of a kernel with one allocation and one deallocation",
             .source = "Vinkler & Havran 2015, table 1; Winter et al. 2021, section 4.1",
             .axis = {},
             .metrics = {{"uncoalesced", "each lane on its own", "1", false},
                         {"coalesced", "the lanes together", "1", false}},
             .points = {}}};
}

}  // namespace
}  // namespace sweeps

const std::vector<TestName>& test_names() {
    using namespace sweeps;
    static const std::vector<TestName> names{
        {"ad", "AD: every warp allocates a block and frees it at once (2014, 2015)", ad},
        {"acd", "ACD: every warp allocates 10 blocks, then frees them (2014, 2015)", acd},
        {"p", "P: warps allocate or free by chance, launch after launch (2014, 2015)", p},
        {"xmalloc", "against the lanes of a warp that call (2010, 2013)", xmalloc},
        {"alloc", "one size, by thread and by warp (2021)", alloc},
        {"mixed", "sizes mixed (2021)", mixed},
        {"scaling", "against the number of threads (2021)", scaling},
        {"fragmentation", "the range of addresses (2021)", fragmentation},
        {"oom", "how much of the pool can be used (2021)", oom},
        {"work", "memory for work items, against a prefix sum (2021)", work},
        {"access", "writing and reading the blocks, against a prefix sum (2021)", access},
        {"init", "making and resetting the pool (2021)", init},
        {"graph-init", "an array for the edges of each vertex of a graph (2021)", graph_init},
        {"graph-update", "batches of edges inserted into a graph, and deleted (2021)",
         graph_update},
        {"churn", "a live set that stays, calls timed one by one, fragmentation as it ages", churn},
        {"registers", "registers of an allocation and a deallocation, from the compiler",
         registers}};
    return names;
}

const std::vector<std::string>& tests_over_sizes() {
    static const std::vector<std::string> names{"ad",      "acd",           "alloc", "mixed",
                                                "scaling", "fragmentation", "oom"};
    return names;
}

const std::vector<std::string>& tests_over_callers() {
    static const std::vector<std::string> names{"alloc", "mixed", "scaling", "work", "access"};
    return names;
}

std::uint32_t warm_iterations(const SweepSettings& settings) {
    return settings.iterations.value_or(settings.quick ? 1 : 5);
}

std::uint64_t default_bench_pool(const SweepSettings& settings) {
    if (settings.quick) return sweeps::kQuickPool;
    return settings.gpu ? 2048 * sweeps::kMiB : sweeps::kPoolOnCpu;
}

std::vector<Series> series_of(const std::string& test, const SweepSettings& settings) {
    for (const TestName& known : test_names()) {
        if (known.name == test) return known.series(settings);
    }
    throw std::invalid_argument("no test '" + test + "'");
}

}  // namespace heapwood::app
