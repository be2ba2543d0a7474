#include "app/verbs/tree_source.h"

#include <filesystem>
#include <utility>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/turn.h"
#include "app/verbs/choices.h"
#include "kdtree/tree/tree_file.h"

namespace heapwood::app {
namespace {

TreeSource loaded(const TreeParameters& parameters) {
    if (!parameters.allocator_options.empty()) {
        log::warning("a tree file is not built: no effect of " +
                     joined(parameters.allocator_options, ", "));
    }
    TreeSource source{.origin = new_report(parameters), .scene = {}, .tree = {}};
    kdtree::StoredTree stored = kdtree::load_tree(parameters.scene);
    source.origin.configuration = stored.config;
    source.origin.preset = "file";
    source.scene = std::move(stored.scene);
    source.tree = std::move(stored.tree);
    describe(source.origin, source.scene);
    return source;
}

TreeSource built(const TreeParameters& parameters, const std::vector<const Backend*>& available) {
    TreeSource source{.origin = new_report(parameters), .scene = {}, .tree = {}};
    Report& origin = source.origin;
    const auto chosen = choose_backends(available, parameters, origin.machine.gpu);
    if (chosen.size() != 1) {
        throw UsageError(
            "one tree is enough, and all allocators and methods make the same: choose "
            "one, as --allocator " +
            std::string(chosen.front()->traits.name));
    }
    const Backend& backend = *chosen.front();
    source.scene = scenes::load(parameters.scene);
    describe(origin, source.scene);
    RunOptions run = origin.run;
    if (backend.method == Method::single) {
        run.pool_bytes = pool_bytes(parameters.pool, origin, backend);
    }
    show_progress("building with " + std::string(backend.traits.name));
    origin.results.push_back(take_turn(
        backend, {source.scene, parameters.config, run, parameters.verify, &source.tree}));
    const Result& result = origin.results.front();
    if (result.outcome != Outcome::done) {
        log::error(std::string(backend.traits.name) + ": " + result.message);
    }
    return source;
}

}  // namespace

TreeSource tree_source(const TreeParameters& parameters,
                       const std::vector<const Backend*>& available) {
    show_progress("loading " + parameters.scene);
    const bool is_tree = std::filesystem::path(parameters.scene).extension() == ".kdt";
    return is_tree ? loaded(parameters) : built(parameters, available);
}

}  // namespace heapwood::app
