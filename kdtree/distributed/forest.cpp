#include "kdtree/distributed/forest.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "allocators/platform/threads.h"
#include "allocators/platform/warp.cuh"
#include "kdtree/depth_search.h"
#include "kdtree/distributed/top_levels.h"
#include "kdtree/single/build_input.h"

namespace heapwood::kdtree {
namespace {

/// The top; nothing, if there are more references than the budget allows.
std::optional<TopLevels> build_top(const TreeRules& rules, const OpenNode& root,
                                   std::uint32_t cell_limit, std::uint64_t budget, Workers& workers,
                                   const ForestProgress& progress, ForestResult& result) {
    TopLevels top(rules, root, cell_limit);
    std::vector<Bins> bins = workers.start(top.start());
    while (!top.open().empty()) {
        const auto open = static_cast<std::uint32_t>(top.open().size());
        const std::vector<Decision> decisions = top.decide(bins);
        if (top.references() > budget) return std::nullopt;
        result.levels.push_back({.open = open,
                                 .bytes_to_part = open * sizeof(Decision),
                                 .bytes_of_part = open * sizeof(Bins)});
        progress.level(result.levels.back());
        bins = workers.divide(decisions);
    }
    return top;
}

/// The cells, in the order in which they are joined.
std::vector<CellOrder> orders(const TopLevels& top, const Tree& tree, std::uint64_t budget) {
    const std::uint64_t all = top.references();
    std::vector<CellOrder> cells;
    for (const std::uint32_t number : tree.references) {
        const OpenNode& node = top.cells()[number];
        // Each reference of another cell becomes one of a leaf, or more.
        cells.push_back({.number = number, .node = node, .budget = budget - (all - node.count)});
    }
    return cells;
}

/// One build, to the depth of the rules.
void build_once(const TreeRules& rules, const ForestScene& scene, std::uint32_t cell_limit,
                std::uint64_t budget, Workers& workers, TreeSink& sink,
                const ForestProgress& progress, ForestResult& result) {
    const std::uint32_t before = result.builds;
    result = {};
    result.builds = before + 1;
    const OpenNode root = root_node(scene.bounds, scene.triangles);
    std::optional<TopLevels> top;
    result.top_ms = platform::run_timed(
        [&] { top = build_top(rules, root, cell_limit, budget, workers, progress, result); });
    if (!top) {
        result.status = Status::over_budget;
        return;
    }
    for (const OpenNode& cell : top->cells()) {
        result.largest_cell = std::max(result.largest_cell, cell.count);
    }
    result.cells = static_cast<std::uint32_t>(top->cells().size());
    result.cell_references = top->references();
    progress.cells_known(result);
    result.cells_ms = platform::run_timed([&] {
        sink.clear();
        const Tree tree = top->tree(scene.normalisation);
        Join join(tree, sink);
        workers.order(rules, orders(*top, tree, budget));
        for (std::uint32_t done = 0; !join.done(); ++done) {
            progress.cell(done, result.cells);
            const CellResult cell = workers.next(join.place(), sink);
            result.status = cell.status;
            result.message = cell.message;
            if (cell.status != Status::done) return;
            join.added(cell.nodes, cell.references);
        }
        result.nodes = join.nodes();
        result.references = join.references();
    });
    if (result.references > budget) result.status = Status::over_budget;
}

}  // namespace

void add_bins(std::vector<Bins>& sum, std::span<const Bins> part) {
    if (sum.empty()) {
        sum.assign(part.begin(), part.end());
        return;
    }
    if (sum.size() != part.size()) {
        throw std::runtime_error("the parts of a build disagree on the number of open nodes: " +
                                 std::to_string(sum.size()) + " and " +
                                 std::to_string(part.size()));
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
        add_bins(platform::SerialWarp{}, sum[i], part[i]);
    }
}

ForestScene forest_scene(const scenes::Scene& scene) {
    return forest_scene({.triangles = scene.triangles.size(),
                         .bounds = scene.bounds,
                         .magnitudes = scenes::magnitudes(scene.positions)});
}

ForestScene forest_scene(const scenes::SceneFacts& scene) {
    const float scale = normalisation(scene.bounds, scene.magnitudes);
    return {.triangles = static_cast<std::uint32_t>(scene.triangles),
            .bounds = {scene.bounds.lo * scale, scene.bounds.hi * scale},
            .normalisation = scale};
}

ForestResult build_forest(const ForestScene& scene, const BuildConfig& config,
                          std::uint32_t cell_limit, Workers& workers, TreeSink& sink,
                          const ForestProgress& progress) {
    validate(config);
    const std::uint64_t budget = reference_budget(config, scene.triangles);
    TreeRules rules = tree_rules(config, scene.bounds, scene.triangles);
    DepthSearch depth(rules.max_depth);
    ForestResult result;
    do {
        rules.max_depth = depth.depth();
        build_once(rules, scene, cell_limit, budget, workers, sink, progress, result);
    } while ((result.status == Status::done || result.status == Status::over_budget) &&
             !depth.settle(result.status == Status::over_budget));
    if (depth.limited()) result.depth_limit = depth.depth();
    return result;
}

}  // namespace heapwood::kdtree
