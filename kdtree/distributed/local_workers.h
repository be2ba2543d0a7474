/// @file
/// A build in parts within one process: threads divide the parts, and cells are built one after
/// another, each by all threads of a CPU or by a GPU. So no more than one cell at a time is in
/// memory, or on the device, beside scene and references.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocators/memory/array_pool.h"
#include "kdtree/distributed/parts.h"
#include "kdtree/distributed/workers.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Where cells are built, and by how many threads.
struct LocalMachine {
    unsigned threads = 0;  ///< 0: one a core
    bool gpu = false;      ///< the current one
};

/// Builds a cell. @param cell whose references these are, of all parts.
/// @throws std::runtime_error if they are too few or too many, or not in order: a part is missing,
/// or was taken twice.
CellTree build_cell(const CellReferences& references, const CellOrder& cell, const TreeRules& rules,
                    float normalisation, const BuildConfig& config, const LocalMachine& machine,
                    allocators::ArrayPool& pool);

class LocalWorkers final : public Workers {
public:
    /// A scene in `parts` ranges of about equal numbers of triangles. Refers to the scene.
    LocalWorkers(const scenes::Scene& scene, float normalisation, std::uint32_t parts,
                 const BuildConfig& config, const LocalMachine& machine);

    std::uint32_t parts() const override { return parts_.count(); }
    std::vector<Bins> start(const TopStart& start) override { return parts_.start(start); }
    std::vector<Bins> divide(std::span<const Decision> decisions) override {
        return parts_.divide(decisions);
    }
    void order(const TreeRules& rules, std::vector<CellOrder> cells) override;
    CellResult next(const CellPlace& place, TreeSink& sink) override;

private:
    float normalisation_;
    BuildConfig config_;
    LocalMachine machine_;
    allocators::ArrayPool pool_;
    Parts parts_;
    TreeRules rules_{};
    std::vector<CellOrder> cells_;
    std::size_t next_ = 0;
};

}  // namespace heapwood::kdtree
