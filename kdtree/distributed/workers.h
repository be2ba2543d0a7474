/// @file
/// The workers of a build in parts, whatever they are: threads, or processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kdtree/build_result.h"
#include "kdtree/distributed/top_levels.h"
#include "kdtree/levels/level_input.h"
#include "kdtree/tree/tree.h"
#include "kdtree/tree/tree_sink.h"

namespace heapwood::kdtree {

/// A cell to be built.
struct CellOrder {
    std::uint32_t number;  ///< in TopLevels::cells()
    OpenNode node;
    std::uint64_t budget;  ///< of references of its leaves
};

/// A cell that has been built, or why not. Its references are places in `numbers`.
struct CellTree {
    Status status = Status::done;
    std::string message;
    Tree tree;                           ///< canonical, its root the cell
    std::vector<std::uint32_t> numbers;  ///< of triangles in the whole scene, ascending
};

/// A cell whose tree is in its place, or why not.
struct CellResult {
    Status status = Status::done;
    std::string message = {};
    std::uint64_t nodes = 0;  ///< the root included
    std::uint64_t references = 0;
};

struct CellPlace;

/// Together they hold each triangle of a scene once.
class Workers {
public:
    virtual ~Workers() = default;

    /// How many parts the triangles are in.
    virtual std::uint32_t parts() const = 0;
    /// Makes the root's references; forgets all others. @return the sum of all parts' bins: one for
    /// each open node.
    virtual std::vector<Bins> start(const TopStart& start) = 0;
    /// Divides the open nodes' references. @return the sum of all parts' bins of the next level's.
    virtual std::vector<Bins> divide(std::span<const Decision> decisions) = 0;
    /// Says which cells there are, in the order in which they will be asked for.
    virtual void order(const TreeRules& rules, std::vector<CellOrder> cells) = 0;
    /// Puts the tree of the next cell into its place (cell_place.h), behind all that the sink has.
    /// @throws std::runtime_error if its references are not as many as its node says,
    /// std::invalid_argument if the whole tree has more nodes or references than can be numbered.
    virtual CellResult next(const CellPlace& place, TreeSink& sink) = 0;
};

/// Adds one part's bins to the sum of others', which is empty before the first.
/// @throws std::runtime_error if they are not of the same number of nodes.
void add_bins(std::vector<Bins>& sum, std::span<const Bins> part);

}  // namespace heapwood::kdtree
