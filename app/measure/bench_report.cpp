#include "app/measure/bench_report.h"

#include <algorithm>
#include <utility>

namespace heapwood::app {

Player player_of(const Backend& backend) {
    return {.name = backend.traits.name,
            .title = backend.traits.title,
            .full = backend.traits.full,
            .backend = &backend};
}

Player prefix_sum_player() {
    return {.name = "prefix-sum", .title = "without an allocator: a prefix sum over the sizes"};
}

bool has_lasting_heap(const Player& player) {
    return !player.baseline() && player.backend->gpu && player.backend->traits.one_heap;
}

void add_turn(BenchCell& cell, TaskResult turn) {
    ++cell.turns;
    if (turn.pool_bytes != 0) cell.task.pool_bytes = turn.pool_bytes;
    if (turn.outcome != Outcome::done || cell.turns == 1) {
        if (turn.outcome != Outcome::done) turn.metrics.clear();
        cell.result = std::move(turn);
        return;
    }
    cell.result.counts = turn.counts;
    for (const auto& [metric, samples] : turn.metrics) {
        Samples& all = cell.result.metrics[metric];
        const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(all.cold, samples.cold);
        append(all.warm, samples.warm);
        append(all.value, samples.value);
    }
}

std::vector<BenchCell> cells_of(const std::vector<Series>& series,
                                const std::vector<Player>& players) {
    std::vector<BenchCell> cells;
    for (std::size_t s = 0; s < series.size(); ++s) {
        for (const Point& point : series[s].points) {
            for (std::size_t p = 0; p < players.size(); ++p) {
                if (players[p].baseline() && !series[s].baseline) continue;
                if (series[s].exact_pool && has_lasting_heap(players[p])) continue;
                BenchCell cell{.series = s, .player = p, .x = std::nullopt, .task = point.task};
                if (series[s].axis) cell.x = point.x;
                if (!players[p].baseline() && !series[s].exact_pool) {
                    cell.task.pool_bytes =
                        std::max(cell.task.pool_bytes, players[p].backend->traits.smallest_pool);
                }
                cells.push_back(std::move(cell));
            }
        }
    }
    return cells;
}

ExitCode verdict(const BenchReport& report) {
    const auto has = [&](Outcome outcome) {
        return std::any_of(report.cells.begin(), report.cells.end(),
                           [&](const BenchCell& cell) { return cell.result.outcome == outcome; });
    };
    if (has(Outcome::corrupt)) return ExitCode::verification_failed;
    if (has(Outcome::failed)) return ExitCode::internal;
    if (has(Outcome::done) || report.cells.empty()) return ExitCode::done;
    return has(Outcome::out_of_pool) || has(Outcome::out_of_memory) ? ExitCode::out_of_memory
                                                                    : ExitCode::internal;
}

}  // namespace heapwood::app
