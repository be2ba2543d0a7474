/// @file
/// What a turn at one point of a sweep, or with a trace, is to do.
#pragma once

#include <cstdint>

#include "app/inputs/graph.h"

namespace heapwood::app {

/// The kinds of turns. An iteration is the part that is repeated and timed.
enum class Procedure {
    pairs,          ///< AD: one launch, in which every caller allocates and frees, one by one
    cycle,          ///< ACD: one launch, in which every caller allocates all, then frees all
    probability,    ///< P: `rounds` launches, timed together; then, untimed, all is freed
    allocate,       ///< a launch that allocates; the blocks are touched; a launch that frees
    fragmentation,  ///< the same, `rounds` times: over which addresses blocks are spread
    fill,           ///< allocates until the first refusal, then until all callers were refused
    work,           ///< a launch that allocates and one that frees, timed together
    access,         ///< writes and reads what a launch has allocated
    make,           ///< makes the pool, and resets it
    remains,        ///< AD, then how fragmented it leaves the pool, and what its blocks take
    churn,          ///< a live set, all of which is replaced `rounds` times; then calls are timed
    aged,           ///< the same, then how fragmented the pool is
    graph,          ///< arrays for the edges of a graph's vertices, filled; then all are freed
    updates,        ///< a graph into which batches of edges are inserted, and others deleted
    replay,         ///< replays the trace of the process
};

/// What to do.
struct Task {
    Procedure procedure = Procedure::allocate;
    /// How many lanes of every warp call, the first ones. A CPU's warp has one lane.
    std::uint32_t lanes = 32;
    std::uint32_t callers = 1;   ///< at least 1
    std::uint32_t requests = 1;  ///< of every caller, at least 1; probability: steps in a round
    std::uint32_t rounds = 1;
    std::uint32_t min_bytes = 16;  ///< of a request; multiples of 4, at least 4
    std::uint32_t max_bytes = 16;
    std::uint32_t live = 0;                  ///< of a live set: percent of the pool
    GraphFamily family = GraphFamily::rmat;  ///< of a graph, whose vertices are the callers
    std::uint64_t array_bytes = 0;           ///< of a graph's arrays at most; 0: by its family
    std::uint32_t edges = 0;                 ///< of a batch: at most half of those there could be
    std::uint32_t sources = 0;      ///< how many vertices, side by side, a batch's edges start from
    std::uint32_t held_blocks = 0;  ///< allocated before all, and freed after all
    std::uint32_t held_bytes = 16;  ///< of each of these
    std::uint64_t pool_bytes = 0;
    float threshold = 0;  ///< probability: a step acts if its die in [0, 1) is above
    std::uint64_t seed = 1;
    std::uint32_t iterations = 1;  ///< warm ones, after the cold one
    double budget_ms = 100;        ///< no further iteration begins after this time
    /// Of a replay: how many times as fast as recorded its calls are due; 0: without pauses.
    double pace = 0;
};

/// Whether there is a live set, which is as large as the pool says.
constexpr bool has_live_set(Procedure procedure) {
    return procedure == Procedure::churn || procedure == Procedure::aged;
}

/// Whether there is a graph.
constexpr bool has_graph(Procedure procedure) {
    return procedure == Procedure::graph || procedure == Procedure::updates;
}

/// Whether a caller has at most one block at a time.
constexpr bool one_block_each(Procedure procedure) {
    return procedure == Procedure::pairs || procedure == Procedure::remains ||
           procedure == Procedure::probability;
}

}  // namespace heapwood::app
