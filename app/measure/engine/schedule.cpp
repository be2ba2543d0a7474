#include "app/measure/engine/schedule.h"

#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {

Answer nonsense(const std::string& answer) {
    constexpr std::size_t kShown = 60;
    return {.sample = {},
            .outcome = Outcome::crashed,
            .message = "its process answered nonsense: " +
                       (answer.size() <= kShown ? answer : answer.substr(0, kShown) + "...")};
}

Schedule::Schedule(Plan& plan, Workers& workers, Note note)
    : plan_(plan), ledger_(plan), workers_(workers), note_(std::move(note)) {}

void Schedule::run() {
    start_ = Clock::now();
    work_at_start_ = work_left();
    for (std::size_t first = 0; first < plan_.cells.size();) first = run_block(first);
    clear_progress();
}

std::size_t Schedule::run_block(std::size_t first) {
    std::size_t end = first;
    while (end < plan_.cells.size() && plan_.cells[end].block == plan_.cells[first].block) ++end;
    const auto each = [&](bool CellState::*done, const auto& action) {
        bool any = false;
        for (std::size_t i = first; i < end; ++i) {
            if (plan_.cells[i].*done) continue;
            any = true;
            action(plan_.cells[i]);
        }
        return any;
    };
    // A process that still loads would disturb the turns of the others.
    each(&CellState::over, [&](const CellState& cell) {
        if (ledger_.refusal(cell).empty()) {
            workers_.prepare(plan_.runners[cell.runner], plan_.setting(cell));
        }
    });
    each(&CellState::over,
         [&](const CellState& cell) { workers_.await(plan_.runners[cell.runner]); });
    for (unsigned turn = 0;; ++turn) {
        const bool any = each(&CellState::over, [&](CellState& cell) {
            if (cell.turns > turn) return;
            const std::string why = ledger_.refusal(cell);
            if (why.empty()) return take_turn(cell);
            ledger_.pass_over(cell, why);
        });
        if (!any) break;
    }
    each(&CellState::searched, [&](CellState& cell) { search(cell); });
    return end;
}

void Schedule::take_turn(CellState& cell) {
    report_progress(
        cell, "turn " + std::to_string(cell.turns + 1) + " of " + std::to_string(plan_.repeat));
    const Runner& runner = plan_.runners[cell.runner];
    Answer answer =
        workers_.ask(runner, plan_.setting(cell), plan_.request(cell), plan_.time_limit);
    try {
        ledger_.add(cell, answer);
    } catch (const std::exception&) {
        workers_.stop(runner);
        const double seconds = answer.seconds;
        answer = nonsense(dumped(answer.sample));
        answer.seconds = seconds;
        ledger_.add(cell, answer);
    }
    note_({{"cell", cell.number}, {"turn", answer}});
}

void Schedule::search(CellState& cell) {
    const Json result = plan_.search(cell, [&](const Request& request, const std::string& what) {
        report_progress(cell, what);
        return workers_.ask(plan_.runners[cell.runner], plan_.setting(cell), request,
                            plan_.time_limit);
    });
    plan_.found(cell, result);
    cell.searched = true;
    note_({{"cell", cell.number}, {"found", result}});
}

double Schedule::work_left() const {
    double work = 0;
    for (const CellState& cell : plan_.cells) work += plan_.work_left(cell);
    return work;
}

void Schedule::report_progress(const CellState& cell, const std::string& what) const {
    const double left = work_left();
    const double done = work_at_start_ - left;
    // What matters most is first: a narrow terminal shows no more.
    std::string intro;
    if (done > 0) {
        const double gone = std::chrono::duration<double>(Clock::now() - start_).count();
        intro = fixed(100 * done / work_at_start_, 0) + " %, " + duration_text(gone * left / done) +
                " left: ";
    }
    show_progress(plan_.runners[cell.runner].name + ", " + what + ", " + plan_.label(cell),
                  {.done = done, .total = work_at_start_}, intro);
}

}  // namespace heapwood::app
