#include "kdtree/distributed/local_workers.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "kdtree/distributed/cell_place.h"
#include "kdtree/levels/level_builder.h"

namespace heapwood::kdtree {

CellTree build_cell(const CellReferences& references, const CellOrder& cell, const TreeRules& rules,
                    float normalisation, const BuildConfig& config, const LocalMachine& machine,
                    allocators::ArrayPool& pool) {
    const auto& numbers = references.numbers;
    const bool ascending =
        std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) == numbers.end();
    if (!ascending || references.references.size() != cell.node.count) {
        throw std::runtime_error(
            "cell " + std::to_string(cell.number) + " has " + std::to_string(cell.node.count) +
            " references, but the parts gave " + std::to_string(references.references.size()) +
            (ascending ? "" : ", and some twice"));
    }
    BuildConfig unlimited = config;
    unlimited.max_nodes = unlimited.max_references = 0;
    const LevelInput input{.rules = rules,
                           .root = cell.node,
                           .triangles = references.triangles,
                           .references = references.references,
                           .normalisation = normalisation,
                           .budget = cell.budget};
    const RunConfig run{.threads = machine.threads, .array_pool = &pool};
    BuildResult built = machine.gpu ? build_by_levels_on_gpu(input, unlimited, run)
                                    : build_by_levels_on_cpu(input, unlimited, run);
    return {.status = built.status,
            .message = std::move(built.message),
            .tree = std::move(built.tree),
            .numbers = numbers};
}

LocalWorkers::LocalWorkers(const scenes::Scene& scene, float normalisation, std::uint32_t parts,
                           const BuildConfig& config, const LocalMachine& machine)
    : normalisation_(normalisation),
      config_(config),
      machine_(machine),
      pool_(machine.gpu ? allocators::Place::device : allocators::Place::host),
      parts_(
          {.scene = &scene, .begin = 0, .end = static_cast<std::uint32_t>(scene.triangles.size())},
          normalisation, config.clip, parts, machine.threads) {}

void LocalWorkers::order(const TreeRules& rules, std::vector<CellOrder> cells) {
    rules_ = rules;
    cells_ = std::move(cells);
    next_ = 0;
}

CellResult LocalWorkers::next(const CellPlace& place, TreeSink& sink) {
    const CellOrder& cell = cells_.at(next_++);
    return put_cell(build_cell(parts_.take(cell.number), cell, rules_, normalisation_, config_,
                               machine_, pool_),
                    place, sink);
}

}  // namespace heapwood::kdtree
