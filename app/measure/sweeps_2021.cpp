/// @file
/// The tests of Winter et al., "Are Dynamic Memory Managers on GPUs Slow? A Survey and Benchmarks"
/// (2021), with smaller numbers where theirs would take long.
#include <stdexcept>

#include "app/base/text.h"
#include "app/measure/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

// Their pool has 8 GiB, 2 GiB in the test oom, and they repeat 100 times.
constexpr std::uint64_t kFillPool = 64 * kMiB;
constexpr std::uint32_t kFragmentationRounds = 100;
// Points that want more than half of the pool are left out: allocators may round sizes up to powers
// of two.
constexpr std::uint64_t kHalf = 2;

const Axis kThreads{"threads", "threads that request"};

std::vector<std::uint64_t> sizes(std::uint64_t first, const SweepSettings& settings,
                                 std::uint64_t factor = 2) {
    return chosen(powers(first, std::max<std::uint64_t>(settings.largest_bytes, first), factor),
                  settings);
}

std::vector<std::uint64_t> thread_counts(const SweepSettings& settings) {
    return settings.quick ? std::vector<std::uint64_t>{1, kQuickCallers}
                          : powers(1, std::uint64_t{1} << 20, 4);
}

std::uint64_t survey_pool(const SweepSettings& settings) {
    return settings.pool_bytes.value_or(default_bench_pool(settings));
}

const std::vector<Metric>& allocation_metrics() {
    static const std::vector<Metric> metrics{{"alloc_ms", "allocation", "ms", true},
                                             {"free_ms", "deallocation", "ms", true}};
    return metrics;
}

/// Numbers of requests made at once; small ones too if requests are large.
std::vector<std::uint32_t> request_counts(const SweepSettings& settings) {
    if (settings.quick) return {kQuickCallers};
    if (settings.largest_bytes > 8192) return {1000, 10000, 100000};
    return {10000, 100000};
}

std::vector<Series> alloc(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const bool by_warp : {false, true}) {
        for (const std::uint32_t callers : request_counts(settings)) {
            Task task = task_of(Procedure::allocate, survey_pool(settings), settings);
            task.lanes = by_warp ? 1 : 32;
            task.callers = callers;
            const std::string by = by_warp ? "warp" : "thread";
            all.push_back(
                {.id = "alloc." + by + "." + std::to_string(callers),
                 .test = "alloc",
                 .title = "One request a " + by + ", " + grouped(callers) + " " + by + "s",
                 .source = by_warp ? "Winter et al. 2021, figure 9c"
                                   : "Winter et al. 2021, figures 9a and 9b",
                 .axis = kBytes,
                 .metrics = allocation_metrics(),
                 .points = points(sizes(16, settings), task, kHalf, set_bytes)});
        }
    }
    return all;
}

std::vector<Series> mixed(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const std::uint32_t callers : request_counts(settings)) {
        Task task = task_of(Procedure::allocate, survey_pool(settings), settings);
        task.callers = callers;
        task.min_bytes = 4;
        all.push_back(
            {.id = "mixed." + std::to_string(callers),
             .test = "mixed",
             .title = "Requests of 4 B up to a largest size, " + grouped(callers) + " threads",
             .source = "Winter et al. 2021, figure 9d",
             .axis = Axis{"max_bytes", "largest request in bytes"},
             .metrics = allocation_metrics(),
             .points = points(sizes(4, settings), task, kHalf,
                              [](Task& t, std::uint64_t bytes) { t.max_bytes = narrow(bytes); })});
    }
    return all;
}

std::vector<Series> scaling(const SweepSettings& settings) {
    std::vector<std::uint32_t> all_sizes{16, 64, 512, 8192};
    if (settings.largest_bytes > 8192) all_sizes.push_back(settings.largest_bytes);
    if (settings.quick) all_sizes = {16};
    std::vector<Series> all;
    for (const std::uint32_t bytes : all_sizes) {
        Task task = task_of(Procedure::allocate, survey_pool(settings), settings);
        set_bytes(task, bytes);
        all.push_back({.id = "scaling." + std::to_string(bytes),
                       .test = "scaling",
                       .title = "One request of " + grouped(bytes) + " B a thread",
                       .source = "Winter et al. 2021, figure 10",
                       .axis = kThreads,
                       .metrics = allocation_metrics(),
                       .points = points(thread_counts(settings), task, kHalf, set_callers)});
    }
    return all;
}

std::vector<Series> fragmentation(const SweepSettings& settings) {
    Task task = task_of(Procedure::fragmentation, survey_pool(settings), settings);
    task.callers = settings.quick ? kQuickCallers : 10000;
    task.rounds = settings.quick ? 3 : kFragmentationRounds;
    return {{.id = "fragmentation",
             .test = "fragmentation",
             .title = "Addresses over which " + grouped(task.callers) + " blocks are spread",
             .source = "Winter et al. 2021, figure 11a",
             .axis = kBytes,
             .metrics = {{"range_first", "first round", "B", false},
                         {"range_last", "round " + std::to_string(task.rounds), "B", false},
                         {"range_all", "all rounds together", "B", false}},
             .points = points(sizes(16, settings, 4), task, kHalf, set_bytes),
             .baseline = true}};
}

std::vector<Series> oom(const SweepSettings& settings) {
    const std::uint64_t pool = std::min(survey_pool(settings), kFillPool);
    Task task = task_of(Procedure::fill, pool, settings);
    task.callers = settings.quick ? kQuickCallers : 10000;
    // Small blocks are many; some allocators pass by all of them before they refuse.
    const std::uint64_t smallest = settings.quick ? 256 : 16;
    return {{.id = "oom",
             .test = "oom",
             .title = "How much of a pool of " + bytes_text(pool) + " can be handed out",
             .source = "Winter et al. 2021, figure 11b",
             .axis = kBytes,
             .metrics = {{"utilisation", "until the first refusal", "1", false},
                         {"utilisation_all", "until all were refused", "1", false}},
             .points = points(sizes(smallest, settings, 4), task, kHalf, set_bytes),
             .descending = true}};
}

std::vector<Series> work(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const std::uint32_t most : {64U, 4096U}) {
        Task task = task_of(Procedure::work, survey_pool(settings), settings);
        task.min_bytes = 4;
        task.max_bytes = most;
        const std::string range = "4-" + std::to_string(most);
        all.push_back({.id = "work." + range,
                       .test = "work",
                       .title = "Memory for work items of " + range + " B, allocated and freed",
                       .source = most == 64 ? "Winter et al. 2021, figure 11c"
                                            : "Winter et al. 2021, figure 11d",
                       .axis = kThreads,
                       .metrics = {kMs},
                       .points = points(thread_counts(settings), task, kHalf, set_callers),
                       .baseline = true});
    }
    return all;
}

std::vector<Series> access(const SweepSettings& settings) {
    Task task = task_of(Procedure::access, survey_pool(settings), settings);
    task.min_bytes = 4;
    task.max_bytes = 64;
    return {{.id = "access.4-64",
             .test = "access",
             .title = "Writing and reading blocks of 4-64 B, eight threads a block",
             .source = "Winter et al. 2021, figure 11e",
             .axis = kThreads,
             .metrics = {{"write_ms", "writing", "ms", true}, {"read_ms", "reading", "ms", true}},
             .points = points(thread_counts(settings), task, kHalf, set_callers),
             .baseline = true}};
}

std::vector<Series> init(const SweepSettings& settings) {
    const std::uint64_t most = survey_pool(settings);
    std::vector<std::uint64_t> pools;
    for (const std::uint64_t bytes : {kQuickPool, 16 * kMiB, 256 * kMiB, 2048 * kMiB}) {
        if (bytes < most) pools.push_back(bytes);
    }
    pools.push_back(most);
    return {{.id = "init",
             .test = "init",
             .title = "Making and resetting a pool",
             .source = "Winter et al. 2021, section 4.1",
             .axis = kPool,
             .metrics = {{"make_ms", "making", "ms", false},
                         {"reset_ms", "resetting", "ms", false},
                         {"overhead_bytes", "side tables", "B", false}},
             .points = points(pools, task_of(Procedure::make, most, settings), kHalf, set_pool),
             .exact_pool = true}};
}

}  // namespace

std::vector<Series> survey(const std::string& test, const SweepSettings& settings) {
    if (test == "alloc") return alloc(settings);
    if (test == "mixed") return mixed(settings);
    if (test == "scaling") return scaling(settings);
    if (test == "fragmentation") return fragmentation(settings);
    if (test == "oom") return oom(settings);
    if (test == "work") return work(settings);
    if (test == "access") return access(settings);
    if (test == "init") return init(settings);
    throw std::invalid_argument("no test '" + test + "'");
}

}  // namespace heapwood::app::sweeps
