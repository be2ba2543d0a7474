/// @file
/// A build in parts by one process whose machines have the whole scene each, and build cells in
/// turn: all but the decisions on the top goes on in their memory. While a machine builds a cell,
/// the one before is copied to its place in the whole tree.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <vector>

#include "kdtree/cells/scene_part.h"
#include "kdtree/distributed/workers.h"

namespace heapwood::kdtree {

class SceneWorkers final : public Workers {
public:
    /// Milliseconds that the caller's thread has spent on cells.
    struct Times {
        double waiting = 0;  ///< until they were built
        double ordering = 0;
        double copying = 0;
    };

    /// @param parts of the same scene, at least one, each on a machine of its own
    explicit SceneWorkers(std::vector<std::unique_ptr<ScenePart>> parts);

    std::uint32_t parts() const override { return static_cast<std::uint32_t>(parts_.size()); }
    std::vector<Bins> start(const TopStart& start) override;
    std::vector<Bins> divide(std::span<const Decision> decisions) override;
    /// Begins the first cells, each by a thread of its own, which runs until the cell is built.
    void order(const TreeRules& rules, std::vector<CellOrder> cells) override;
    CellResult next(const CellPlace& place, TreeSink& sink) override;

    /// Of the cells since the last order().
    const Times& times() const { return times_; }

private:
    template <class Work>
    std::vector<Bins> on_all(const Work& work);
    void begin(std::size_t cell);

    std::vector<std::unique_ptr<ScenePart>> parts_;
    TreeRules rules_{};
    std::vector<CellOrder> cells_;
    std::size_t next_ = 0;
    Times times_;
    /// The cell that each part builds. The last member: the threads use the others.
    std::vector<std::future<CellResult>> building_;
};

}  // namespace heapwood::kdtree
