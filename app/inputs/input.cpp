#include "app/inputs/input.h"

namespace heapwood::app {

const Shape<SizesFile>& sizes_shape() {
    static const Shape<SizesFile> shape = [] {
        using Of = SizesFile;
        Shape<Of> all;
        all.field("path", [](const Of& f) { return f.path; })
            .field("digest", [](const Of& f) { return f.digest; })
            .field(
                "requests", [](const Of& f) { return f.requests; }, "", at_least(1))
            .field(
                "min_bytes", [](const Of& f) { return f.min_bytes; }, "", at_least(4))
            .field(
                "max_bytes", [](const Of& f) { return f.max_bytes; }, "", at_least(4));
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
            .field(
                "vertices", [](const Of& f) { return f.vertices; }, "", at_least(2))
            .field(
                "edges", [](const Of& f) { return f.edges; },
                "each of which is there in both directions", at_least(1))
            .field(
                "greatest_degree", [](const Of& f) { return f.greatest_degree; }, "", at_least(1))
            .field(
                "array_bytes", [](const Of& f) { return f.array_bytes; },
                "of the arrays of all vertices", at_least(32));
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
