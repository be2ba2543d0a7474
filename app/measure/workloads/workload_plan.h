/// @file
/// The plan of `bench` and `replay`: the cells of a BenchReport.
#pragma once

#include <string>

#include "app/measure/engine/plan.h"
#include "app/measure/workloads/bench_report.h"

namespace heapwood::app {

/// Runs the tasks of all cells that have no outcome. A block is a test, and so is an account.
class WorkloadPlan final : public Plan {
public:
    /// @param report has runners, series and cells. @param trace that is replayed, and gets the
    /// pool of the run that is resumed; nullptr: of bench
    explicit WorkloadPlan(BenchReport& report, ReplayedTrace* trace = nullptr);

    Json identity() const override;
    Json adopted() const override;
    void adopt(const Json& adopted) override;
    Setting setting(const CellState& cell) const override;
    Request request(const CellState& cell) const override;
    std::string label(const CellState& cell) const override;
    Outcome add(const CellState& cell, const Answer& answer) override;
    void pass_over(const CellState& cell, const std::string& why) override;
    /// Cells that no turn has come to were interrupted; overwritten blocks and errors are told.
    void end() override;

private:
    BenchReport& report_;
    ReplayedTrace* trace_;
};

}  // namespace heapwood::app
