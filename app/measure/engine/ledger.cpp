#include "app/measure/engine/ledger.h"

#include <algorithm>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// Samples have numbers from 0 on, which fit into 63 bits: a conversion would take -1 for a huge
/// number. @throws std::invalid_argument for others.
void check_numbers(const Json& sample) {
    constexpr double kMost = 9e18;
    for (const Json& value : sample) {
        if (value.is_structured()) check_numbers(value);
        if (!value.is_number()) continue;
        const auto number = value.get<double>();
        if (!(number >= 0 && number <= kMost)) {
            throw std::invalid_argument("a figure of " + dumped(value));
        }
    }
}

}  // namespace

void Ledger::add(CellState& cell, const Answer& answer) {
    check_numbers(answer.sample);
    const Outcome outcome = plan_.add(cell, answer);
    ++cell.turns;
    cell.over = outcome != Outcome::done || cell.turns == plan_.repeat;
    spent_[{cell.runner, cell.account}] += answer.seconds;
    if (outcome == Outcome::hang) hung_.insert({cell.runner, cell.block});
}

const CellState& Ledger::replay(const Json& entry) {
    const Json& number = entry.at("cell");
    const auto found = std::find_if(plan_.cells.begin(), plan_.cells.end(),
                                    [&](const CellState& cell) { return number == cell.number; });
    if (found == plan_.cells.end()) throw std::invalid_argument("a cell that is not there");
    if (entry.contains("found")) {
        plan_.found(*found, entry.at("found"));
        found->searched = true;
        return *found;
    }
    const Answer answer = entry.at("turn");
    const bool failed = answer.sample.is_null();
    if (answer.seconds < 0 || found->over || failed != (answer.outcome != Outcome::done) ||
        (failed && !can_end(of_process, answer.outcome))) {
        throw std::invalid_argument("a turn that nobody takes");
    }
    add(*found, answer);
    return *found;
}

std::string Ledger::refusal(const CellState& cell) const {
    if (hung_.contains({cell.runner, cell.block})) return "after a hang in this " + plan_.budget_of;
    const auto spent = spent_.find({cell.runner, cell.account});
    if (spent == spent_.end() || spent->second < plan_.budget) return "";
    return "the " + shortest(plan_.budget) + " s that the allocator has for this " +
           plan_.budget_of + " were over";
}

void Ledger::pass_over(CellState& cell, const std::string& why) {
    plan_.pass_over(cell, why);
    cell.over = true;
}

}  // namespace heapwood::app
