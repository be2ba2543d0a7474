#include "app/inputs/input.h"

#include "app/measure/builds/result_json.h"

namespace heapwood::app {
namespace {

const Json kOne{{"minimum", 1}};
const Json kWord{{"minimum", 4}};  // the least request

}  // namespace

const Shape<Report>& scene_facts() {
    static const Shape<Report> shape = [] {
        Shape<Report> all = scene_shape();
        all.field("digest", [](const Report& r) { return Digest{r.scene_digest}; })
            .field(
                "root_bytes", [](const Report& r) { return r.root_bytes; },
                "of the root node's primitive array, the unit of pools", kOne);
        return all;
    }();
    return shape;
}

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

const Shape<ReplayReport>& trace_facts() {
    static const Shape<ReplayReport> shape = [] {
        using Of = ReplayReport;
        Shape<Of> all;
        all.field("path", [](const Of& r) { return r.path; })
            .field(
                "callers", [](const Of& r) { return r.callers; }, "", kOne)
            .field(
                "requests", [](const Of& r) { return r.facts.requests; }, "", kOne)
            .field("frees", [](const Of& r) { return r.facts.frees; })
            .field(
                "bytes", [](const Of& r) { return r.facts.bytes; }, "of all requests", kWord)
            .field(
                "largest_bytes", [](const Of& r) { return r.facts.largest; }, "", kWord)
            .field(
                "peak_bytes", [](const Of& r) { return r.facts.peak_bytes; },
                "most that is requested and not yet freed", kWord)
            .field(
                "root_bytes", [](const Of& r) { return r.root_bytes; }, "the unit of pool sizes",
                kWord)
            .field(
                "recorded_ns", [](const Of& r) { return r.facts.nanoseconds; },
                "from the first call to the last, in nanoseconds; null: not recorded")
            .put(
                "header", {{"type", "object"}}, [](const Of& r) { return Json::parse(r.header); },
                "the first line of the trace's file");
        return all;
    }();
    return shape;
}

}  // namespace heapwood::app
