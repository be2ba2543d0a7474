#include "kdtree/cells/scene_workers.h"

#include <stdexcept>
#include <utility>

#include "allocators/platform/threads.h"

namespace heapwood::kdtree {

SceneWorkers::SceneWorkers(std::vector<std::unique_ptr<ScenePart>> parts)
    : parts_(std::move(parts)) {
    if (parts_.empty()) throw std::invalid_argument("a build needs a machine");
}

/// What work(part) returns, the same for all parts.
template <class Work>
std::vector<Bins> SceneWorkers::on_all(const Work& work) {
    building_.clear();  // waits
    std::vector<std::vector<Bins>> bins(parts_.size());
    platform::run_threads(parts(), [&](std::uint32_t thread, std::uint32_t threads) {
        for (std::uint32_t i = thread; i < parts(); i += threads) bins[i] = work(*parts_[i]);
    });
    return std::move(bins.front());
}

std::vector<Bins> SceneWorkers::start(const TopStart& start) {
    return on_all([&](ScenePart& part) { return part.start(start); });
}

std::vector<Bins> SceneWorkers::divide(std::span<const Decision> decisions) {
    return on_all([&](ScenePart& part) { return part.divide(decisions); });
}

void SceneWorkers::order(const TreeRules& rules, std::vector<CellOrder> cells) {
    building_.clear();
    rules_ = rules;
    cells_ = std::move(cells);
    next_ = 0;
    times_ = {};
    building_.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) begin(i);
}

/// Begins a cell, if there is one of this number, on the machine whose turn it is.
void SceneWorkers::begin(std::size_t cell) {
    if (cell >= cells_.size()) return;
    const std::size_t i = cell % parts_.size();
    building_[i] = std::async(std::launch::async,
                              [this, cell, i] { return parts_[i]->build(cells_[cell], rules_); });
}

CellResult SceneWorkers::next(const CellPlace& place, TreeSink& sink) {
    const std::size_t cell = next_++;
    const std::size_t i = cell % parts_.size();
    CellResult built;
    times_.waiting += platform::run_timed([&] { built = building_.at(i).get(); });
    if (built.status != Status::done) return built;
    require_numbers(place, built.nodes, built.references);
    times_.ordering += platform::run_timed([&] { parts_[i]->put(place); });
    begin(cell + parts_.size());
    times_.copying += platform::run_timed([&] {
        sink.extend(built.nodes - 1, built.references);
        parts_[i]->hand_over(place, sink);
    });
    return built;
}

}  // namespace heapwood::kdtree
