#include "app/measure/schedule.h"

#include <algorithm>
#include <optional>

#include "app/base/console.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

constexpr double kSearch = 20;  ///< turns that a search is worth

std::string nonsense(const Json& sample) {
    constexpr std::size_t kShown = 60;
    const std::string text = sample.dump(-1, ' ', false, Json::error_handler_t::replace);
    return "its process answered nonsense: " +
           (text.size() <= kShown ? text : text.substr(0, kShown) + "...");
}

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

Schedule::Schedule(Plan& plan, Workers& workers, Note note)
    : plan_(plan), workers_(workers), note_(std::move(note)) {}

void Schedule::count(CellState& cell, Outcome outcome, double seconds) {
    ++cell.turns;
    cell.seconds += seconds;
    cell.over = outcome != Outcome::done || cell.turns == plan_.repeat;
    spent_[{cell.runner, cell.account}] += seconds;
    hung_[{cell.runner, cell.block}] |= outcome == Outcome::hang;
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
    const Json& seconds = entry.at("seconds");
    if (!seconds.is_number() || seconds < 0 || found->over) {
        throw std::invalid_argument("a turn that nobody takes");
    }
    Outcome outcome = Outcome::done;
    if (entry.contains("failure")) {
        outcome = outcome_named(entry.at("failure").get<std::string>());
        if (outcome != Outcome::hang && outcome != Outcome::crashed && outcome != Outcome::failed) {
            throw std::invalid_argument("a failure that is none");
        }
        plan_.fail(*found, outcome, entry.at("message"));
    } else {
        check_numbers(entry.at("turn"));
        outcome = plan_.add(*found, entry.at("turn"));
    }
    count(*found, outcome, seconds);
}

std::string Schedule::refusal(const CellState& cell) const {
    const auto hung = hung_.find({cell.runner, cell.block});
    if (hung != hung_.end() && hung->second) return "after a hang in this " + plan_.budget_of;
    const auto spent = spent_.find({cell.runner, cell.account});
    if (spent == spent_.end() || spent->second < plan_.budget) return "";
    return "the " + shortest(plan_.budget) + " s that the allocator has for this " +
           plan_.budget_of + " were over";
}

void Schedule::pass_over(CellState& cell, const std::string& why) {
    plan_.pass_over(cell, why);
    cell.over = true;
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
            why.empty() ? take_turn(cell) : pass_over(cell, why);
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
    if (!answer.sample.is_null()) {
        std::optional<Outcome> outcome;
        try {
            check_numbers(answer.sample);
            outcome = plan_.add(cell, answer.sample);
        } catch (const std::exception&) {
            workers_.stop(runner);
            answer.outcome = Outcome::crashed;
            answer.message = nonsense(answer.sample);
        }
        if (outcome) {
            count(cell, *outcome, answer.seconds);
            note_({{"cell", cell.number}, {"seconds", answer.seconds}, {"turn", answer.sample}});
            return;
        }
    }
    plan_.fail(cell, answer.outcome, answer.message);
    count(cell, answer.outcome, answer.seconds);
    note_({{"cell", cell.number},
           {"seconds", answer.seconds},
           {"failure", name(answer.outcome)},
           {"message", answer.message}});
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
