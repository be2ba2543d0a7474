#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/report/json_parts.h"

namespace heapwood::app {
namespace {

using Json = nlohmann::ordered_json;

/// Where null stands for what is unknown or does not apply: `otherwise`.
template <class T>
T known(const Json& json, T otherwise) {
    return json.is_null() ? otherwise : json.get<T>();
}

/// The same where that is nothing.
template <class T>
std::optional<T> optional(const Json& json) {
    if (json.is_null()) return std::nullopt;
    return json.get<T>();
}

std::uint64_t digest(const Json& json) {
    const auto text = json.get<std::string>();
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
    if (error != std::errc() || stop != end) throw std::invalid_argument("no digest: " + text);
    return value;
}

void read_build(const Json& build, const Backend& backend, Result& r) {
    if (build.at("allocator") != backend.traits.name ||
        build.at("method") != name(backend.method)) {
        throw std::invalid_argument("the result of another allocator");
    }
    build.at("pool_bytes").get_to(r.pool_bytes);
    build.at("pool_multiple").get_to(r.pool_multiple);
    r.minimal_pool_bytes = optional<std::uint64_t>(build.at("minimal_pool_bytes"));
    r.overhead_bytes = known<std::uint64_t>(build.at("overhead_bytes"), 0);
    r.leaked_bytes = known<std::uint64_t>(build.at("leaked_bytes"), 0);
    if (!build.at("ms").is_null()) build.at("ms").at("samples").get_to(r.samples);
    r.upload_ms = known(build.at("upload_ms"), 0.0);
    r.pool_ms = known(build.at("pool_ms"), 0.0);
    r.warps = known(build.at("warps"), 0U);
}

kdtree::MemoryUse read_memory(const Json& json) {
    return {.pool = json.at("pool_bytes"),
            .side_tables = json.at("side_tables_bytes"),
            .triangles = json.at("triangles_bytes"),
            .nodes = json.at("nodes_bytes"),
            .references = json.at("references_bytes"),
            .jobs = json.at("jobs_bytes"),
            .stacks = json.at("stacks_bytes"),
            .queue = json.at("queue_bytes"),
            .levels = json.at("levels_bytes"),
            .spare = json.at("spare_bytes")};
}

TreeFacts read_tree(const Json& json) {
    return {.quality = {.nodes = json.at("nodes"),
                        .leaves = json.at("leaves"),
                        .empty_leaves = json.at("empty_leaves"),
                        .references = json.at("references"),
                        .references_per_triangle = json.at("references_per_triangle"),
                        .max_depth = json.at("max_depth"),
                        .largest_leaf = json.at("largest_leaf"),
                        .I = json.at("I"),
                        .L = json.at("L"),
                        .P = json.at("P")},
            .sah = json.at("sah"),
            .sah_1_1_5 = json.at("sah_1_1_5"),
            .digest = digest(json.at("digest")),
            .verified = json.at("verified")};
}

allocators::Statistics read_allocations(const Json& json) {
    allocators::Statistics s;
    json.at("requests").get_to(s.requests);
    json.at("frees").get_to(s.frees);
    json.at("failed").get_to(s.failed);
    json.at("mean_bytes").get_to(s.mean_bytes);
    json.at("deviation_bytes").get_to(s.deviation_bytes);
    json.at("peak_live_bytes").get_to(s.peak_live_bytes);
    for (const Json& bin : json.at("histogram")) {
        const auto from = bin.at("from_bytes").get<std::uint64_t>();
        if (from == 0) throw std::invalid_argument("a histogram of nothing");
        bin.at("requests").get_to(s.histogram[static_cast<std::size_t>(std::bit_width(from) - 1)]);
    }
    return s;
}

void read_fragmentation(const Json& json, Result& r) {
    if (r.allocations) r.allocations->internal_fragmentation = known(json.at("internal"), -1.0);
    r.external_fragmentation = optional<double>(json.at("external"));
    const Json& peak = json.at("peak");
    if (peak.is_null()) return;
    r.peak = {.live_bytes = peak.at("live_bytes"),
              .allocated_bytes = peak.at("allocated_bytes"),
              .internal_fragmentation = known(peak.at("internal"), -1.0),
              .external_fragmentation = known(peak.at("external"), -1.0)};
}

}  // namespace

Result read_result(const Json& json, const Backend& backend) {
    Result r;
    r.method = backend.method;
    r.allocator = backend.traits;
    r.outcome = outcome_named(json.at("outcome").get<std::string>());
    r.message = known<std::string>(json.at("message"), "");
    read_build(json.at("build"), backend, r);
    if (!json.at("memory").is_null()) r.memory = read_memory(json.at("memory"));
    if (!json.at("tree").is_null()) r.tree = read_tree(json.at("tree"));
    if (!json.at("allocations").is_null()) r.allocations = read_allocations(json.at("allocations"));
    read_fragmentation(json.at("fragmentation"), r);
    const Json& registers = json.at("registers");
    if (!registers.is_null()) {
        registers.at("build").get_to(r.registers);
        registers.at("spill_bytes").get_to(r.spill_bytes);
    }
    if (r.outcome == Outcome::done && (r.samples.empty() || !r.tree)) {
        throw std::invalid_argument("a finished build without a time or a tree");
    }
    return r;
}

}  // namespace heapwood::app
