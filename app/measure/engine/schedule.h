/// @file
/// In which order turns are taken, and how long the rest takes.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "app/measure/engine/ledger.h"
#include "app/measure/engine/plan.h"

namespace heapwood::app {

/// What came of a request whose answer is none.
Answer nonsense(const std::string& answer);

/// The processes that take the turns.
class Workers {
public:
    virtual ~Workers() = default;

    /// Lets the runner's process begin to load, if it has another setting, and does not wait.
    virtual void prepare(const Runner& runner, const Setting& setting) = 0;
    /// Waits until the runner's process has loaded. ask() tells of failures.
    /// @throws Interrupted.
    virtual void await(const Runner& runner) = 0;
    /// The answer tells of failures. @throws Interrupted.
    virtual Answer ask(const Runner& runner, const Setting& setting, const Request& request,
                       double seconds) = 0;
    /// Ends the runner's process; the next request starts another.
    virtual void stop(const Runner& runner) = 0;
};

/// Takes the turns of a plan that its ledger does not refuse, block by block. Within a block every
/// repetition goes through all cells, so that drift hits all runners alike.
class Schedule {
public:
    /// Told of everything that is done, as replay() takes it.
    using Note = std::function<void(const Json& entry)>;

    Schedule(Plan& plan, Workers& workers, Note note);

    /// Does once more what an earlier run has noted. @throws std::exception for what no run notes.
    void replay(const Json& entry) { ledger_.replay(entry); }

    /// Takes all turns that are left. @throws Interrupted.
    void run();

private:
    using Clock = std::chrono::steady_clock;

    std::size_t run_block(std::size_t first);
    void take_turn(CellState& cell);
    void search(CellState& cell);
    double work_left() const;
    void report_progress(const CellState& cell, const std::string& what) const;

    Plan& plan_;
    Ledger ledger_;
    Workers& workers_;
    Note note_;
    Clock::time_point start_;
    double work_at_start_ = 0;
};

}  // namespace heapwood::app
