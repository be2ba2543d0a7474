/// @file
/// A graph as the program's own memory has it: what the graph of an allocator's arrays must be, and
/// where the edges of batches come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/inputs/graph.h"
#include "scenes/random.h"

namespace heapwood::app {

/// Edges by their sources, as allocators::EdgeBatch has them.
struct EdgeLists {
    std::vector<std::uint32_t> vertices;
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> targets;
};

/// The vertices at which the edges of batches begin: `count` from `begin` on, round the end.
struct SourceRange {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
};

/// A graph whose edges have one direction each, once there were batches.
class GraphModel {
public:
    /// @param seed of the batches
    GraphModel(const Graph& graph, std::uint64_t seed);

    /// Inserts so many edges that are not there, each as likely as any other of the range.
    /// @param edges not more than half of those that there could be
    EdgeLists insert(std::uint32_t edges, SourceRange range);
    /// Deletes so many edges: those of a vertex of the range, each vertex that has any as likely as
    /// any other. @param edges not more than the range has
    EdgeLists remove(std::uint32_t edges, SourceRange range);

    std::uint32_t vertices() const { return static_cast<std::uint32_t>(rows_.size()); }
    std::uint32_t degree(std::uint32_t vertex) const {
        return static_cast<std::uint32_t>(rows_[vertex].size());
    }
    /// Where each vertex's edges begin if all lie in one piece, and behind the last.
    std::vector<std::uint64_t> first() const;

    /// The first vertex whose edges are not these, as a set, in a sentence; nothing if all are.
    /// @param targets in one piece, as first() says; those of a vertex in any order
    std::optional<std::string> difference(std::vector<std::uint32_t> targets) const;

private:
    std::uint32_t source(SourceRange range);
    std::uint32_t below(std::uint64_t bound);

    std::vector<std::vector<std::uint32_t>> rows_;  ///< by vertex: its targets, ascending
    scenes::Random random_;
};

}  // namespace heapwood::app
