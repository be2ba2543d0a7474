#include "app/measure/bench_turns.h"

#include <chrono>

#include "app/base/console.h"
#include "app/base/log.h"
#include "app/base/text.h"
#include "app/measure/bench_workers.h"
#include "app/measure/schedule.h"

namespace heapwood::app {
namespace {

/// "1:05" for a duration.
std::string clock_text(double seconds) {
    const auto whole = static_cast<std::uint64_t>(seconds);
    const std::string rest = std::to_string(whole % 60);
    return std::to_string(whole / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

}  // namespace

void take_turns(BenchReport& report, const std::string& trace, const Interrupts& interrupts) {
    BenchWorkers workers(report.machine.gpu, report.run.threads, interrupts.descriptor(), trace);
    const auto start = std::chrono::steady_clock::now();
    const auto progress = [&](const BenchCell& cell, std::size_t turn, std::size_t turns) {
        const double gone =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        std::string left;
        if (turn > 0) {
            left =
                ", about " +
                clock_text(gone * static_cast<double>(turns - turn) / static_cast<double>(turn)) +
                " left";
        }
        show_progress(report.series[cell.series].id + ": " + report.players[cell.player].name +
                      " (" + grouped(turn + 1) + " of " + grouped(turns) + left + ")");
    };
    run_schedule(
        report,
        [&](const Player& player, const Task& task, double seconds) {
            return workers.run(player, task, seconds);
        },
        progress, [&] { return interrupts.signal() != 0; });
    clear_progress();
}

void tell_errors(const BenchReport& report) {
    for (const BenchCell& cell : report.cells) {
        const Outcome outcome = cell.result.outcome;
        if (outcome != Outcome::corrupt && outcome != Outcome::failed) continue;
        log::error(report.series[cell.series].id + ", " + report.players[cell.player].name + ": " +
                   cell.result.message);
    }
}

}  // namespace heapwood::app
