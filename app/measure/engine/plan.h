/// @file
/// A plan of measurements: runners, the cells that they take turns in, and the turns.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/base/json.h"
#include "app/base/outcome.h"
#include "app/measure/engine/runner.h"

namespace heapwood::app {

/// One runner with one case, and how far it is.
struct CellState {
    std::size_t number = 0;   ///< in the results
    std::size_t runner = 0;   ///< number of the runner
    std::size_t block = 0;    ///< the cells of a block take turns with each other
    std::size_t account = 0;  ///< the cells of a runner with the same account share a budget
    double work = 1;          ///< what a turn is expected to cost, in any unit
    unsigned turns = 0;       ///< number of turns taken
    bool over = false;        ///< no turn is left
    bool searched = true;     ///< the search after the turns is over, or there is none
};

/// What a process must have loaded before it can take turns.
struct Setting {
    Json load;            ///< as the worker understands it (worker.h)
    std::string digest;   ///< what the worker must find there
    double seconds = 60;  ///< that starting and loading may take
};

/// What a process is asked for.
struct Request {
    Json work;                     ///< as the worker understands it (worker.h)
    std::uint64_t heap_bytes = 0;  ///< of the pool, for runners with a lasting heap
    bool exact_heap = true;        ///< false: a larger heap will do
};

/// What came of a request; for a turn, also its entry in the journal.
struct Answer {
    Json sample;                      ///< what the worker measured; null if nothing came of it
    Outcome outcome = Outcome::done;  ///< if there is no sample: hang, crashed or failed
    std::string message;              ///< why there is no sample
    double seconds = 0;
};
HEAPWOOD_JSON_OF(Answer, sample, outcome, message, seconds)

/// Thrown out of a wait that a signal has ended.
class Interrupted : public std::runtime_error {
public:
    Interrupted() : std::runtime_error("interrupted") {}
};

/// A request beside the turns, and what is done in words. @throws Interrupted.
using Probe = std::function<Answer(const Request&, const std::string& what)>;

/// What is measured, and where results are gathered.
class Plan {
public:
    virtual ~Plan() = default;

    std::vector<Runner> runners;
    std::vector<CellState> cells;  ///< in the order of their turns, block by block
    unsigned repeat = 1;           ///< turns of a cell
    double time_limit = 0;         ///< seconds that a turn may take
    /// Seconds that a runner has for an account: then no further turn begins.
    double budget = std::numeric_limits<double>::infinity();
    std::string budget_of;  ///< what an account is: "scene", "test"

    /// What a cell's turns and search are still expected to cost, in the unit of CellState::work.
    double work_left(const CellState& cell) const {
        constexpr double kSearch = 20;  // turns that a search is worth
        return cell.work * ((cell.over ? 0 : repeat - cell.turns) + (cell.searched ? 0 : kSearch));
    }

    /// All that a resumed run must have in common with the run that it resumes, beside runners and
    /// repetitions.
    virtual Json identity() const = 0;
    /// What a resumed run takes over from the run that it resumes.
    virtual Json adopted() const { return Json::object(); }
    virtual void adopt(const Json&) {}

    virtual Setting setting(const CellState& cell) const = 0;
    virtual Request request(const CellState& cell) const = 0;
    /// The cell in words, what matters most first.
    virtual std::string label(const CellState& cell) const = 0;

    /// Adds a turn to the results, or why it has no sample. @return what became of the cell, `done`
    /// if of the turn nothing went wrong. @throws std::exception for a sample that is none.
    virtual Outcome add(const CellState& cell, const Answer& answer) = 0;
    /// No further turn of the cell is taken.
    virtual void pass_over(const CellState& cell, const std::string& why) = 0;
    /// Nothing more is done: settles what can be seen only now.
    virtual void end() {}

    /// What is looked for once the turns of a block are over, and is noted in the journal.
    virtual Json search(const CellState&, const Probe&) { return {}; }
    /// Takes over what search() has found. @throws std::exception for what it cannot have found.
    virtual void found(const CellState&, const Json&) {}

protected:
    /// What all runners' processes load at once. @param what as the worker understands it.
    /// @param seconds that this took here.
    Setting loading(const Json& what, const std::string& digest, double seconds) const {
        Setting setting{.load = {{"load", what}}, .digest = digest};
        setting.seconds += 3 * seconds * static_cast<double>(1 + runners.size());
        return setting;
    }
};

}  // namespace heapwood::app
