/// @file
/// The options of `bench` and `replay`.
#include <set>
#include <string>
#include <vector>

#include "app/cli/verb_options.h"
#include "app/measure/workloads/sweeps/sweeps.h"

namespace heapwood::app {
namespace {

constexpr Whole kCount{1, 1000000};
constexpr Whole kCallers{1, 1U << 24};
constexpr const char* kAllocators = "Allocators, separated by commas; all: sound ones";

/// How many warps call in AD, ACD and P.
std::optional<std::uint32_t> read_blocks(const std::string& text) {
    if (text == "fill") return std::nullopt;
    try {
        return static_cast<std::uint32_t>(read(text, kCount));
    } catch (const UsageError& error) {
        throw UsageError(error.what() + std::string(", or fill"));
    }
}

/// How many times as fast as recorded calls are replayed; 0: without pauses.
double read_pace(const std::string& text) {
    if (text == "none") return 0;
    if (text == "recorded") return 1;
    constexpr Real kTimes{.least = 1e-6F, .most = 1e9F};
    try {
        if (text.ends_with('x')) return read<double>(text.substr(0, text.size() - 1), kTimes);
    } catch (const UsageError&) {
        // It would not say what else a pace may be.
    }
    throw UsageError("'" + text + "' is none of none, recorded and a number of times, as 10x");
}

/// Whole numbers in ascending order, each once.
template <class Read>
std::vector<std::uint64_t> read_ascending(const std::vector<std::string>& texts, const Read& read) {
    std::set<std::uint64_t> values;
    for (const std::string& text : texts) values.insert(read(text));
    return {values.begin(), values.end()};
}

std::uint64_t read_request_bytes(const std::string& text) {
    const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
    const std::uint64_t bytes = read_bytes(digits ? text + "B" : text, {4, 1U << 30});
    if (bytes % 4 == 0) return bytes;
    throw UsageError("'" + text + "' is no multiple of 4 bytes, as requests of bench are");
}

}  // namespace

void add_bench(Options& options, BenchOptions& o) {
    static const std::string kTests = [] {
        std::string text = "What to measure; all: everything. Tests:";
        for (const TestName& test : test_names()) text += "\n  " + test.name + ": " + test.what;
        return text;
    }();
    options.texts("TEST", o.tests, kTests.c_str());
    add_run(options, o, o.run.settings.choices, o.run.threads, kAllocators);
    options.value(
        "-p,--pool", "SIZE", kAuto,
        "Bytes of the pool in the tests of 2021 (auto: 2GiB, CPU: 256MiB), and in churn (auto: "
        "64MiB, CPU: 4MiB); older tests have the papers'",
        [&o](const std::string& text) {
            if (text != kAuto) o.run.settings.pool_bytes = read_bytes(text, kAnyBytes);
        });
    options.value("--largest", "SIZE", "8KiB",
                  "Largest request of the sweeps over sizes; what needs more than half of the pool "
                  "is left out",
                  [&o](const std::string& text) {
                      o.run.settings.largest_bytes =
                          static_cast<std::uint32_t>(read_bytes(text, {16, 1U << 30}));
                  });
    options.list(
        "--bytes", "SIZE", kAuto,
        "Sizes of the requests of ad, acd, alloc, scaling, fragmentation and oom, and largest "
        "ones of mixed, separated by commas: 16,4KiB; auto: the papers', up to --largest",
        [&o](const auto& texts) {
            if (texts == std::vector<std::string>{kAuto}) return;
            o.run.settings.bytes = read_ascending(texts, read_request_bytes);
        });
    options.list(
        "--callers", "N", kAuto,
        "Threads that request at once in alloc (or warps), mixed, scaling, work and access, "
        "separated by commas; auto: the papers'. Those of ad, acd and p: --blocks",
        [&o](const auto& texts) {
            if (texts == std::vector<std::string>{kAuto}) return;
            o.run.settings.callers =
                read_ascending(texts, [](const std::string& text) { return read(text, kCallers); });
        });
    options.flag("--quick", o.run.settings.quick,
                 "Few and small requests, for trying out: every test in a moment");
    options.value("--blocks", "N|fill", "120",
                  "Blocks of 8 warps in ad, acd and p; fill: 8 a multiprocessor, as the papers' "
                  "120 were on their GPU",
                  [&o](const std::string& text) { o.blocks = read_blocks(text); });
    options.whole(
        "--repeat", o.repeat, kCount,
        "Turns of an allocator at each point, a fresh pool in each; auto: 3, with --quick "
        "1");
    options.whole("--iterations", o.run.settings.iterations, kCount,
                  "Most warm iterations of a turn, after the cold one; 100 ms are enough, too; "
                  "auto: 5, with --quick 1");
    options.value("--time-limit", "SECONDS", kAuto,
                  "Seconds an allocator may take for a test; then the rest of it is skipped, and "
                  "what does not end is killed and called a hang; auto: 2, CPU: 5",
                  [&o](const std::string& text) {
                      if (text != kAuto) o.time_limit = read<double>(text, kTimeLimit);
                  });
    options.whole("--seed", o.run.settings.seed, {}, "Of the sizes and dice");
    options.file("--sizes", o.sizes,
                 "Sizes of the requests of churn: those of this trace, which 'build --trace' "
                 "writes; else a power law from 16 B to the largest request",
                 "sizes are read from a file");
    options.file("--graph", o.graph,
                 "Graph of graph-init and graph-update: that of this Matrix Market file, plain or "
                 "compressed with xz or gzip; else graphs by rule",
                 "graphs are read from a file");
    options.flag("--published", o.published,
                 "Show the medians of Winter et al. 2021 on a TITAN V beside ours");
    add_resume(options, o);
}

void add_replay(Options& options, ReplayOptions& o) {
    options.text("FILE", o.trace, "A trace, plain or compressed with xz or gzip");
    add_run(options, o, o.run.settings.choices, o.run.threads, kAllocators);
    add_pool(options, o.pool,
             "Memory for the allocators: 20x the root node's array of the trace's scene, or bytes: "
             "512MiB; the default is at least what an allocator needs and at most a third of the "
             "machine's memory");
    options.value("--pace", "PACE", "none",
                  "When calls begin. none: at once; recorded: no sooner than in the program, for "
                  "traces with times, which logs of RMM are; 10x: ten times as fast",
                  [&o](const std::string& text) { o.pace = read_pace(text); });
    options.whole("--repeat", o.run.repeat, kCount,
                  "Turns of an allocator: a fresh pool, a replay that is not shown, one that is, "
                  "and one that is counted and checked in full");
    options.real("--time-limit", o.run.time_limit, kTimeLimit,
                 "Seconds an allocator may take for all its turns; then no other begins, and what "
                 "does not end is killed and called a hang",
                 "SECONDS");
    add_resume(options, o);
}

}  // namespace heapwood::app
