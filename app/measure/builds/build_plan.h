/// @file
/// The plan of `compare`: scenes, pools and allocators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/base/pool_size.h"
#include "app/measure/builds/comparison.h"
#include "app/measure/engine/plan.h"
#include "app/measure/engine/scene_copy.h"

namespace heapwood::app {

/// Builds every scene with every pool and allocator. A block is a scene with a pool; the budget is
/// that of an allocator for a scene. The first turn of a cell also counts allocations and verifies.
class BuildPlan final : public Plan {
public:
    /// Reads every scene once, copies it for the processes, and makes the comparison's groups; how
    /// it runs must be there.
    /// @throws UsageError if no machine has a pool as large as one of these; scenes::SceneError.
    BuildPlan(Comparison& comparison, const std::vector<const Backend*>& backends);

    Json identity() const override;
    Json adopted() const override;
    void adopt(const Json& adopted) override;
    Setting setting(const CellState& cell) const override;
    Request request(const CellState& cell) const override;
    std::string label(const CellState& cell) const override;
    Outcome add(const CellState& cell, const Answer& answer) override;
    void pass_over(const CellState& cell, const std::string& why) override;
    /// The smallest pool that is enough, if it was asked for.
    Json search(const CellState& cell, const Probe& probe) override;
    void found(const CellState& cell, const Json& bytes) override;
    void end() override { judge(comparison_); }

private:
    void load_scene(const std::string& path);
    void make_group(std::size_t scene, const std::string& pool);
    const Backend& backend(const CellState& cell) const { return *runners[cell.runner].backend; }
    Group& group(const CellState& cell) const { return comparison_.groups[cell.block]; }
    Result& result(const CellState& cell) const { return group(cell).report.results[cell.runner]; }
    std::uint64_t pool_bytes(const Group& group, const Backend& backend) const;
    Result turn(const CellState& cell, const Answer& answer) const;
    bool enough(const CellState& cell, std::uint64_t bytes, const Probe& probe) const;

    Comparison& comparison_;
    std::map<std::string, PoolSize> pools_;  ///< by Group::pool; the default is not among them
    std::vector<SceneCopy> copies_;          ///< by scene
    std::vector<Setting> settings_;          ///< by scene
};

}  // namespace heapwood::app
