/// @file
/// Where the time of a build went, as a profiling build of the program tells it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace heapwood::kdtree {

/// What a warp is busy with.
enum class Phase : unsigned {
    wait,           ///< for work
    search,         ///< of all planes of a small node
    decide,         ///< on the split of a larger node, from its bins
    allocate,       ///< the children's arrays
    free,           ///< the node's
    divide_small,   ///< the references of a small node among its children
    divide_medium,  ///< and bin them
    divide_large,   ///< a chunk at a time
    chunks,         ///< handing them out and adding up what they bring
    tiny,           ///< all that is done for tiny nodes
    other,          ///< tasks' ways to and from other warps, leaves
};
inline constexpr unsigned kPhases = 11;
/// Their names, for reports.
inline constexpr const char* kPhaseNames[kPhases] = {
    "wait",          "search",       "decide", "allocate", "free", "divide small",
    "divide medium", "divide large", "chunks", "tiny",     "other"};

/// Where the time of a build went, from a profiling build of the program (HEAPWOOD_PROFILE).
struct BuildProfile {
    std::array<double, kPhases> warp_ms{};   ///< by Phase: milliseconds, summed over the warps
    std::array<std::uint64_t, 3> divided{};  ///< references of divided nodes: small, medium, large
    double interval_ms = 0;
    std::vector<double> busy_warps;  ///< how many, by interval, from the build's start to its end
};

}  // namespace heapwood::kdtree
