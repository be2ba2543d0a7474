/// @file
/// Graphs of the families that Winter et al. 2021 took from the 10th DIMACS Implementation
/// Challenge, made by rule. Each follows from its family, number of vertices and seed alone, to the
/// last edge, on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace heapwood::app {

/// A simple graph in CSR: every edge once in each direction, none from a vertex to itself.
struct Graph {
    std::vector<std::uint64_t> first;    ///< by vertex, and behind the last: its first target
    std::vector<std::uint32_t> targets;  ///< in ascending order among those of a vertex

    std::uint32_t vertices() const { return static_cast<std::uint32_t>(first.size() - 1); }
    std::uint32_t degree(std::uint32_t vertex) const {
        return static_cast<std::uint32_t>(first[vertex + 1] - first[vertex]);
    }
};

enum class GraphFamily : std::uint32_t {
    rmat,       ///< R-MAT (Chakrabarti, Zhan and Faloutsos 2004) as Graph500 has it: a power law
    road,       ///< a grid, of whose edges 5 in 8 are there: degrees are 4 at most
    geometric,  ///< points of a square, each with the edges to all within a radius: like a mesh
    uniform,    ///< any two vertices have an edge with the same probability
};

/// What a family is called, in ids and for people.
struct GraphFamilyName {
    GraphFamily family;
    const char* id;
    const char* title;
    std::uint32_t mean_degree;  ///< at most
};

inline constexpr std::array<GraphFamilyName, 4> kGraphFamilies{
    {{GraphFamily::rmat, "rmat", "power law (R-MAT)", 16},
     {GraphFamily::road, "road", "grid like roads", 3},
     {GraphFamily::geometric, "geometric", "random geometric graph", 14},
     {GraphFamily::uniform, "uniform", "uniform random graph", 16}}};

/// A graph of a family. @param vertices at least 2
Graph make_graph(GraphFamily family, std::uint32_t vertices, std::uint64_t seed);

/// The graph of these edges, in any order and direction; those from a vertex to itself are left
/// out, and of several between the same two all but one.
/// @param edges between vertices below `vertices`
Graph graph_of(std::uint32_t vertices,
               const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace heapwood::app
