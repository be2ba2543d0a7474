/// @file
/// The options of the verbs that build.
#include <algorithm>
#include <map>
#include <type_traits>

#include "app/cli/verb_options.h"
#include "kdtree/config_fields.h"

namespace heapwood::app {
namespace {

/// "--leaf-limit" for the field leaf_limit.
std::string option_name(std::string field) {
    std::replace(field.begin(), field.end(), '_', '-');
    return "--" + field;
}

/// The parameters of the tree, one option a field, and presets of all of them.
void add_config(Options& options, BuildParameters& o) {
    options.group("Tree");
    // All others override the preset, because it is declared first.
    options.value("--preset", "default|paper|pbrt", o.measure.preset,
                  "All of these options at once: default; paper: Vinkler & Havran's 32 sampled "
                  "planes; pbrt: pbrt-v3's constants. Options given beside it override it",
                  [&o](const std::string& text) {
                      o.measure.config = named(kdtree::presets(), text);
                      o.measure.preset = text;
                  });
    kdtree::for_each_field(o.measure.config, [&]<class T>(const kdtree::Field& field, T& value) {
        if (!field.has_option) return;
        const std::string name = option_name(field.name);
        if constexpr (std::is_same_v<T, kdtree::EmptyRule>) {
            options.value(
                name.c_str(), "pays|whole|tests", kdtree::name(value), field.sentence,
                [&value](const std::string& text) { value = named(kdtree::empty_rules(), text); });
        } else if constexpr (std::is_same_v<T, bool>) {
            options.flag((name + ",!--no-" + name.substr(2)).c_str(), value, field.sentence);
        } else if constexpr (std::is_floating_point_v<T>) {
            options.real(name.c_str(), value,
                         {static_cast<T>(field.least), field.open, static_cast<T>(field.most)},
                         field.sentence);
        } else {
            options.whole(name.c_str(), value,
                          {static_cast<std::uint64_t>(field.least),
                           static_cast<std::uint64_t>(field.most), field.or_zero},
                          field.sentence);
        }
        if (!field.shapes_tree) options.only_for(Builds::whole);
    });
}

/// Everything that says how trees are built, but for scenes and pools.
void add_building(Options& options, BuildParameters& o) {
    options
        .list("-m,--method", "NAME", "single",
              "single: one kernel that allocates; levels: the level method, many kernels and no "
              "allocator; both, separated by a comma",
              [&o](const std::vector<std::string>& names) {
                  static const std::map<std::string, Method> kMethods{{"levels", Method::levels},
                                                                      {"single", Method::single}};
                  o.methods.clear();
                  for (const std::string& name : names) o.methods.push_back(named(kMethods, name));
              })
        .only_for(Builds::whole);
    add_run(options, o, o.measure.run.choices, o.measure.run.threads,
            "Allocators of the children's arrays, separated by commas; all: sound ones");
    options
        .value("--arrays", "every|large", "every",
               "Which nodes' arrays come from the allocator: every node's, or those of large "
               "nodes only, above --exact-limit",
               [&o](const std::string& text) {
                   static const std::map<std::string, bool> kSmallToo{{"every", true},
                                                                      {"large", false}};
                   o.measure.config.small_arrays = named(kSmallToo, text);
               })
        .only_for(Builds::whole);
    options
        .value("--host-pool", "on|off", "on",
               "Memory outside the allocator's pool: kept for the next array or build (on), or "
               "taken from the system and returned each time (off)",
               [&o](const std::string& text) {
                   using Keep = allocators::ArrayPool::Keep;
                   static const std::map<std::string, Keep> kKeeps{{"off", Keep::nothing},
                                                                   {"on", Keep::slabs}};
                   o.measure.run.keep = named(kKeeps, text);
               })
        .only_for(Builds::whole);
    options.flag("--verify", o.measure.verify,
                 "Check the tree against the scene (exit code 5 if wrong)");
}

/// How often trees are built.
void add_repetitions(Options& options, BuildParameters& o) {
    options.whole("--repeat", o.measure.run.repeat, {1, 1000000}, "Timed runs")
        .only_for(Builds::whole);
    options.whole("--warm-up", o.measure.run.warm_up, {0, 1000000}, "Untimed runs before them")
        .only_for(Builds::whole);
}

/// What is found out beside times, by more runs.
void add_more_runs(Options& options, BuildParameters& o) {
    options
        .flag("--minimal-pool", o.measure.minimal_pool,
              "Find the smallest pool that is enough, too, by bisection")
        .only_for(Builds::with_allocator);
    options.flag("--statistics,!--no-statistics", o.measure.run.statistics,
                 "Count the allocations in one more run (on by default)");
    options
        .flag("--heap-map", o.measure.run.heap_map,
              "Also record where blocks lie in the pool, at the peak and after the build: "
              "pictures in the page of --html, cells in --json")
        .only_for(Builds::with_allocator);
}

/// SCENE and --pool of a verb with one scene.
void add_scene(Options& options, SceneParameters& o) {
    options.text(
        "SCENE", o.scene,
        "An OBJ file (.obj, .obj.xz, .obj.gz), a list of several that are one scene (.list), or "
        "gen:NAME:TRIANGLES[:SEED]");
    add_pool(
        options, o.pool,
        "Memory for the allocator: 20x the root node's array, or bytes: 512MiB; the default is "
        "at least what the allocator needs and at most a third of the machine's memory");
}

/// --grow and --grow-to.
void add_growth(Options& options, GrowthChoice& growth) {
    options
        .flag("--grow", growth.grows,
              "The pool grows while a build runs, rather than end it. Each build begins with "
              "--pool, by default 20x. Not all allocators are compiled for that")
        .only_for(Builds::with_allocator);
    options
        .value("--grow-to", "SIZE", PoolSize().text(),
               "The largest size that such a pool grows to; the default is at most a third of the "
               "machine's memory. Means --grow, too",
               [&growth](const std::string& text) {
                   growth.most = PoolSize::parse(text);
                   growth.grows = true;
               })
        .only_for(Builds::with_allocator);
}

/// To be called when --device is known, which becomes gpu.
std::vector<std::uint32_t> devices_of(const std::vector<std::string>& numbers, RunParameters& o) {
    std::vector<std::uint32_t> devices;
    for (const std::string& number : numbers) {
        devices.push_back(static_cast<std::uint32_t>(read(number, Whole{0, 1023})));
    }
    if (o.device == DeviceChoice::cpu) {
        throw UsageError("names GPUs, but --device is cpu: leave out one of them");
    }
    o.device = DeviceChoice::gpu;
    return devices;
}

}  // namespace

Options& add_frames(Options& options, std::string& frames, const char* what) {
    return options.value("--frames", "N|PATTERN", "none", what, [&frames](const std::string& text) {
        if (text.empty()) throw UsageError("a number of frames, or a pattern");
        frames = text == "none" ? "" : text;
    });
}

void add_build(Options& options, BuildOptions& o) {
    add_scene(options, o);
    add_growth(options, o.growth);
    add_building(options, o);
    add_repetitions(options, o);
    add_more_runs(options, o);
    add_frames(options, o.frames,
               "Also build an animation by one builder, which keeps its memory, and report "
               "rebuilds a second: N frames of the scene, which waves, or those of files, "
               "frame_%03d.obj, numbered from 0 or 1")
        .only_for(Builds::whole);
    add_config(options, o);
    options.group("In parts");
    options.value(
        "--memory", "SIZE", "any",
        "Build in parts, one after another, within so much memory, 4GiB, of the machine, or "
        "of the GPU; the tree, which is the same, goes to the file of --out",
        [&o](const std::string& text) {
            if (text != "any") o.memory = read_bytes(text, kAnyBytes, "4GiB");
        });
    options.whole(
        "--parts", o.parts, {0, 1024},
        "Build by so many processes, each of which has a part of the triangles; one that "
        "ends early or hangs is replaced. The tree is the same, and goes to the file of --out; 0: "
        "by this process");
    options.list(
        "--devices", "N", "",
        "Build in parts by these GPUs, by CUDA's numbers from 0, separated by commas: each "
        "has the whole scene and builds cells in turn. With --parts each process has the "
        "next of them, and after the last the first again",
        [&o](const std::vector<std::string>& numbers) { o.devices = devices_of(numbers, o); });
    options.real("--time-limit", o.time_limit, kTimeLimit,
                 "Seconds after which a process of --parts is taken to hang, beside 0.1 ms for "
                 "each triangle of its work; the one in its place has twice the time",
                 "SECONDS");
    options.group("Output");
    options.file("--trace", o.trace,
                 "Record the requests and frees of one more, untimed build to this file, for "
                 "'heapwood replay'; with one full allocator",
                 "a trace needs a file: standard output has the tables");
    options.file("-o,--out", o.out,
                 "Write the tree with its triangles to this file (.kdt); it is the same tree for "
                 "all allocators",
                 "a tree needs a file: standard output has the tables");
    options.flag("--details", o.output.details,
                 "Print all that is known: times, memory by array, fragmentation, the whole tree");
}

void add_tree(Options& options, TreeParameters& o) {
    options.text(
        "SCENE", o.scene,
        "An OBJ file (.obj, .obj.xz, .obj.gz), a list of several that are one scene (.list), "
        "gen:NAME:TRIANGLES[:SEED], or a tree file "
        "(.kdt) of 'heapwood build SCENE --out TREE.kdt'");
    add_pool(options, o.pool, "Memory for the allocator of the build, as for 'heapwood build'");
    add_building(options, o);
    add_config(options, o);
    options.group("");
}

void add_trace(Options& options, TraceOptions& o) {
    add_scene(options, o);
    options.whole(
        "--rays", o.rays.rays, {1, 1U << 28},
        "Rays of each kind, and points, rounded up to a square picture in tiles of 32 * 32");
    options.whole("--seed", o.rays.seed, {}, "Of the random rays and points");
    options.flag("--fast", o.rays.fast,
                 "With a faster test of triangles that is wrong for a few rays in a million");
    options.list("--beside", "NAME", "",
                 "Presets whose trees are built and traced, too, separated by commas: does a "
                 "slower build with faster rays pay?",
                 [&o](const std::vector<std::string>& presets) {
                     for (const auto& preset : presets) named(kdtree::presets(), preset);
                     o.beside = presets;
                 });
    add_frames(options, o.frames,
               "Also rebuild the trees of an animation, each by a builder that keeps its memory, "
               "trace primary rays through each frame, and report frames a second: N frames of the "
               "scene, which waves, or those of files, frame_%03d.obj, numbered from 0 or 1");
    add_building(options, o);
    options.list(
        "--devices", "N", "",
        "GPUs that share the rays, by CUDA's numbers from 0, separated by commas: each has "
        "the whole tree and a range of the rays",
        [&o](const std::vector<std::string>& numbers) { o.rays.devices = devices_of(numbers, o); });
    add_repetitions(options, o);
    add_config(options, o);
}

void add_compare(Options& options, CompareOptions& o) {
    options.texts(
        "SCENE", o.compared.scenes,
        "OBJ files (.obj, .obj.xz, .obj.gz), lists of several that are one scene (.list), or "
        "gen:NAME:TRIANGLES[:SEED]");
    options
        .list("-p,--pool", "SIZE", PoolSize().text(),
              "Memory for the allocators, one table each: 20x the root node's array, or bytes: "
              "512MiB; separated by commas; the default is at least what the allocator needs "
              "and at most a third of the machine's memory",
              [&o](const std::vector<std::string>& sizes) {
                  o.compared.pools.clear();
                  for (const auto& text : sizes) o.compared.pools.push_back(PoolSize::parse(text));
              })
        .only_for(Builds::with_allocator);
    options.real("--time-limit", o.compared.time_limit, kTimeLimit,
                 "Seconds after which a turn is given up: a build with its warm-up", "SECONDS");
    options.real("--budget", o.compared.budget, {},
                 "Seconds an allocator may take for the turns on a scene, with all pools; then the "
                 "rest of them is skipped; 0: as long as it takes",
                 "SECONDS");
    options.real("--within", o.compared.within, {.most = 1000},
                 "Per cent of time that a smaller pool may cost: of several pools each allocator's "
                 "smallest such one is shown",
                 "PERCENT");
    options.flag("--published", o.compared.published,
                 "Show the tables of Vinkler & Havran 2014 and 2015 beside the results, for scenes "
                 "of the same names");
    add_building(options, o);
    add_repetitions(options, o);
    add_more_runs(options, o);
    add_config(options, o);
    add_resume(options, o);
}

}  // namespace heapwood::app
