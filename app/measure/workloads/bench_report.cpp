#include "app/measure/workloads/bench_report.h"

#include <algorithm>
#include <utility>

#include "app/backends/registers.h"
#include "app/base/log.h"
#include "app/base/pool_size.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// Ends a cell before any turn if its pool is below what its allocator needs.
void refuse_if_small(BenchCell& cell, const Runner& runner) {
    const std::string why = below_smallest_pool(cell.task.pool_bytes, runner.backend->traits);
    if (why.empty()) return;
    cell.result.outcome = Outcome::out_of_pool;
    cell.result.message = why;
}

}  // namespace

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
                                const std::vector<Runner>& runners) {
    std::vector<BenchCell> cells;
    for (std::size_t s = 0; s < series.size(); ++s) {
        for (const Point& point : series[s].points) {
            for (std::size_t p = 0; p < runners.size(); ++p) {
                if (runners[p].baseline() && !series[s].baseline) continue;
                if (series[s].full_only && !runners[p].full) continue;
                if (series[s].exact_pool && has_lasting_heap(runners[p])) continue;
                BenchCell cell{.series = s, .runner = p, .x = std::nullopt, .task = point.task};
                if (series[s].axis) cell.x = point.x;
                if (!runners[p].baseline()) {
                    const std::uint64_t smallest = runners[p].backend->traits.smallest_pool;
                    if (!series[s].exact_pool && cell.task.pool_bytes < smallest) {
                        cell.task.pool_bytes = smallest;
                    }
                    refuse_if_small(cell, runners[p]);
                }
                cells.push_back(std::move(cell));
            }
        }
    }
    return cells;
}

void refuse_small_pools(BenchReport& report, std::uint64_t pool_bytes) {
    for (BenchCell& cell : report.cells) {
        cell.task.pool_bytes = pool_bytes;
        refuse_if_small(cell, report.runners[cell.runner]);
    }
}

void add_registers(BenchReport& report) {
    for (std::size_t s = 0; s < report.series.size(); ++s) {
        if (report.series[s].test != "registers") continue;
        for (std::size_t p = 0; p < report.runners.size(); ++p) {
            if (report.runners[p].baseline()) continue;
            BenchCell cell{.series = s, .runner = p, .x = std::nullopt, .task = {}};
            const auto found = find_registers(kernel_table(), report.runners[p].name,
                                              report.provenance.machine.architecture);
            if (!found) {
                cell.result.message = "the compiler's figures are only in a program with CUDA";
            } else {
                cell.result.outcome = Outcome::done;
                const auto add = [&](const char* metric, const auto& kernel) {
                    if (kernel) {
                        cell.result.metrics[metric].value = {
                            static_cast<double>(kernel->registers)};
                    }
                };
                add("uncoalesced", found->uncoalesced);
                add("coalesced", found->coalesced);
            }
            report.cells.push_back(std::move(cell));
        }
    }
}

ExitCode verdict(const BenchReport& report) {
    const auto has = [&](Outcome outcome) {
        return std::any_of(report.cells.begin(), report.cells.end(),
                           [&](const BenchCell& cell) { return cell.result.outcome == outcome; });
    };
    if (has(Outcome::corrupt)) return ExitCode::verification_failed;
    if (has(Outcome::failed) || has(Outcome::crashed)) return ExitCode::internal;
    if (has(Outcome::done) || report.cells.empty()) return ExitCode::done;
    if (has(Outcome::out_of_pool) || has(Outcome::out_of_memory)) return ExitCode::out_of_memory;
    log::warning("nothing was measured: no turn ended within the time limit of " +
                 shortest(report.run.time_limit) + " s; use a longer --time-limit");
    return ExitCode::done;
}

}  // namespace heapwood::app
