/// @file
/// The tests of Winter et al., "Are Dynamic Memory Managers on GPUs Slow? A Survey and Benchmarks"
/// (2021), with smaller numbers where theirs would take long.
#include "app/base/text.h"
#include "app/measure/workloads/sweeps/sweep_parts.h"

namespace heapwood::app::sweeps {
namespace {

// Their pool has 8 GiB, 2 GiB in the test oom, and they repeat 100 times.
constexpr std::uint64_t kFillPool = 64 * kMiB;
constexpr std::uint32_t kFragmentationRounds = 100;

const Axis kThreads{"threads", "threads that request",
                    [](Task& task, std::uint64_t threads) { task.callers = narrow(threads); }};
const Axis kLargest{"max_bytes", "largest request in bytes",
                    [](Task& task, std::uint64_t bytes) { task.max_bytes = narrow(bytes); }};
const std::vector<Metric> kAllocation{{"alloc_ms", "allocation", "ms", true},
                                      {"free_ms", "deallocation", "ms", true}};

std::vector<std::uint64_t> sizes(std::uint64_t first, const SweepSettings& settings,
                                 std::uint64_t factor = 2) {
    if (!settings.bytes.empty()) return settings.bytes;
    return chosen(powers(first, std::max<std::uint64_t>(settings.largest_bytes, first), factor),
                  settings);
}

std::vector<std::uint64_t> thread_counts(const SweepSettings& settings) {
    if (!settings.callers.empty()) return settings.callers;
    return settings.quick ? std::vector<std::uint64_t>{1, kQuickCallers}
                          : powers(1, std::uint64_t{1} << 20, 4);
}

std::uint64_t survey_pool(const SweepSettings& settings) {
    return settings.pool_bytes.value_or(default_bench_pool(settings));
}

/// A task in the survey's pool.
Task survey(Procedure procedure, const SweepSettings& settings) {
    return task_of(procedure, survey_pool(settings), settings);
}

/// Points that want more than half of the pool are left out: allocators may round sizes up to
/// powers of two.
Series survey(const std::string& id, const std::string& title, const std::string& figure,
              const Axis& axis, const std::vector<Metric>& metrics, const Task& task,
              const std::vector<std::uint64_t>& values) {
    return series(id, title, "Winter et al. 2021, " + figure, axis, metrics, task, values,
                  Room::half);
}

/// Numbers of requests made at once; small ones too if requests are large.
std::vector<std::uint64_t> request_counts(const SweepSettings& settings) {
    if (!settings.callers.empty()) return settings.callers;
    if (settings.quick) return {kQuickCallers};
    if (settings.largest_bytes > 8192) return {1000, 10000, 100000};
    return {10000, 100000};
}

}  // namespace

std::vector<Series> alloc(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const bool by_warp : {false, true}) {
        for (const std::uint64_t callers : request_counts(settings)) {
            Task task = survey(Procedure::allocate, settings);
            task.lanes = by_warp ? 1 : 32;
            task.callers = narrow(callers);
            const std::string by = by_warp ? "warp" : "thread";
            all.push_back(survey("alloc." + by + "." + std::to_string(callers),
                                 "One request a " + by + ", " + grouped(callers) + " " + by + "s",
                                 by_warp ? "figure 9c" : "figures 9a and 9b", kBytes, kAllocation,
                                 task, sizes(16, settings)));
        }
    }
    return all;
}

std::vector<Series> mixed(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const std::uint64_t callers : request_counts(settings)) {
        Task task = survey(Procedure::allocate, settings);
        task.callers = narrow(callers);
        task.min_bytes = 4;
        all.push_back(
            survey("mixed." + std::to_string(callers),
                   "Requests of 4 B up to a largest size, " + grouped(callers) + " threads",
                   "figure 9d", kLargest, kAllocation, task, sizes(4, settings)));
    }
    return all;
}

std::vector<Series> scaling(const SweepSettings& settings) {
    std::vector<std::uint64_t> all_sizes{16, 64, 512, 8192};
    if (settings.largest_bytes > 8192) all_sizes.push_back(settings.largest_bytes);
    if (settings.quick) all_sizes = {16};
    if (!settings.bytes.empty()) all_sizes = settings.bytes;
    std::vector<Series> all;
    for (const std::uint64_t bytes : all_sizes) {
        Task task = survey(Procedure::allocate, settings);
        set_bytes(task, bytes);
        all.push_back(survey("scaling." + std::to_string(bytes),
                             "One request of " + grouped(bytes) + " B a thread", "figure 10",
                             kThreads, kAllocation, task, thread_counts(settings)));
    }
    return all;
}

std::vector<Series> fragmentation(const SweepSettings& settings) {
    Task task = survey(Procedure::fragmentation, settings);
    task.callers = settings.quick ? kQuickCallers : 10000;
    task.rounds = settings.quick ? 3 : kFragmentationRounds;
    Series all = survey("fragmentation",
                        "Addresses over which " + grouped(task.callers) + " blocks are spread",
                        "figure 11a", kBytes,
                        {{"range_first", "first round", "B", false},
                         {"range_last", "round " + std::to_string(task.rounds), "B", false},
                         {"range_all", "all rounds together", "B", false}},
                        task, sizes(16, settings, 4));
    all.baseline = true;
    return {all};
}

std::vector<Series> oom(const SweepSettings& settings) {
    Task task = survey(Procedure::fill, settings);
    task.pool_bytes = std::min(task.pool_bytes, kFillPool);
    task.callers = settings.quick ? kQuickCallers : 10000;
    // Small blocks are many; some allocators pass by all of them before they refuse.
    const std::uint64_t smallest = settings.quick ? 256 : 16;
    Series all =
        survey("oom", "How much of a pool of " + bytes_text(task.pool_bytes) + " can be handed out",
               "figure 11b", kBytes,
               {{"utilisation", "until the first refusal", "1", false},
                {"utilisation_all", "until all were refused", "1", false}},
               task, sizes(smallest, settings, 4));
    all.descending = true;
    return {all};
}

std::vector<Series> work(const SweepSettings& settings) {
    std::vector<Series> all;
    for (const std::uint32_t most : {64U, 4096U}) {
        Task task = survey(Procedure::work, settings);
        task.min_bytes = 4;
        task.max_bytes = most;
        const std::string range = "4-" + std::to_string(most);
        all.push_back(survey("work." + range,
                             "Memory for work items of " + range + " B, allocated and freed",
                             most == 64 ? "figure 11c" : "figure 11d", kThreads, {kMs}, task,
                             thread_counts(settings)));
        all.back().baseline = true;
    }
    return all;
}

std::vector<Series> access(const SweepSettings& settings) {
    Task task = survey(Procedure::access, settings);
    task.min_bytes = 4;
    task.max_bytes = 64;
    Series all = survey(
        "access.4-64", "Writing and reading blocks of 4-64 B, eight threads a block", "figure 11e",
        kThreads, {{"write_ms", "writing", "ms", true}, {"read_ms", "reading", "ms", true}}, task,
        thread_counts(settings));
    all.baseline = true;
    return {all};
}

std::vector<Series> init(const SweepSettings& settings) {
    const Task task = survey(Procedure::make, settings);
    std::vector<std::uint64_t> pools;
    for (const std::uint64_t bytes : {kQuickPool, 16 * kMiB, 256 * kMiB, 2048 * kMiB}) {
        if (bytes < task.pool_bytes) pools.push_back(bytes);
    }
    pools.push_back(task.pool_bytes);
    Series all = survey("init", "Making and resetting a pool", "section 4.1", kPool,
                        {{"make_ms", "making", "ms", false},
                         {"reset_ms", "resetting", "ms", false},
                         {"overhead_bytes", "side tables", "B", false}},
                        task, pools);
    all.exact_pool = true;
    return {all};
}

}  // namespace heapwood::app::sweeps
