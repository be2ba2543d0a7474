/// @file
/// What turns have come to: which cells of a plan are over, and which runner has used its budget
/// up.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "app/measure/engine/plan.h"

namespace heapwood::app {

/// Adds turns to a plan's results, new ones and those that an earlier run has
/// noted. A cell whose turn fails has no further one. A runner that hung is passed over until
/// the block is done, and one that has used its budget up, for the rest of the account: cells
/// without a turn are skipped, others have fewer samples.
class Ledger {
public:
    explicit Ledger(Plan& plan) : plan_(plan) {}

    /// Adds a turn to the cell's results.
    /// @throws std::exception for a sample that is none.
    void add(CellState& cell, const Answer& answer);

    /// Does once more what an entry of a journal says. @return its cell.
    /// @throws std::exception for what no run notes.
    const CellState& replay(const Json& entry);

    /// Why no further turn of the cell begins; empty: one does.
    std::string refusal(const CellState& cell) const;

    /// No further turn of the cell is taken.
    void pass_over(CellState& cell, const std::string& why);

private:
    Plan& plan_;
    std::map<std::pair<std::size_t, std::size_t>, double> spent_;  ///< by runner and account
    std::set<std::pair<std::size_t, std::size_t>> hung_;           ///< runner and block
};

}  // namespace heapwood::app
