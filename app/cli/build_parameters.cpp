#include <map>

#include "app/cli/common.h"
#include "app/cli/values.h"
#include "kdtree/tree/tree.h"

namespace heapwood::app {
namespace {

/// The parameters of the tree, one option a field, and presets of all of them.
void add_config(CLI::App& verb, BuildParameters& o) {
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
    add("--max-duplication", c.max_duplication,
        "Most references of leaves for each triangle, else the tree is less deep; 0: any number",
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

}  // namespace

void add_build_parameters(CLI::App& verb, BuildParameters& o) {
    verb.add_option_function<std::vector<std::string>>(
            "-m,--method",
            [&o](const std::vector<std::string>& lists) {
                o.methods.clear();
                for (const std::string& name : items("--method", lists)) {
                    o.methods.push_back(method(name));
                }
            },
            "single: one kernel that allocates; levels: the reference method, many kernels and no "
            "allocator; both, separated by a comma")
        ->allow_extra_args(false)
        ->default_str("single")
        ->type_name("NAME");
    add_allocators(verb, o.allocators,
                   "Allocators of the children's arrays, separated by commas; all: sound ones");
    verb.add_option_function<std::string>(
            "-d,--device", [&o](const std::string& text) { o.device = device_choice(text); },
            "auto: a GPU if there is one, else the CPU")
        ->default_str("auto")
        ->type_name("auto|gpu|cpu");
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
    add_choices(verb, o.choices);
    verb.add_option_function<std::string>(
            "--host-pool",
            [&o](const std::string& text) {
                using Keep = allocators::ArrayPool::Keep;
                if (text != "on" && text != "off") {
                    throw CLI::ValidationError("--host-pool",
                                               "'" + text + "' is neither on nor off");
                }
                o.array_pool = text == "on" ? Keep::slabs : Keep::nothing;
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
    add_config(verb, o);
}

}  // namespace heapwood::app
