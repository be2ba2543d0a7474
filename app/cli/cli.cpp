#include "app/cli/cli.h"

#include <memory>
#include <type_traits>
#include <utility>

#include "app/base/version.h"
#include "app/cli/verb_options.h"
#include "app/measure/engine/worker.h"

namespace heapwood::app {
namespace {

constexpr const char* kProgramHelp = R"(Examples:
  heapwood build scenes/models/trefoil.obj
  heapwood compare scenes/models/trefoil.obj scenes/models/gem.obj --pool 200x,20x
  heapwood bench alloc --quick
  heapwood build scenes/models/trefoil.obj --trace trefoil.trace
  heapwood replay trefoil.trace
  heapwood trace scenes/models/trefoil.obj
  heapwood render scenes/models/cottage.obj -o cottage.png
  heapwood inspect scenes/models/cottage.obj
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
  heapwood build walk_000.obj --frames walk_%03d.obj
  heapwood build gen:sphere:20000000 --memory 4GiB --out sphere.kdt
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
  heapwood trace sponza.obj.xz --devices 0,1 --rays 16777216

Rays: random ones; primary ones of a camera; bounce, shadow and ambient-occlusion rays from where
these end. Points, for the nearest triangle of each: in the scene's box, and beside triangles. The
trees of all allocators and methods are the same, and are traced once.)";

constexpr const char* kRenderHelp = R"(Examples:
  heapwood render bunny.obj -o bunny.png
  heapwood render sponza.obj.xz -o sponza.png --mode path --spp 256
  heapwood render bunny.kdt -o cost.png --mode cost --size 1920x1080
  heapwood render bunny.obj -o depth.exr --mode depth --camera 0,0.2,0.4 --look-at 0,0.1,0
  heapwood render bunny.obj -o wave_%03d.png --frames 60
  heapwood render bunny.obj -o slice.png --mode distance --camera 0,0.1,1 --look-at 0,0.1,0

The picture is the same, bit for bit, from a CPU and a GPU.)";

constexpr const char* kInspectHelp = R"(Examples:
  heapwood inspect bunny.obj
  heapwood inspect bunny.kdt --html bunny.html
  heapwood inspect sponza.obj.xz --preset paper --json paper.json
  heapwood inspect bunny.kdt --boxes boxes.ply --depth 6)";

constexpr const char* kListHelp = R"(Examples:
  heapwood list
  heapwood list --json -)";

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

/// Adds a verb whose parameters are a `T`. @param line gets them if it is the one
template <class T>
void add_verb(Program& program, const char* name, const char* what, const char* examples,
              void (*declare)(Options&, T&), const std::vector<std::string>& arguments,
              CommandLine& line) {
    const auto parameters = std::make_shared<T>();
    program.verb(
        name, what, examples,
        [&](Options& options) {
            declare(options, *parameters);
            add_output(options, parameters->output);
        },
        [parameters, arguments, &line](const Options& options) {
            check(parameters->output);
            if constexpr (std::is_base_of_v<RunParameters, T>) {
                parameters->arguments = arguments;
                parameters->allocator_options = options.givers(Builds::with_allocator);
            }
            if constexpr (std::is_base_of_v<BuildParameters, T>) {
                parameters->verb = options.verb();
                parameters->allocator_giver = options.giver("--allocator");
                parameters->method_giver = options.giver("--method");
            }
            if constexpr (std::is_same_v<T, BuildOptions>) {
                parameters->whole_options = parameters->allocator_options;
                for (std::string& giver : options.givers(Builds::whole)) {
                    parameters->whole_options.push_back(std::move(giver));
                }
            }
            line.verb = *parameters;
        });
}

}  // namespace

CommandLine parse(int argc, const char* const* argv) {
    if (argc > 3 && std::string_view(argv[1]) == kWorkerVerb) return parse_worker(argc, argv);
    CommandLine line{.verb = Exit{}};
    Program program("Builds kd-trees inside one kernel, with an allocator of your choice.",
                    version_line(), kProgramHelp);
    const auto add = [&, arguments = std::vector<std::string>(argv, argv + argc)](
                         const char* name, const char* what, const char* examples, auto declare) {
        add_verb(program, name, what, examples, declare, arguments, line);
    };
    add("build", "Build a scene's kd-tree and report on it", kBuildHelp, add_build);
    add("compare", "Build scenes with many allocators in turns, and compare their times",
        kCompareHelp, add_compare);
    add("bench", "Measure allocators with the tests of the papers", kBenchHelp, add_bench);
    add("replay", "Ask allocators for what a real build has asked for, and measure them",
        kReplayHelp, add_replay);
    add("trace", "Measure how many rays a second pass through a scene's tree", kTraceHelp,
        add_trace);
    add("render", "Make a picture of a scene or its tree", kRenderHelp, add_render);
    add("inspect", "Look into a tree: its leaves, and where its cost is", kInspectHelp,
        add_inspect);
    add(
        "list", "List allocators, generators and devices", kListHelp,
        +[](Options& options, ListOptions& o) {
            options.value("--schema", "VERB", "",
                          "Print the JSON Schema of a verb's --json instead; forest: of build in "
                          "parts",
                          [&o](const std::string& text) { o.schema = text; });
        });
    if (const auto code = program.parse(argc, argv)) return {.verb = Exit{*code}};
    line.verbosity = program.verbosity();
    return line;
}

}  // namespace heapwood::app
