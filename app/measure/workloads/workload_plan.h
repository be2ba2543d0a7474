/// @file
/// The plan of `bench` and `replay`: the cells of a BenchReport.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/measure/engine/plan.h"
#include "app/measure/workloads/bench_report.h"

namespace heapwood::app {

/// The trace that is replayed.
struct ReplayedTrace {
    std::string path;
    std::string digest;            ///< of TraceFile
    double seconds = 0;            ///< that reading the trace took
    double pace = 0;               ///< Task::pace
    std::string pool;              ///< as asked for, or "default"
    std::uint64_t pool_bytes = 0;  ///< of that pool with this trace
};

/// Runs the tasks of all cells that have no outcome. A block is a test, and so is an account.
class WorkloadPlan final : public Plan {
public:
    /// @param report has runners, series and cells.
    explicit WorkloadPlan(BenchReport& report, std::optional<ReplayedTrace> trace = std::nullopt);

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

    /// The pool of a replay, which may be that of the run that is resumed.
    std::uint64_t pool_bytes() const { return trace_ ? trace_->pool_bytes : 0; }

private:
    BenchReport& report_;
    std::optional<ReplayedTrace> trace_;
};

}  // namespace heapwood::app
