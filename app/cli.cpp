#include "app/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>

#include "app/text.h"
#include "app/version.h"
#include "kdtree/tree.h"

namespace heapwood::app {
namespace {

/// A whole number written in digits alone. CLI11's own conversion takes -1 for a huge number and
/// 010 for eight.
CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    const auto check = [least, most](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        // A leading zero would be read as octal afterwards.
        const bool plain = error == std::errc() && stop == end && (text == "0" || text[0] != '0');
        if (plain && value >= least && value <= most) return "";
        return "'" + text + "' is not a whole number from " + std::to_string(least) + " to " +
               std::to_string(most);
    };
    return {check, "", "whole"};
}

/// A finite number from `least`, or above it if `open`, up to `most`.
CLI::Validator real(float least, float most, bool open) {
    const auto check = [=](const std::string& text) -> std::string {
        float value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool plain = error == std::errc() && stop == end && std::isfinite(value);
        if (plain && (open ? value > least : value >= least) && value <= most) return "";
        return "'" + text + "' is not a number " + (open ? "above " : "from ") + shortest(least) +
               (most < std::numeric_limits<float>::max() ? " up to " + shortest(most) : "");
    };
    return {check, "", "real"};
}

constexpr float kAnyReal = std::numeric_limits<float>::max();
constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();

/// HEAPWOOD_WARM_UP for --warm-up, where there is no name yet.
void name_environment(CLI::App& verb) {
    for (CLI::Option* option : verb.get_options()) {
        if (option->get_lnames().empty() || !option->get_envname().empty()) continue;
        std::string name = option->get_lnames().front();
        if (name == "help" || name == "version") continue;
        std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
            return c == '-' ? '_' : static_cast<char>(std::toupper(c));
        });
        option->envname("HEAPWOOD_" + name);
    }
}

/// What every verb and the program itself take.
struct Volume {
    bool quiet = false;
    int verbose = 0;

    void add_to(CLI::App& verb) {
        auto* q = verb.add_flag("-q,--quiet", quiet, "Say nothing but results and errors");
        verb.add_flag("-v,--verbose", verbose, "Say more")->excludes(q);
    }
    int level() const { return quiet ? -1 : verbose; }
};

void add_output(CLI::App& verb, OutputOptions& output) {
    verb.add_option("--json", output.json,
                    "Write the results as JSON to this file; '-': to standard output, alone")
        ->type_name("FILE")
        ->group("Output");
    auto* csv = verb.add_flag("--csv", output.csv, "Print the results as CSV")->group("Output");
    verb.add_flag("--markdown", output.markdown, "Print the results as Markdown tables")
        ->group("Output")
        ->excludes(csv);
    // Two documents in one stream would be neither.
    verb.callback([&output] {
        if (output.json == "-" && (output.csv || output.markdown)) {
            throw CLI::ExcludesError("--json -", output.csv ? "--csv" : "--markdown");
        }
    });
}

/// What `text` names in a map. @throws CLI::ValidationError.
template <class T>
T named(const std::map<std::string, T>& map, const std::string& option, const std::string& text) {
    const auto found = map.find(text);
    if (found != map.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, value] : map) names.push_back(name);
    throw CLI::ValidationError(option, "'" + text + "' is none of " + joined(names, ", "));
}

/// The parameters of the tree, one option a field, and presets of all of them.
void add_config(CLI::App& verb, BuildOptions& o) {
    kdtree::BuildConfig& c = o.config;
    // CLI11 takes options over in the order in which they were added, whatever theirs on the
    // command line: all others override the preset, because it is added first.
    verb.add_option_function<std::string>(
            "--preset",
            [&o](const std::string& text) {
                o.config = named(kdtree::presets(), "--preset", text);
                o.preset = text;
            },
            "All of these options at once: default; paper: Vinkler & Havran's 32 sampled planes; "
            "pbrt: pbrt-v3's constants. Options given beside it override it")
        ->default_str(o.preset)
        ->type_name("default|paper|pbrt")
        ->envname("HEAPWOOD_TREE_PRESET")  // HEAPWOOD_PRESET tells scripts/heapwood what to build
        ->group("Tree");
    const auto add = [&verb](const char* name, auto& value, const char* what,
                             const CLI::Validator& check) {
        verb.add_option(name, value, what)
            ->check(check)
            ->capture_default_str()
            ->type_name("N")
            ->group("Tree");
    };
    add("--traversal-cost", c.traversal_cost, "Ct of the SAH: cost of visiting an inner node",
        real(0, kAnyReal, false));
    add("--intersection-cost", c.intersection_cost, "Ci of the SAH: cost of one triangle test",
        real(0, kAnyReal, true));
    add("--empty-bonus", c.empty_bonus,
        "Factor on the cost of a split that leaves one child empty; 1: no bonus", real(0, 1, true));
    verb.add_option_function<std::string>(
            "--empty-rule",
            [&c](const std::string& text) {
                c.empty_rule = named(kdtree::empty_rules(), "--empty-rule", text);
            },
            "What the bonus is on: whole cost; pays: the same, of cuts that are worth their cost "
            "without it; tests: the cost of the tests alone")
        ->default_str(kdtree::name(c.empty_rule))
        ->type_name("pays|whole|tests")
        ->group("Tree");
    add("--leaf-limit", c.leaf_limit,
        "Nodes of at most this many references become leaves, if they are small",
        whole(0, kdtree::Node::kLimit - 1));
    add("--leaf-area", c.leaf_area,
        "Such a node is small if its references * area are at most this times the root's area / "
        "triangles; 0: always",
        real(0, kAnyReal, false));
    add("--depth-base", c.depth_base, "Greatest depth: base + factor * log2(triangles), at most 60",
        real(0, kdtree::kMaxDepth, false));
    add("--depth-factor", c.depth_factor, "See --depth-base", real(0, kdtree::kMaxDepth, false));
    add("--bad-split-ratio", c.bad_split_ratio,
        "A split is bad if it costs at least this many times what a leaf would",
        real(0, kAnyReal, true));
    add("--bad-splits", c.bad_splits,
        "On a path this + --bad-splits-per-level * greatest depth may be bad; then there is a leaf",
        real(0, kAnyReal, false));
    add("--bad-splits-per-level", c.bad_splits_per_level, "See --bad-splits",
        real(0, kAnyReal, false));
    add("--hopeless-ratio", c.hopeless_ratio,
        "A bad split of fewer than 16 references may cost at most this many leaves; 0: anything",
        real(0, kAnyReal, false));
    add("--exact-limit", c.exact_limit,
        "Nodes of at most this many references choose among all planes, others among bins",
        whole(0, 64));
    add("--planes", c.planes, "Planes between the bins, in all three axes", whole(3, 93));
    add("--snap-limit", c.snap_limit,
        "In nodes of at most this many references planes move to the nearest end of a reference",
        whole(0, 65535));
    add("--large-limit", c.large_limit,
        "Nodes above this many references are shared by many warps; 0: what suits the machine",
        whole(0, kAny32));
    add("--chunk", c.chunk,
        "Most references of such a node that a warp takes at a time, fewer while others idle; 0: "
        "what suits the machine",
        whole(0, kAny32));
    add("--max-nodes", c.max_nodes, "Capacity of the node array; 0: estimated, grows if needed",
        whole(0, kdtree::Node::kLimit));
    add("--max-references", c.max_references,
        "Capacity of the leaves' reference array; 0: estimated, grows if needed", whole(0, kAny32));
    verb.add_flag("--tight-cuts,!--no-tight-cuts", c.tight_cuts,
                  "Bins divide the box around the references, whose faces are planes, too, rather "
                  "than the cell (on by default)")
        ->group("Tree");
    verb.add_flag("--clip,!--no-clip", c.clip,
                  "Clip triangles at split planes rather than cut their boxes (on by default)")
        ->group("Tree");
}

DeviceChoice device_choice(const std::string& text) {
    if (text == "auto") return DeviceChoice::automatic;
    if (text == "gpu") return DeviceChoice::gpu;
    if (text == "cpu") return DeviceChoice::cpu;
    throw CLI::ValidationError("--device", "'" + text + "' is none of auto, gpu, cpu");
}

Method method(const std::string& text) {
    if (text == "single") return Method::single;
    if (text == "levels") return Method::levels;
    throw CLI::ValidationError("--method", "'" + text + "' is neither single nor levels");
}

/// An option that is on or off.
void add_switch(CLI::App& verb, const char* name, bool& value, const char* what) {
    verb.add_option_function<std::string>(
            name,
            [&value, name](const std::string& text) {
                static const std::map<std::string, bool> kStates{{"on", true}, {"off", false}};
                value = named(kStates, name, text);
            },
            what)
        ->default_str(value ? "on" : "off")
        ->type_name("on|off");
}

void add_run(CLI::App& verb, BuildOptions& o) {
    verb.add_option("SCENE", o.scene,
                    "An OBJ file (.obj, .obj.xz, .obj.gz) or gen:NAME:TRIANGLES[:SEED]")
        ->required()
        ->type_name("");
    verb.add_option_function<std::vector<std::string>>(
            "-m,--method",
            [&o](const std::vector<std::string>& names) {
                o.methods.clear();
                for (const std::string& name : names) o.methods.push_back(method(name));
            },
            "single: one kernel that allocates; levels: the reference method, many kernels and no "
            "allocator; both, separated by a comma")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->default_str("single")
        ->type_name("NAME");
    verb.add_option("-a,--allocator", o.allocators,
                    "Allocators of the children's arrays, separated by commas; all: sound ones")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->capture_default_str()
        ->type_name("NAME");
    verb.add_option_function<std::string>(
            "-d,--device", [&o](const std::string& text) { o.device = device_choice(text); },
            "auto: a GPU if there is one, else the CPU")
        ->default_str("auto")
        ->type_name("auto|gpu|cpu");
    verb.add_option_function<std::string>(
            "-p,--pool",
            [&o](const std::string& text) {
                try {
                    o.pool = PoolSize::parse(text);
                } catch (const UsageError& error) {
                    throw CLI::ValidationError("--pool", error.what());
                }
            },
            "Memory for the allocator: 20x the root node's array, or bytes: 512MiB; the default is "
            "at "
            "least what the allocator needs and at most a third of the machine's memory")
        ->default_str(PoolSize().text())
        ->type_name("SIZE");
    verb.add_option_function<std::string>(
            "--arrays",
            [&o](const std::string& text) {
                if (text != "every" && text != "large") {
                    throw CLI::ValidationError("--arrays", "'" + text + "' is not every or large");
                }
                o.config.small_arrays = text == "every";
            },
            "Which nodes' arrays come from the allocator: every node's, or those of large nodes "
            "only, above --exact-limit")
        ->default_str("every")
        ->type_name("every|large");
    verb.add_option_function<std::string>(
            "--presplit",
            [&o](const std::string& text) {
                const auto found = presplits().find(text);
                if (found == presplits().end()) {
                    throw CLI::ValidationError(
                        "--presplit", "'" + text + "' is not levels, halving, uniform or none");
                }
                o.presplit = found->second;
            },
            "How circular allocators with a single hint cut their pool beforehand")
        ->default_str(presplit_name(o.presplit))
        ->type_name("levels|halving|uniform|none");
    verb.add_option("--page", o.page_bytes, "Bytes of scatteralloc's pages")
        ->check(CLI::IsMember({4096, 8192, 16384}).description(""))
        ->capture_default_str()
        ->type_name("4096|8192|16384");
    verb.add_option_function<std::string>(
            "--fallback",
            [&o](const std::string& text) { o.fallback = named(fallbacks(), "--fallback", text); },
            "Where halloc and xmalloc get what is too large for them: from their own pool, or from "
            "CUDA's malloc, as published, which takes a quarter of it")
        ->default_str(fallback_name(o.fallback))
        ->type_name("pool|cudamalloc");
    add_switch(verb, "--superblocks", o.superblocks,
               "xmalloc takes blocks sixteen at a time (on: as published 2010) or one by one (off: "
               "2013)");
    verb.add_option_function<std::string>(
            "--host-pool",
            [&o](const std::string& text) {
                using Keep = allocators::HostPool::Keep;
                if (text != "on" && text != "off") {
                    throw CLI::ValidationError("--host-pool",
                                               "'" + text + "' is neither on nor off");
                }
                o.host_pool = text == "on" ? Keep::slabs : Keep::nothing;
            },
            "Memory outside the allocator's pool: kept for the next array or build (on), or taken "
            "from the system and returned each time (off)")
        ->default_str("on")
        ->type_name("on|off");
    const auto count = [&verb](const char* name, unsigned& value, const char* what,
                               std::uint64_t least, std::uint64_t most) {
        verb.add_option(name, value, what)
            ->check(whole(least, most))
            ->capture_default_str()
            ->type_name("N");
    };
    count("--repeat", o.repeat, "Timed runs", 1, 1000000);
    count("--warm-up", o.warm_up, "Untimed runs before them", 0, 1000000);
    count("--threads", o.threads, "CPU only: threads; 0: one for each hardware thread", 0, 1024);
    verb.add_flag("--minimal-pool", o.minimal_pool,
                  "Find the smallest pool that is enough, too, by bisection");
    verb.add_flag("--verify", o.verify, "Check the tree against the scene (exit code 5 if wrong)");
    verb.add_flag("--statistics,!--no-statistics", o.statistics,
                  "Count the allocations in one more run (on by default)");
}

constexpr const char* kProgramHelp = R"(Examples:
  heapwood build scenes/models/trefoil.obj
  heapwood list

Options marked (Env:...) can be given by that environment variable; the command line wins.
Exit codes: 0 done, 1 internal or CUDA error, 2 wrong usage, 3 bad input file, 4 out of memory or
pool, 5 verification failed, 77 no such device.)";

constexpr const char* kBuildHelp = R"(Examples:
  heapwood build bunny.obj --verify
  heapwood build sponza.obj.xz --allocator atomicmalloc,cmalloc --pool 20x
  heapwood build sponza.obj.xz --allocator atomicmalloc --method single,levels
  heapwood build bunny.obj --preset paper --leaf-limit 4
  heapwood build gen:city:100000:7 --device cpu --threads 8 --json report.json)";

constexpr const char* kListHelp = R"(Examples:
  heapwood list
  heapwood list --json -)";

/// CLI11 answers a mistyped verb with "A subcommand is required"; say which was meant.
std::string verb_hint(const CLI::App& app, int argc, const char* const* argv) {
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
        verbs.push_back(verb->get_name());
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

}  // namespace

CommandLine parse(int argc, const char* const* argv) {
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
    add_run(build_verb, build);
    add_config(build_verb, build);
    add_output(build_verb, build.output);

    ListOptions list;
    CLI::App& list_verb = *app.add_subcommand("list", "List allocators, generators and devices");
    list_verb.footer(kListHelp);
    add_output(list_verb, list.output);

    for (CLI::App* verb : {&build_verb, &list_verb}) {
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
        for (const char* name : {"--allocator", "--pool", "--presplit", "--page", "--fallback",
                                 "--superblocks", "--minimal-pool"}) {
            if (build_verb.count(name) > 0) build.allocator_options.emplace_back(name);
        }
        line.verb = std::move(build);
    }
    if (list_verb.parsed()) line.verb = std::move(list);
    return line;
}

}  // namespace heapwood::app
