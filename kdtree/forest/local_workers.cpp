#include "kdtree/forest/local_workers.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/threads.h"
#include "kdtree/levels/level_builder.h"
#include "scenes/piece.h"

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
    const BuildOptions options{.threads = machine.threads, .array_pool = &pool};
    BuildResult built = machine.gpu ? build_by_levels_on_gpu(input, unlimited, options)
                                    : build_by_levels_on_cpu(input, unlimited, options);
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
      pool_(machine.gpu ? allocators::Place::device : allocators::Place::host) {
    const std::uint64_t n = scene.triangles.size();
    for (std::uint32_t i = 0; i < parts; ++i) {
        parts_.emplace_back(TriangleRange{.scene = &scene,
                                          .begin = scenes::range_begin(n, i, parts),
                                          .end = scenes::range_begin(n, i + 1, parts)},
                            normalisation, config.clip);
    }
}

/// What work(part) returns, added up over all parts, which threads share.
template <class Work>
std::vector<Bins> LocalWorkers::of_all(const Work& work) {
    std::vector<std::vector<Bins>> bins(parts_.size());
    std::uint64_t next = 0;
    platform::run_threads(
        std::min(platform::thread_count(machine_.threads), parts()),
        [&](std::uint32_t, std::uint32_t) {
            for (std::uint64_t i; (i = platform::AtomicRef(next).add_relaxed(1)) < parts_.size();) {
                bins[i] = work(parts_[i]);
            }
        });
    std::vector<Bins> sum;
    for (const std::vector<Bins>& part : bins) add_bins(sum, part);
    return sum;
}

std::vector<Bins> LocalWorkers::start(const TopStart& start) {
    return of_all([&](Part& part) { return part.start(start); });
}

std::vector<Bins> LocalWorkers::divide(std::span<const Decision> decisions) {
    return of_all([&](Part& part) { return part.divide(decisions); });
}

void LocalWorkers::order(const TreeRules& rules, std::vector<CellOrder> cells) {
    rules_ = rules;
    cells_ = std::move(cells);
    next_ = 0;
}

CellTree LocalWorkers::next() {
    const CellOrder& cell = cells_.at(next_++);
    CellReferences references;
    for (Part& part : parts_) references.append(part.take(cell.number));
    return build_cell(references, cell, rules_, normalisation_, config_, machine_, pool_);
}

}  // namespace heapwood::kdtree
