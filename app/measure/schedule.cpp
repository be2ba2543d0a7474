#include "app/measure/schedule.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// What a player has done in a test.
struct Account {
    double seconds = 0;
    bool hung = false;
};

/// Why a player is passed over, or an empty string.
std::string refusal(const Account& account, double time_limit) {
    if (account.hung) return "after a hang in this test";
    if (account.seconds < time_limit) return "";
    return "the " + shortest(time_limit) + " s that the allocator has for this test were over";
}

/// The numbers of the cells from `first` on that belong to its test, in the order of their turns.
std::vector<std::size_t> cells_of_test(const BenchReport& report, std::size_t first) {
    const auto series = [&report](std::size_t i) -> const Series& {
        return report.series[report.cells[i].series];
    };
    std::vector<std::size_t> order;
    for (std::size_t i = first; i < report.cells.size(); ++i) {
        if (series(i).test != series(first).test) break;
        order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const BenchCell& x = report.cells[a];
        const BenchCell& y = report.cells[b];
        if (x.series != y.series) return x.series < y.series;
        return series(a).descending && x.x > y.x;
    });
    return order;
}

}  // namespace

void run_schedule(BenchReport& report, const RunTask& run, const Progress& progress,
                  const std::function<bool()>& stopped) {
    const std::size_t turns = report.cells.size() * report.run.repeat;
    std::size_t turn = 0;
    for (std::size_t first = 0; first < report.cells.size();) {
        const std::vector<std::size_t> order = cells_of_test(report, first);
        std::map<std::size_t, Account> accounts;
        // Once nobody has a turn left, nobody will have one.
        bool idle = false;
        for (unsigned repetition = 0; repetition < report.run.repeat && !idle; ++repetition) {
            idle = true;
            for (const std::size_t i : order) {
                BenchCell& cell = report.cells[i];
                ++turn;
                if (stopped()) {
                    if (cell.turns == 0) cell.result.message = "interrupted";
                    continue;
                }
                if (cell.turns > 0 && cell.result.outcome != Outcome::done) continue;
                Account& account = accounts[cell.player];
                const std::string why = refusal(account, report.run.time_limit);
                if (!why.empty()) {
                    if (cell.turns == 0) cell.result.message = why;
                    continue;
                }
                progress(cell, turn - 1, turns);
                TaskResult result =
                    run(report.players[cell.player], cell.task, report.run.time_limit);
                account.seconds += result.seconds;
                account.hung = result.outcome == Outcome::hang;
                add_turn(cell, std::move(result));
                idle = false;
            }
        }
        first += order.size();
    }
}

}  // namespace heapwood::app
