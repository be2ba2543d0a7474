#include "app/inputs/input.h"

namespace heapwood::app {
namespace {

const Json kOne{{"minimum", 1}};
const Json kWord{{"minimum", 4}};  // the least request

}  // namespace

const Shape<SizesFile>& sizes_shape() {
    static const Shape<SizesFile> shape = [] {
        using Of = SizesFile;
        Shape<Of> all;
        all.field("path", [](const Of& f) { return f.path; })
            .field("digest", [](const Of& f) { return f.digest; })
            .field(
                "requests", [](const Of& f) { return f.requests; }, "", kOne)
            .field(
                "min_bytes", [](const Of& f) { return f.min_bytes; }, "", kWord)
            .field(
                "max_bytes", [](const Of& f) { return f.max_bytes; }, "", kWord);
        return all;
    }();
    return shape;
}

const Shape<GraphFile>& graph_shape() {
    static const Shape<GraphFile> shape = [] {
        using Of = GraphFile;
        Shape<Of> all;
        all.field("path", [](const Of& f) { return f.path; })
            .field(
                "digest", [](const Of& f) { return f.digest; },
                "of the graph: of files with the same edges it is the same")
            .field("vertices", [](const Of& f) { return f.vertices; }, "", {{"minimum", 2}})
            .field(
                "edges", [](const Of& f) { return f.edges; },
                "each of which is there in both directions", kOne)
            .field(
                "greatest_degree", [](const Of& f) { return f.greatest_degree; }, "", kOne)
            .field("array_bytes", [](const Of& f) { return f.array_bytes; },
                   "of the arrays of all vertices", {{"minimum", 32}});
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
