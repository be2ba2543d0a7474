#include "app/measure/sweeps.h"

#include <algorithm>
#include <stdexcept>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Vinkler & Havran 2014 and 2015, generic tests: the defaults of the authors' public program. One
// lane of each warp calls; 1200 blocks of 8 warps; payloads of 4 bytes from a pool of 8 MiB; 32
// allocations in a cycle; 32 launches of P, in which a warp acts if its die is above 0.75.
constexpr std::uint32_t kPaperWarps = 9600;
constexpr std::uint32_t kPaperBytes = 4;
constexpr std::uint64_t kPaperPool = 8 * kMiB;
constexpr std::uint32_t kPaperCycle = 32;
constexpr std::uint32_t kPaperLaunches = 32;
constexpr float kPaperThreshold = 0.75F;
constexpr const char* kPapers = "Vinkler & Havran 2015, generic tests";

// The sweeps of the generic tests go beyond what 8 MiB can hold.
constexpr std::uint64_t kSweepPool = 256 * kMiB;

// Winter et al. 2021. Their pool has 8 GiB, 2 GiB in the test oom, and they repeat 100 times.
constexpr std::uint64_t kSurveyPool = 2048 * kMiB;
constexpr std::uint64_t kSurveyPoolOnCpu = 256 * kMiB;
constexpr std::uint64_t kFillPool = 64 * kMiB;
constexpr std::uint32_t kFragmentationRounds = 100;

// --quick.
constexpr std::uint64_t kQuickPool = 4 * kMiB;
constexpr std::uint32_t kQuickCallers = 96;

const Metric kMs{"ms", "time", "ms", true};
const Axis kBytes{"bytes", "bytes of a request"};
const Axis kThreads{"threads", "threads that request"};
const Axis kWarps{"warps", "warps that request"};
const Axis kPool{"pool_bytes", "bytes of the pool"};
const Axis kCycle{"requests", "requests of each warp"};

/// Powers of `factor` times `first`, up to `last`.
std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor) {
    std::vector<std::uint64_t> values;
    for (std::uint64_t v = first; v <= last; v *= factor) values.push_back(v);
    return values;
}

/// The points of a sweep, of which --quick keeps the first and one in the middle.
std::vector<std::uint64_t> chosen(std::vector<std::uint64_t> values,
                                  const SweepSettings& settings) {
    if (!settings.quick || values.size() < 3) return values;
    return {values.front(), values[values.size() / 3]};
}

std::vector<std::uint64_t> sizes(std::uint64_t first, const SweepSettings& settings,
                                 std::uint64_t factor = 2) {
    return chosen(powers(first, std::max<std::uint64_t>(settings.largest_bytes, first), factor),
                  settings);
}

std::vector<std::uint64_t> thread_counts(const SweepSettings& settings) {
    return settings.quick ? std::vector<std::uint64_t>{1, kQuickCallers}
                          : powers(1, std::uint64_t{1} << 20, 4);
}

/// What all tasks have in common.
Task task_of(Procedure procedure, std::uint64_t pool, const SweepSettings& settings) {
    Task task;
    task.procedure = procedure;
    task.pool_bytes = pool;
    task.choices = settings.choices;
    task.seed = settings.seed;
    task.iterations = warm_iterations(settings);
    return task;
}

std::uint64_t survey_pool(const SweepSettings& settings) {
    return settings.pool_bytes.value_or(default_bench_pool(settings));
}

/// Bytes that are in use at once, on average over the dice.
std::uint64_t wanted_bytes(const Task& task) {
    const std::uint64_t mean = (std::uint64_t{task.min_bytes} + task.max_bytes) / 2;
    const bool one_each =
        task.procedure == Procedure::pairs || task.procedure == Procedure::probability;
    return std::max<std::uint64_t>(mean, allocators::kAlignment) * task.callers *
           (one_each ? 1 : task.requests);
}

/// A series whose points are made by `change(task, x)` from a common task, but for those that do
/// not fit.
template <class Change>
std::vector<Point> points(const std::vector<std::uint64_t>& values, const Task& common,
                          const Change& change) {
    std::vector<Point> all;
    for (const std::uint64_t x : values) {
        Point point{static_cast<double>(x), common};
        change(point.task, x);
        const bool takes_all = common.procedure == Procedure::fill;
        if (takes_all || wanted_bytes(point.task) <= point.task.pool_bytes / 2) {
            all.push_back(point);
        }
    }
    return all;
}

std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
void set_bytes(Task& task, std::uint64_t bytes) {
    task.min_bytes = task.max_bytes = narrow(bytes);
}
void set_callers(Task& task, std::uint64_t callers) {
    task.callers = narrow(callers);
}

/// AD, ACD or P with the papers' settings, then with one of them varied.
std::vector<Series> generic(const std::string& test, Procedure procedure, const std::string& what,
                            const SweepSettings& settings) {
    Task paper = task_of(procedure, settings.quick ? kQuickPool : kPaperPool, settings);
    paper.by_warp = true;
    paper.callers = settings.quick ? kQuickCallers : kPaperWarps;
    set_bytes(paper, kPaperBytes);
    if (procedure == Procedure::cycle) paper.requests = settings.quick ? 4 : kPaperCycle;
    if (procedure == Procedure::probability) {
        paper.rounds = settings.quick ? 8 : kPaperLaunches;
        paper.threshold = kPaperThreshold;
    }
    Task wide = paper;
    wide.pool_bytes = settings.quick ? kQuickPool : kSweepPool;
    const auto series = [&](const std::string& id, const std::string& title,
                            const std::optional<Axis>& axis, std::vector<Point> all) {
        return Series{.id = test + "." + id,
                      .test = test,
                      .title = what + title,
                      .source = kPapers,
                      .axis = axis,
                      .metrics = {kMs},
                      .points = std::move(all)};
    };
    std::vector<Series> all;
    all.push_back(series("settings", ", the papers' settings", {}, {{0, paper}}));
    all.push_back(series("payload", " against the size of a request", kBytes,
                         points(sizes(4, settings), wide, set_bytes)));
    all.push_back(series(
        "warps", " against the number of warps", kWarps,
        points(settings.quick ? std::vector<std::uint64_t>{1, kQuickCallers} : powers(1, 65536, 4),
               wide, set_callers)));
    if (procedure == Procedure::cycle) {
        all.push_back(
            series("requests", " against the number of requests in a cycle", kCycle,
                   points(chosen(powers(1, 128, 2), settings), wide,
                          [](Task& task, std::uint64_t n) { task.requests = narrow(n); })));
    }
    all.push_back(series("pool", " against the size of the pool", kPool,
                         points(chosen(powers(kMiB, 1024 * kMiB, 4), settings), paper,
                                [](Task& task, std::uint64_t bytes) { task.pool_bytes = bytes; })));
    all.back().exact_pool = true;
    return all;
}

const std::vector<Metric>& allocation_metrics() {
    static const std::vector<Metric> metrics{{"alloc_ms", "allocation", "ms", true},
                                             {"free_ms", "deallocation", "ms", true}};
    return metrics;
}

/// Numbers of requests made at once. Large ones are asked for by fewer.
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
            task.by_warp = by_warp;
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
                 .points = points(sizes(16, settings), task, set_bytes)});
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
        all.push_back({.id = "mixed." + std::to_string(callers),
                       .test = "mixed",
                       .title = "Requests of 4 to so many bytes, " + grouped(callers) + " threads",
                       .source = "Winter et al. 2021, figure 9d",
                       .axis = Axis{"max_bytes", "largest request in bytes"},
                       .metrics = allocation_metrics(),
                       .points = points(sizes(4, settings), task, [](Task& t, std::uint64_t bytes) {
                           t.max_bytes = narrow(bytes);
                       })});
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
                       .points = points(thread_counts(settings), task, set_callers)});
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
             .points = points(sizes(16, settings, 4), task, set_bytes),
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
             .points = points(sizes(smallest, settings, 4), task, set_bytes),
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
                       .title = "Memory for work items of " + range + " B, had and given back",
                       .source = most == 64 ? "Winter et al. 2021, figure 11c"
                                            : "Winter et al. 2021, figure 11d",
                       .axis = kThreads,
                       .metrics = {kMs},
                       .points = points(thread_counts(settings), task, set_callers),
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
             .points = points(thread_counts(settings), task, set_callers),
             .baseline = true}};
}

std::vector<Series> init(const SweepSettings& settings) {
    const std::uint64_t most = survey_pool(settings);
    std::vector<std::uint64_t> pools;
    for (const std::uint64_t bytes : {kQuickPool, 16 * kMiB, kSweepPool, kSurveyPool}) {
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
             .points = points(pools, task_of(Procedure::make, most, settings),
                              [](Task& task, std::uint64_t bytes) { task.pool_bytes = bytes; }),
             .exact_pool = true}};
}

std::vector<Series> registers() {
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

const std::vector<TestName>& test_names() {
    static const std::vector<TestName> names{
        {"ad", "AD: every warp allocates and frees a block (2014, 2015)"},
        {"acd", "ACD: every warp allocates 32 blocks, then frees them (2014, 2015)"},
        {"p", "P: warps allocate or free by chance (2014, 2015)"},
        {"alloc", "one size, by thread and by warp (2021)"},
        {"mixed", "sizes mixed (2021)"},
        {"scaling", "against the number of threads (2021)"},
        {"fragmentation", "the range of addresses (2021)"},
        {"oom", "how much of the pool can be used (2021)"},
        {"work", "memory for work items, against a prefix sum (2021)"},
        {"access", "writing and reading the blocks, against a prefix sum (2021)"},
        {"init", "making and resetting the pool (2021)"},
        {"registers", "registers of an allocation and a deallocation, from the compiler"}};
    return names;
}

std::uint32_t warm_iterations(const SweepSettings& settings) {
    return settings.iterations.value_or(settings.quick ? 1 : 5);
}

std::uint64_t default_bench_pool(const SweepSettings& settings) {
    if (settings.quick) return kQuickPool;
    return settings.gpu ? kSurveyPool : kSurveyPoolOnCpu;
}

std::vector<Series> series_of(const std::string& test, const SweepSettings& settings) {
    if (test == "ad") return generic(test, Procedure::pairs, "Alloc, dealloc", settings);
    if (test == "acd") return generic(test, Procedure::cycle, "Alloc, cycle, dealloc", settings);
    if (test == "p") return generic(test, Procedure::probability, "Probability", settings);
    if (test == "alloc") return alloc(settings);
    if (test == "mixed") return mixed(settings);
    if (test == "scaling") return scaling(settings);
    if (test == "fragmentation") return fragmentation(settings);
    if (test == "oom") return oom(settings);
    if (test == "work") return work(settings);
    if (test == "access") return access(settings);
    if (test == "init") return init(settings);
    if (test == "registers") return registers();
    throw std::invalid_argument("no test '" + test + "'");
}

}  // namespace heapwood::app
