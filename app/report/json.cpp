#include <charconv>
#include <nlohmann/json.hpp>

#include "app/backends/allocator_options.h"
#include "app/base/text.h"
#include "app/base/version.h"
#include "app/report/json_parts.h"
#include "app/report/printers.h"
#include "app/report/register_table.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// The version of app/report/schemas/report.schema.json; a reader may rely on it.
constexpr int kSchema = 1;

/// The double nearest to the float's shortest decimal, so that 0.8F is written as 0.8.
double neat(float value) {
    const std::string decimal = shortest(value);
    double result = 0;
    std::from_chars(decimal.data(), decimal.data() + decimal.size(), result);
    return result;
}

Json vector_json(const glm::vec3& v) {
    return Json::array({neat(v.x), neat(v.y), neat(v.z)});
}

/// A figure, or null where it is unknown.
Json known(bool is_known, const Json& value) {
    return is_known ? value : Json();
}

Json build_json(const Report& report, const Result& r) {
    const bool ran = !r.samples.empty();
    const bool gpu = ran && report.machine.gpu;
    Json ms;
    if (ran) {
        const Spread s = spread(r.samples);
        ms = {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"samples", r.samples}};
    }
    const std::optional<double> factor = slowdown(report, r);
    return {{"method", name(r.method)},
            {"allocator", r.allocator.name},
            {"full_allocator", r.allocator.full},
            {"device", report.machine.gpu ? "gpu" : "cpu"},
            {"arrays", known(r.method == Method::single,
                             report.configuration.small_arrays ? "every" : "large")},
            {"pool_bytes", r.pool_bytes},
            {"pool_multiple", r.pool_multiple},
            {"minimal_pool_bytes",
             known(r.minimal_pool_bytes.has_value(), r.minimal_pool_bytes.value_or(0))},
            {"overhead_bytes", known(ran, r.overhead_bytes)},
            {"leaked_bytes", known(ran && r.allocator.walkable, r.leaked_bytes)},
            {"ms", ms},
            {"slowdown", known(factor.has_value(), factor.value_or(0))},
            {"upload_ms", known(gpu, r.upload_ms)},
            {"pool_ms", known(ran, r.pool_ms)},
            {"warps", known(ran && r.warps > 0, r.warps)}};
}

Json memory_json(const kdtree::MemoryUse& m) {
    return {{"pool_bytes", m.pool},
            {"side_tables_bytes", m.side_tables},
            {"triangles_bytes", m.triangles},
            {"nodes_bytes", m.nodes},
            {"references_bytes", m.references},
            {"jobs_bytes", m.jobs},
            {"stacks_bytes", m.stacks},
            {"queue_bytes", m.queue},
            {"levels_bytes", m.levels},
            {"spare_bytes", m.spare},
            {"total_bytes", m.total()}};
}

Json tree_json(const TreeFacts& tree) {
    const kdtree::Quality& q = tree.quality;
    return {{"nodes", q.nodes},
            {"leaves", q.leaves},
            {"empty_leaves", q.empty_leaves},
            {"references", q.references},
            {"references_per_triangle", q.references_per_triangle},
            {"max_depth", q.max_depth},
            {"largest_leaf", q.largest_leaf},
            {"I", q.I},
            {"L", q.L},
            {"P", q.P},
            {"sah", tree.sah},
            {"sah_1_1_5", tree.sah_1_1_5},
            {"digest", hex(tree.digest)},
            {"verified", tree.verified}};
}

Json allocations_json(const allocators::Statistics& s) {
    Json histogram = Json::array();
    for (std::size_t i = 0; i < s.histogram.size(); ++i) {
        if (s.histogram[i] == 0) continue;
        const std::uint64_t from = std::uint64_t{1} << i;
        histogram.push_back(
            {{"from_bytes", from}, {"to_bytes", from + (from - 1)}, {"requests", s.histogram[i]}});
    }
    return {{"requests", s.requests},
            {"frees", s.frees},
            {"failed", s.failed},
            {"mean_bytes", s.mean_bytes},
            {"deviation_bytes", s.deviation_bytes},
            {"peak_live_bytes", s.peak_live_bytes},
            {"histogram", histogram}};
}

/// Of all requests, and of the pool at the end; then of what was live at the peak.
Json fragmentation_json(const Result& r) {
    const double internal = r.allocations ? r.allocations->internal_fragmentation : -1;
    Json peak;
    if (r.peak) {
        const allocators::PeakUse& p = *r.peak;
        peak = {{"live_bytes", p.live_bytes},
                {"allocated_bytes", p.allocated_bytes},
                {"internal", known(p.internal_fragmentation >= 0, p.internal_fragmentation)},
                {"external", known(p.external_fragmentation >= 0, p.external_fragmentation)}};
    }
    return {{"internal", known(internal >= 0, internal)},
            {"external",
             known(r.external_fragmentation.has_value(), r.external_fragmentation.value_or(0))},
            {"peak", peak}};
}

Json registers_json(const Result& r) {
    const Registers kernels = r.kernels.value_or(Registers{});
    return {{"build", r.registers},
            {"spill_bytes", r.spill_bytes},
            {"architecture",
             known(r.kernels.has_value(), "sm_" + std::to_string(kernels.architecture))},
            {"uncoalesced", kernel_json(kernels.uncoalesced)},
            {"coalesced", kernel_json(kernels.coalesced)}};
}

}  // namespace

Json configuration_json(const Report& report) {
    const kdtree::BuildConfig& c = report.configuration;
    return {{"preset", report.preset},
            {"traversal_cost", neat(c.traversal_cost)},
            {"intersection_cost", neat(c.intersection_cost)},
            {"empty_bonus", neat(c.empty_bonus)},
            {"empty_rule", kdtree::name(c.empty_rule)},
            {"leaf_limit", c.leaf_limit},
            {"leaf_area", neat(c.leaf_area)},
            {"depth_base", neat(c.depth_base)},
            {"depth_factor", neat(c.depth_factor)},
            {"bad_split_ratio", neat(c.bad_split_ratio)},
            {"bad_splits", neat(c.bad_splits)},
            {"bad_splits_per_level", neat(c.bad_splits_per_level)},
            {"hopeless_ratio", neat(c.hopeless_ratio)},
            {"exact_limit", c.exact_limit},
            {"planes", c.planes},
            {"tight_cuts", c.tight_cuts},
            {"snap_limit", c.snap_limit},
            {"large_limit", c.large_limit},
            {"chunk", c.chunk},
            {"clip", c.clip},
            {"max_nodes", c.max_nodes},
            {"max_references", c.max_references}};
}

Json provenance_json(const Report& report) {
    const Version& v = version();
    const Machine& m = report.machine;
    return {{"arguments", report.arguments},
            {"version", v.version},
            {"git", v.git},
            {"build_type", v.build_type},
            {"compiler", v.compiler},
            {"cuda", known(*v.cuda != '\0', v.cuda)},
            {"device", m.name},
            {"device_units", m.units},
            {"driver", known(m.gpu, m.driver)},
            {"runtime", known(m.gpu, m.runtime)},
            {"scene_digest", hex(report.scene_digest)},
            {"configuration", configuration_json(report)},
            {"repeat", report.run.repeat},
            {"warm_up", report.run.warm_up},
            {"forms", choices_json(report.run.choices)},
            {"host_pool", keeps_memory(report) ? "on" : "off"},
            {"date", report.date}};
}

Json scene_json(const Report& report) {
    return {
        {"path", report.scene_path},
        {"triangles", report.triangles},
        {"vertices", report.vertices},
        {"degenerate", report.degenerate},
        {"bounds", {{"lo", vector_json(report.bounds.lo)}, {"hi", vector_json(report.bounds.hi)}}}};
}

Json result_json(const Report& report, const Result& r) {
    const bool gpu = !r.samples.empty() && report.machine.gpu && r.method == Method::single;
    return {{"outcome", name(r.outcome)},
            {"message", known(!r.message.empty(), r.message)},
            {"build", build_json(report, r)},
            {"memory", r.samples.empty() ? Json() : memory_json(r.memory)},
            {"tree", r.tree ? tree_json(*r.tree) : Json()},
            {"allocations", r.allocations ? allocations_json(*r.allocations) : Json()},
            {"fragmentation", fragmentation_json(r)},
            {"registers", gpu ? registers_json(r) : Json()},
            {"published_registers", published_registers_json(r.allocator)}};
}

std::string document(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_json(const Report& report) {
    Json results = Json::array();
    for (const Result& result : report.results) results.push_back(result_json(report, result));
    const Json json{{"schema", kSchema},
                    {"provenance", provenance_json(report)},
                    {"scene", scene_json(report)},
                    {"results", results}};
    return document(json);
}

}  // namespace heapwood::app
