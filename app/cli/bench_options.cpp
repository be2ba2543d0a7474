#include "app/cli/bench_options.h"

#include "app/cli/common.h"
#include "app/cli/values.h"
#include "app/measure/sweeps.h"

namespace heapwood::app {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

const std::map<std::string, DeviceChoice>& devices() {
    static const std::map<std::string, DeviceChoice> all{
        {"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"gpu", DeviceChoice::gpu}};
    return all;
}

/// A number of bytes from `least` to `most`, with a unit. @throws CLI::ValidationError.
std::uint64_t bytes(const std::string& option, const std::string& text, std::uint64_t least,
                    std::uint64_t most) {
    std::uint64_t value = 0;
    try {
        value = PoolSize::parse(text).bytes;
    } catch (const UsageError&) {
        // It would say what a pool's size may be.
        value = 0;
    }
    if (value < least || value > most) {
        throw CLI::ValidationError(option, "'" + text + "' is not a size from " +
                                               bytes_text(least) + " to " + bytes_text(most) +
                                               ", such as 64KiB");
    }
    return value;
}

void add_device(CLI::App& verb, DeviceChoice& device) {
    verb.add_option_function<std::string>(
            "-d,--device",
            [&device](const std::string& text) { device = named(devices(), "--device", text); },
            "auto: a GPU if there is one, else the CPU")
        ->default_str("auto")
        ->type_name("auto|gpu|cpu");
}

void add_threads(CLI::App& verb, unsigned& threads) {
    verb.add_option("--threads", threads, "CPU only: threads; 0: one for each hardware thread")
        ->check(whole(0, 1024))
        ->capture_default_str()
        ->type_name("N");
}

/// The sizes of pool and requests.
void add_sizes(CLI::App& verb, BenchOptions& o) {
    verb.add_option_function<std::string>(
            "-p,--pool",
            [&o](const std::string& text) {
                o.pool_bytes = bytes("--pool", text, 1, std::uint64_t{1} << 46);
            },
            "Bytes of the pool in the tests of 2021; older tests have the papers'")
        ->default_str("2GiB, CPU: 256MiB")
        ->type_name("SIZE");
    verb.add_option_function<std::string>(
            "--largest",
            [&o](const std::string& text) {
                o.largest_bytes =
                    static_cast<std::uint32_t>(bytes("--largest", text, 16, kMostBytes));
            },
            "Largest request of the sweeps over sizes; what needs more than half of the pool is "
            "left out")
        ->default_str("8KiB")
        ->type_name("SIZE");
    add_choices(verb, o.choices);
}

/// How many warps call in AD, ACD and P.
void add_blocks(CLI::App& verb, std::optional<std::uint32_t>& blocks) {
    verb.add_option_function<std::string>(
            "--blocks",
            [&blocks](const std::string& text) {
                blocks.reset();
                if (text == "fill") return;
                const std::string problem = whole(1, 1000000)(text);
                if (!problem.empty()) throw CLI::ValidationError("--blocks", problem + ", or fill");
                blocks = static_cast<std::uint32_t>(std::stoul(text));
            },
            "Blocks of 8 warps in ad, acd and p; fill: 8 a multiprocessor, as the papers' 120 were "
            "on their GPU")
        ->default_str("120")
        ->type_name("N|fill");
}

}  // namespace

void add_bench(CLI::App& verb, BenchOptions& o) {
    std::string tests;
    for (const TestName& test : test_names()) tests += "\n  " + test.name + ": " + test.what;
    verb.add_option("TEST", o.tests, "What to measure; all: everything. Tests:" + tests)
        ->required()
        ->type_name("");
    add_allocators(verb, o.allocators, "Allocators, separated by commas; all: sound ones");
    add_device(verb, o.device);
    add_sizes(verb, o);
    verb.add_flag("--quick", o.quick,
                  "Few and small requests, for trying out: every test in a moment");
    add_blocks(verb, o.blocks);
    const auto count = [&verb](const char* name, std::optional<unsigned>& value, const char* what,
                               const char* standard) {
        verb.add_option(name, value, what)
            ->check(whole(1, 1000000))
            ->default_str(standard)
            ->type_name("N");
    };
    count("--repeat", o.repeat, "Turns of an allocator at each point, a fresh pool in each",
          "3, quick: 1");
    count("--iterations", o.iterations,
          "Most warm iterations of a turn, after the cold one; 100 ms are enough, too",
          "5, quick: 1");
    verb.add_option("--time-limit", o.time_limit,
                    "Seconds an allocator may take for a test; then the rest of it is skipped, and "
                    "what does not end is killed and called a hang")
        ->check(real(0, kAnyReal, true))
        ->default_str("2, CPU: 5")
        ->type_name("S");
    add_threads(verb, o.threads);
    verb.add_option("--seed", o.seed, "Of the sizes and dice")
        ->check(whole(0, kAny32))
        ->capture_default_str()
        ->type_name("N");
    verb.add_flag("--published", o.published,
                  "Show the medians of Winter et al. 2021 on a TITAN V beside ours");
    add_resume(verb, o.resume);
    add_output(verb, o.output);
}

void add_replay(CLI::App& verb, ReplayOptions& o) {
    verb.add_option("FILE", o.trace, "A trace, plain or compressed with xz or gzip")
        ->required()
        ->type_name("");
    add_allocators(verb, o.allocators, "Allocators, separated by commas; all: sound ones");
    add_device(verb, o.device);
    verb.add_option_function<std::string>(
            "-p,--pool", [&o](const std::string& text) { o.pool = pool_size(text); },
            "Memory for the allocators: 20x the root node's array of the trace's scene, or bytes: "
            "512MiB; the default is at least what an allocator needs and at most a third of the "
            "machine's memory")
        ->default_str(PoolSize().text())
        ->type_name("SIZE");
    add_choices(verb, o.choices);
    verb.add_option("--repeat", o.repeat,
                    "Turns of an allocator: a fresh pool, a replay that is not shown, one that is, "
                    "and one that is counted and checked in full")
        ->check(whole(1, 1000000))
        ->capture_default_str()
        ->type_name("N");
    verb.add_option("--time-limit", o.time_limit,
                    "Seconds an allocator may take for all its turns; then no other begins, and "
                    "what does not end is killed and called a hang")
        ->check(real(0, kAnyReal, true))
        ->capture_default_str()
        ->type_name("S");
    add_threads(verb, o.threads);
    add_resume(verb, o.resume);
    add_output(verb, o.output);
}

}  // namespace heapwood::app
