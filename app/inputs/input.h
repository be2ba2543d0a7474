/// @file
/// What plans and results say of files that were read, without the files.
#pragma once

#include <cstdint>
#include <string>

#include "app/base/json.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {

/// A trace whose sizes the requests of a live set have.
struct SizesFile {
    std::string path;
    std::string digest;  ///< of TraceFile
    std::uint64_t requests = 0;
    std::uint32_t min_bytes = 0;  ///< of a request
    std::uint32_t max_bytes = 0;
    double seconds = 0;  ///< that reading it took
};

/// A Matrix Market file whose graph the graph tests have.
struct GraphFile {
    std::string path;
    std::string digest;  ///< of Graph
    std::uint32_t vertices = 0;
    std::uint64_t edges = 0;  ///< each of which is there in both directions
    std::uint32_t greatest_degree = 0;
    std::uint64_t array_bytes = 0;  ///< of the arrays of all vertices
    double seconds = 0;             ///< that reading it took
};

/// All but the time that reading took.
HEAPWOOD_JSON_OF(SizesFile, path, digest, requests, min_bytes, max_bytes)
const Shape<SizesFile>& sizes_shape();
HEAPWOOD_JSON_OF(GraphFile, path, digest, vertices, edges, greatest_degree, array_bytes)
const Shape<GraphFile>& graph_shape();

}  // namespace heapwood::app
