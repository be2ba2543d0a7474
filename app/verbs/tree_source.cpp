#include "app/verbs/tree_source.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "allocators/platform/threads.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/builds/turn.h"
#include "app/verbs/choices.h"
#include "kdtree/tree/verify.h"

namespace heapwood::app {
namespace {

TreeSource loaded(const TreeParameters& parameters) {
    if (!parameters.allocator_options.empty()) {
        log::warning("a tree file is not built: no effect of " +
                     joined(parameters.allocator_options, ", "));
    }
    TreeSource source{.origin = new_report(parameters), .scene = {}, .tree = {}};
    Report& origin = source.origin;
    ReadTree read = read_tree(parameters.scene, parameters.measure.verify);
    origin.options.config = read.stored.config;
    origin.options.preset = kPresetOfFile;
    source.scene = std::move(read.stored.scene);
    describe(origin, source.scene);
    origin.results.push_back(std::move(read.result));
    const Result& result = origin.results.front();
    if (result.outcome == Outcome::done) {
        source.tree = std::move(read.stored.tree);
    } else {
        log::error(result.message);
    }
    return source;
}

TreeSource built(const TreeParameters& parameters, const std::vector<const Backend*>& available) {
    TreeSource source{.origin = new_report(parameters), .scene = {}, .tree = {}};
    Report& origin = source.origin;
    const auto chosen = choose_backends(available, parameters, origin.provenance.machine.gpu);
    require_one(
        chosen, parameters,
        parameters.verb + " needs one tree, which is the same of all allocators and methods");
    const Backend& backend = *chosen.front();
    source.scene = scenes::load(parameters.scene, origin.options.run.threads);
    describe(origin, source.scene);
    MeasureOptions measure = origin.options;
    measure.run.pool_bytes = pool_bytes(parameters.pool, origin, backend);
    show_progress("building with " + std::string(backend.traits.name));
    origin.results.push_back(take_turn(backend, {source.scene, measure, &source.tree}));
    const Result& result = origin.results.front();
    if (result.outcome != Outcome::done) {
        log::error(std::string(backend.traits.name) + ": " + result.message);
    }
    return source;
}

}  // namespace

ReadTree read_tree(const std::string& path, bool verify) {
    ReadTree read{.stored = {}, .result = {}};
    const double ms = platform::run_timed([&] { read.stored = kdtree::load_tree(path); });
    const kdtree::StoredTree& stored = read.stored;
    const std::size_t triangles = stored.scene.triangles.size();
    read.result.allocator.full = true;
    read.result.built.milliseconds = {ms};
    read.result.tree.emplace().digest = kdtree::digest(stored.tree);
    if (!verify) return read;
    show_progress("verifying " + path);
    const std::uint32_t depth = kdtree::max_depth(stored.config, triangles);
    if (const auto wrong = kdtree::verify(stored.scene, stored.tree, depth)) {
        read.result.fail(Outcome::verification_failed, path + ": the tree is wrong: " + *wrong);
    } else {
        read.result.tree->verified = true;
    }
    return read;
}

bool names_tree(const std::string& scene) {
    if (kdtree::is_tree_file(scene)) return true;
    // One that was damaged, or is not there, is told as such.
    const std::filesystem::path path(scene);
    std::error_code ignored;
    return path.extension() == ".kdt" && !std::filesystem::is_regular_file(path, ignored);
}

FrameChoice frames_of(const std::string& text, const std::string& scene,
                      const std::vector<const Backend*>& chosen) {
    if (!text.empty() && names_tree(scene)) {
        throw UsageError(
            scene + " is a tree file, and --frames builds a tree for each frame: name a scene");
    }
    return choose_frames(text, chosen);
}

TreeSource tree_source(const TreeParameters& parameters,
                       const std::vector<const Backend*>& available) {
    show_progress("loading " + parameters.scene);
    return names_tree(parameters.scene) ? loaded(parameters) : built(parameters, available);
}

}  // namespace heapwood::app
