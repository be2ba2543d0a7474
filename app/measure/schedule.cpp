#include "app/measure/schedule.h"

#include <algorithm>

#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

constexpr double kSearch = 20;  ///< turns that a search is worth

/// Samples have numbers from 0 on, which fit into 63 bits: a conversion would take -1 for a huge
/// number. @throws std::invalid_argument for others.
void check_numbers(const Json& sample) {
    constexpr double kMost = 9e18;
    for (const Json& value : sample) {
        if (value.is_structured()) check_numbers(value);
        if (!value.is_number()) continue;
        const auto number = value.get<double>();
        if (!(number >= 0 && number <= kMost)) {
            throw std::invalid_argument("a figure of " + value.dump());
        }
    }
}

}  // namespace

Answer nonsense(const std::string& answer) {
    constexpr std::size_t kShown = 60;
    return {.sample = {},
            .outcome = Outcome::crashed,
            .message = "its process answered nonsense: " +
                       (answer.size() <= kShown ? answer : answer.substr(0, kShown) + "...")};
}

Schedule::Schedule(Plan& plan, Workers& workers, Note note)
    : plan_(plan), workers_(workers), note_(std::move(note)) {}

/// @throws std::exception for a sample that is none.
void Schedule::add(CellState& cell, const Answer& answer) {
    check_numbers(answer.sample);
    const Outcome outcome = plan_.add(cell, answer);
    ++cell.turns;
    cell.over = outcome != Outcome::done || cell.turns == plan_.repeat;
    spent_[{cell.runner, cell.account}] += answer.seconds;
    if (outcome == Outcome::hang) hung_.insert({cell.runner, cell.block});
}

void Schedule::replay(const Json& entry) {
    const Json& number = entry.at("cell");
    const auto found = std::find_if(plan_.cells.begin(), plan_.cells.end(),
                                    [&](const CellState& cell) { return number == cell.number; });
    if (found == plan_.cells.end()) throw std::invalid_argument("a cell that is not there");
    if (entry.contains("found")) {
        plan_.found(*found, entry.at("found"));
        found->searched = true;
        return;
    }
    const Answer answer = entry.at("turn");
    const bool failed = answer.sample.is_null();
    if (answer.seconds < 0 || found->over || failed != (answer.outcome != Outcome::done) ||
        (failed && !can_end(of_process, answer.outcome))) {
        throw std::invalid_argument("a turn that nobody takes");
    }
    add(*found, answer);
}

std::string Schedule::refusal(const CellState& cell) const {
    if (hung_.contains({cell.runner, cell.block})) return "after a hang in this " + plan_.budget_of;
    const auto spent = spent_.find({cell.runner, cell.account});
    if (spent == spent_.end() || spent->second < plan_.budget) return "";
    return "the " + shortest(plan_.budget) + " s that the allocator has for this " +
           plan_.budget_of + " were over";
}

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
        if (refusal(cell).empty()) {
            workers_.prepare(plan_.runners[cell.runner], plan_.setting(cell));
        }
    });
    each(&CellState::over,
         [&](const CellState& cell) { workers_.await(plan_.runners[cell.runner]); });
    for (unsigned turn = 0;; ++turn) {
        const bool any = each(&CellState::over, [&](CellState& cell) {
            if (cell.turns > turn) return;
            const std::string why = refusal(cell);
            if (why.empty()) return take_turn(cell);
            plan_.pass_over(cell, why);
            cell.over = true;
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
        add(cell, answer);
    } catch (const std::exception&) {
        workers_.stop(runner);
        const double seconds = answer.seconds;
        answer = nonsense(answer.sample.dump(-1, ' ', false, Json::error_handler_t::replace));
        answer.seconds = seconds;
        add(cell, answer);
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
    for (const CellState& cell : plan_.cells) {
        if (!cell.over) work += cell.work * (plan_.repeat - cell.turns);
        if (!cell.searched) work += cell.work * kSearch;
    }
    return work;
}

void Schedule::report_progress(const CellState& cell, const std::string& what) const {
    const double left = work_left();
    const double done = work_at_start_ - left;
    // What matters most is first: a narrow terminal shows no more.
    std::string text;
    if (done > 0) {
        const double gone = std::chrono::duration<double>(Clock::now() - start_).count();
        text = fixed(100 * done / work_at_start_, 0) + " %, " + duration_text(gone * left / done) +
               " left: ";
    }
    show_progress(text + plan_.runners[cell.runner].name + ", " + what + ", " + plan_.label(cell));
}

}  // namespace heapwood::app
