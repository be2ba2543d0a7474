#include "app/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <type_traits>
#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/cli/bench_options.h"
#include "app/cli/common.h"
#include "app/cli/values.h"
#include "app/measure/worker.h"

namespace heapwood::app {
namespace {

constexpr const char* kProgramHelp = R"(Examples:
  heapwood build scenes/models/trefoil.obj
  heapwood compare scenes/models/trefoil.obj scenes/models/gem.obj --pool 200x,20x
  heapwood bench alloc --quick
  heapwood build scenes/models/trefoil.obj --trace trefoil.trace
  heapwood replay trefoil.trace
  heapwood trace scenes/models/trefoil.obj
  heapwood list

Options marked (Env:...) can be given by that environment variable; the command line wins.
Exit codes: 0 done, 1 internal or CUDA error, 2 wrong usage, 3 bad input file, 4 out of memory or
pool, 5 verification failed, 77 no such device, 130 interrupted.)";

constexpr const char* kBuildHelp = R"(Examples:
  heapwood build bunny.obj --verify
  heapwood build sponza.obj.xz --allocator atomicmalloc,cmalloc --pool 20x
  heapwood build sponza.obj.xz --allocator atomicmalloc --method single,levels
  heapwood build bunny.obj --preset paper --leaf-limit 4
  heapwood build bunny.obj --allocator hybrid --trace bunny.trace
  heapwood build bunny.obj --out bunny.kdt
  heapwood build gen:city:100000:7 --device cpu --threads 8 --json report.json)";

constexpr const char* kCompareHelp = R"(Examples:
  heapwood compare bunny.obj sponza.obj.xz --pool 200x,20x
  heapwood compare sponza.obj.xz --allocator atomicmalloc,cmalloc,hybrid --markdown
  heapwood compare bunny.obj sponza.obj.xz --json compare.json --time-limit 30
  heapwood compare gen:city:100000 --resume city.journal --latex

Allocators take turns within each repetition. Each has a process of its own, so that one that
crashes or hangs costs its cell of the tables and no more.)";

constexpr const char* kBenchHelp = R"(Examples:
  heapwood bench all --quick
  heapwood bench alloc mixed --allocator cmalloc,hybrid --published
  heapwood bench alloc --largest 1MiB --pool 4GiB
  heapwood bench all --json bench.json)";

constexpr const char* kReplayHelp = R"(Examples:
  heapwood replay bunny.trace
  heapwood replay sponza.trace.xz --allocator atomicmalloc,hybrid,halloc --pool 20x
  heapwood replay bunny.trace --repeat 9 --json replay.json

Traces are recorded by 'heapwood build SCENE --trace FILE'.)";

constexpr const char* kTraceHelp = R"(Examples:
  heapwood trace sponza.obj.xz
  heapwood trace bunny.obj --device cpu --threads 1 --rays 100000
  heapwood trace bunny.obj --beside paper,pbrt --json rays.json
  heapwood trace bunny.obj --allocator halloc,cmalloc --method single,levels

Rays: random ones; primary ones of a camera; bounce, shadow and ambient-occlusion rays from where
these end. The trees of all allocators and methods are the same, and are traced once.)";

constexpr const char* kListHelp = R"(Examples:
  heapwood list
  heapwood list --json -)";

/// SCENE and --pool of a verb with one scene.
void add_scene(CLI::App& verb, SceneParameters& o) {
    verb.add_option("SCENE", o.scene,
                    "An OBJ file (.obj, .obj.xz, .obj.gz) or gen:NAME:TRIANGLES[:SEED]")
        ->required()
        ->type_name("");
    verb.add_option_function<std::string>(
            "-p,--pool", [&o](const std::string& text) { o.pool = pool_size(text); },
            "Memory for the allocator: 20x the root node's array, or bytes: 512MiB; the default is "
            "at least what the allocator needs and at most a third of the machine's memory")
        ->default_str(PoolSize().text())
        ->type_name("SIZE");
}

void add_build(CLI::App& verb, BuildOptions& o) {
    add_scene(verb, o);
    verb.add_option("--trace", o.trace,
                    "Record the requests and frees of one more, untimed build to this file, for "
                    "'heapwood replay'; with one full allocator")
        ->check([](const std::string& path) {
            return path == "-" ? "a trace needs a file: standard output has the tables" : "";
        })
        ->type_name("FILE")
        ->group("Output");
    verb.add_option(
            "-o,--out", o.out,
            "Write the tree with its triangles to this file (.kdt); it is the same tree for "
            "all allocators")
        ->check([](const std::string& path) {
            return path == "-" ? "a tree needs a file: standard output has the tables" : "";
        })
        ->type_name("FILE")
        ->group("Output");
    add_build_parameters(verb, o);
    add_output(verb, o.output);
    verb.add_flag("--details", o.output.details,
                  "Print all that is known: times, memory by array, fragmentation, the whole tree")
        ->group("Output");
}

void add_trace(CLI::App& verb, TraceOptions& o) {
    add_scene(verb, o);
    verb.add_option("--rays", o.rays,
                    "Rays of each kind, rounded up to a square picture in tiles of 32 * 32")
        ->check(whole(1, 1U << 28))
        ->capture_default_str()
        ->type_name("N");
    verb.add_option("--seed", o.seed, "Of the random rays")
        ->check(whole(0, kAny32))
        ->capture_default_str()
        ->type_name("N");
    verb.add_flag("--fast", o.fast,
                  "With a faster test of triangles that is wrong for a few rays in a million");
    verb.add_option_function<std::vector<std::string>>(
            "--beside",
            [&o](const std::vector<std::string>& lists) {
                o.beside = items("--beside", lists);
                for (const auto& preset : o.beside) named(kdtree::presets(), "--beside", preset);
            },
            "Presets whose trees are built and traced, too, separated by commas: does a slower "
            "build with faster rays pay?")
        ->allow_extra_args(false)
        ->type_name("NAME");
    add_build_parameters(verb, o);
    for (const char* other : {"--minimal-pool", "--statistics"}) {
        verb.remove_option(verb.get_option(other));
    }
    add_output(verb, o.output);
}

void add_compare(CLI::App& verb, CompareOptions& o) {
    verb.add_option("SCENE", o.scenes,
                    "OBJ files (.obj, .obj.xz, .obj.gz) or gen:NAME:TRIANGLES[:SEED]")
        ->required()
        ->type_name("");
    verb.add_option_function<std::vector<std::string>>(
            "-p,--pool",
            [&o](const std::vector<std::string>& lists) {
                o.pools.clear();
                for (const std::string& text : items("--pool", lists)) {
                    o.pools.push_back(pool_size(text));
                }
            },
            "Memory for the allocators, one table each: 20x the root node's array, or bytes: "
            "512MiB; separated by commas; the default is at least what the allocator needs and at "
            "most a third of the machine's memory")
        ->allow_extra_args(false)
        ->default_str(PoolSize().text())
        ->type_name("SIZE");
    verb.add_option("--time-limit", o.time_limit,
                    "Seconds after which a turn is given up: a build with its warm-up")
        ->check(real(0, 1e6F, true))
        ->capture_default_str()
        ->type_name("SECONDS");
    verb.add_option("--budget", o.budget,
                    "Seconds an allocator may take for the turns on a scene, with all pools; then "
                    "the rest of them is skipped; 0: as long as it takes")
        ->check(real(0, kAnyReal, false))
        ->capture_default_str()
        ->type_name("SECONDS");
    verb.add_flag(
        "--published", o.published,
        "Show the tables of Vinkler & Havran 2014 and 2015 beside the results, for scenes "
        "of the same names");
    add_resume(verb, o.resume);
    add_build_parameters(verb, o);
    add_output(verb, o.output);
}

/// CLI11 answers a mistyped verb with "A subcommand is required"; say which was meant.
std::string verb_hint(const CLI::App& app, int argc, const char* const* argv) {
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
        if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
    }
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word.empty() || word.front() == '-') continue;
        if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return "";
        return "'" + word + "' is none of the verbs " + joined(verbs, ", ") +
               did_you_mean(word, verbs);
    }
    return "";
}

/// The command line of a worker: that of the program behind the runner's name.
CommandLine parse_worker(int argc, const char* const* argv) {
    std::vector<const char*> words(argv + 2, argv + argc);
    const std::string runner = std::exchange(words.front(), argv[0]);
    CommandLine line = parse(static_cast<int>(words.size()), words.data());
    auto verb = std::move(line.verb);
    std::visit(
        [&](auto& one) {
            using Verb = std::decay_t<decltype(one)>;
            if constexpr (std::is_constructible_v<decltype(WorkerOptions::verb), Verb>) {
                line.verb = WorkerOptions{runner, std::move(one)};
            } else {
                line.verb = Exit{ExitCode::usage};
            }
        },
        verb);
    return line;
}

}  // namespace

CommandLine parse(int argc, const char* const* argv) {
    if (argc > 3 && std::string_view(argv[1]) == kWorkerVerb) return parse_worker(argc, argv);
    CLI::App app("Builds kd-trees inside one kernel, with an allocator of your choice.",
                 "heapwood");
    app.set_version_flag("-V,--version", version_line());
    app.require_subcommand(1);
    app.footer(kProgramHelp);

    Volume volume;
    volume.add_to(app);
    name_environment(app);

    BuildOptions build;
    build.arguments.assign(argv, argv + argc);
    CLI::App& build_verb = *app.add_subcommand("build", "Build a scene's kd-tree and report on it");
    build_verb.footer(kBuildHelp);
    add_build(build_verb, build);

    CompareOptions compare;
    compare.arguments.assign(argv, argv + argc);
    CLI::App& compare_verb = *app.add_subcommand(
        "compare", "Build scenes with many allocators in turns, and compare their times");
    compare_verb.footer(kCompareHelp);
    add_compare(compare_verb, compare);

    BenchOptions bench;
    bench.arguments = build.arguments;
    CLI::App& bench_verb =
        *app.add_subcommand("bench", "Measure allocators with the tests of the papers");
    bench_verb.footer(kBenchHelp);
    add_bench(bench_verb, bench);

    ReplayOptions replay;
    replay.arguments = build.arguments;
    CLI::App& replay_verb = *app.add_subcommand(
        "replay", "Ask allocators for what a real build has asked for, and measure them");
    replay_verb.footer(kReplayHelp);
    add_replay(replay_verb, replay);

    TraceOptions trace;
    trace.arguments = build.arguments;
    CLI::App& trace_verb =
        *app.add_subcommand("trace", "Measure how many rays a second pass through a scene's tree");
    trace_verb.footer(kTraceHelp);
    add_trace(trace_verb, trace);

    ListOptions list;
    CLI::App& list_verb = *app.add_subcommand("list", "List allocators, generators and devices");
    list_verb.footer(kListHelp);
    add_output(list_verb, list.output);

    for (CLI::App* verb :
         {&build_verb, &compare_verb, &bench_verb, &replay_verb, &trace_verb, &list_verb}) {
        volume.add_to(*verb);
        name_environment(*verb);
    }

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) {
            app.exit(error, std::cout, std::cerr);
            return {.verb = Exit{ExitCode::done}};
        }
        const std::string hint = verb_hint(app, argc, argv);
        std::cerr << "heapwood: error: " << (hint.empty() ? error.what() : hint)
                  << "\nRun heapwood with --help for more information.\n";
        return {.verb = Exit{ExitCode::usage}};
    }
    CommandLine line{.verb = Exit{}, .verbosity = volume.level()};
    if (build_verb.parsed()) {
        build.allocator_options = allocator_options(build_verb);
        line.verb = std::move(build);
    }
    if (compare_verb.parsed()) {
        compare.allocator_options = allocator_options(compare_verb);
        line.verb = std::move(compare);
    }
    if (bench_verb.parsed()) {
        bench.allocator_options = allocator_options(bench_verb);
        line.verb = std::move(bench);
    }
    if (replay_verb.parsed()) {
        replay.allocator_options = allocator_options(replay_verb);
        line.verb = std::move(replay);
    }
    if (trace_verb.parsed()) {
        trace.allocator_options = allocator_options(trace_verb);
        line.verb = std::move(trace);
    }
    if (list_verb.parsed()) line.verb = std::move(list);
    return line;
}

}  // namespace heapwood::app
