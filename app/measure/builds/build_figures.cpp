#include "app/measure/builds/build_figures.h"

#include <bit>
#include <string_view>
#include <type_traits>
#include <utility>

#include "app/base/json.h"
#include "app/base/text.h"

namespace heapwood::app {
namespace {

using BuildFigure = Figure<BuildOf, Result>;
using BuildGroup = FigureGroup<BuildOf, Result>;
using kdtree::MemoryUse;
using kdtree::Quality;

bool always(const BuildOf&) {
    return true;
}

bool ran(const BuildOf& b) {
    return !b.result.samples.empty();
}

/// Whether the single kernel has been at work on a GPU.
bool ran_on_gpu(const BuildOf& b) {
    return ran(b) && b.report.machine.gpu && b.result.method == Method::single;
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// A figure or null; no fraction is negative but one that is unknown.
template <class T>
Json json_from(const T& value, Unit unit) {
    if constexpr (IsOptional<T>::value) {
        return value ? Json(*value) : Json();
    } else {
        return unit == Unit::fraction && value < T() ? Json() : Json(value);
    }
}

/// Null leaves things as they are.
template <class T>
void read_into(T& value, const Json& json) {
    if (json.is_null()) return;
    if constexpr (IsOptional<T>::value) {
        read_into(value.emplace(), json);
    } else if constexpr (std::unsigned_integral<T> && !std::same_as<T, bool>) {
        value = whole_number<T>(json);
    } else {
        json.get_to(value);
    }
}

/// What is stored in a result: the member of the part that `part` finds in one.
template <class Part, class Member>
BuildFigure stored(Part part, Member member, const char* key, const char* name, const char* title,
                   Unit unit, bool (*known)(const BuildOf&) = &always) {
    return {key,
            name,
            title,
            unit,
            [=](const BuildOf& b) {
                return known(b) ? json_from(part(b.result).*member, unit) : Json();
            },
            [=](Result& r, const Json& json) { read_into(part(r).*member, json); }};
}

/// The figure of something of which there is one at least.
BuildFigure never_zero(BuildFigure figure) {
    figure.least = 1;
    return figure;
}

/// A figure that follows from others or is known without JSON.
template <class Get>
BuildFigure derived(const char* key, const char* name, const char* title, Unit unit, Get get) {
    return {key, name, title, unit, [=](const BuildOf& b) { return Json(get(b)); }};
}

constexpr auto kResult = [](auto& r) -> auto& {
    return r;
};
constexpr auto kMemory = [](auto& r) -> auto& {
    return r.memory;
};
constexpr auto kTree = [](auto& r) -> auto& {
    return *r.tree;
};
constexpr auto kQuality = [](auto& r) -> auto& {
    return r.tree->quality;
};
constexpr auto kCounts = [](auto& r) -> auto& {
    return *r.allocations;
};
constexpr auto kPeak = [](auto& r) -> auto& {
    return *r.peak;
};

BuildGroup outcome_group() {
    BuildFigure outcome = derived("outcome", "outcome", "outcome", Unit::word,
                                  [](const BuildOf& b) { return name(b.result.outcome); });
    outcome.set = [](Result& r, const Json& json) {
        r.outcome = outcome_named(json.get<std::string>());
    };
    BuildFigure message =
        stored(kResult, &Result::message, "message", "message", "message", Unit::word);
    message.get = [](const BuildOf& b) {
        return b.result.message.empty() ? Json() : Json(b.result.message);
    };
    return {"", always, {outcome, message}};
}

BuildGroup what_group() {
    return {"/build",
            always,
            {derived("method", "method", "method", Unit::word,
                     [](const BuildOf& b) { return name(b.result.method); }),
             derived("allocator", "allocator", "allocator", Unit::word,
                     [](const BuildOf& b) { return b.result.allocator.name; }),
             derived("full_allocator", "full_allocator", "full", Unit::word,
                     [](const BuildOf& b) { return b.result.allocator.full; }),
             derived("device", "device", "device", Unit::word,
                     [](const BuildOf& b) { return b.report.machine.gpu ? "gpu" : "cpu"; }),
             derived("arrays", "arrays", "arrays", Unit::word,
                     [](const BuildOf& b) {
                         return b.result.method != Method::single     ? Json()
                                : b.report.configuration.small_arrays ? Json("every")
                                                                      : Json("large");
                     }),
             stored(kResult, &Result::pool_bytes, "pool_bytes", "pool_bytes", "pool", Unit::bytes),
             stored(kResult, &Result::pool_multiple, "pool_multiple", "pool_multiple", "multiple",
                    Unit::multiple),
             stored(kResult, &Result::minimal_pool_bytes, "minimal_pool_bytes",
                    "minimal_pool_bytes", "minimal pool", Unit::bytes),
             stored(kResult, &Result::overhead_bytes, "overhead_bytes", "overhead_bytes",
                    "side tables", Unit::bytes, ran),
             stored(kResult, &Result::leaked_bytes, "leaked_bytes", "leaked_bytes", "leaked",
                    Unit::bytes,
                    [](const BuildOf& b) { return ran(b) && b.result.allocator.walkable; })}};
}

BuildGroup times_group() {
    const auto time = [](const char* key, const char* name, const char* title, auto which) {
        return derived(key, name, title, Unit::ms,
                       [=](const BuildOf& b) { return spread(b.result.samples).*which; });
    };
    return {"/build/ms",
            ran,
            {time("ms_median", "median", "T_build ms", &Spread::median),
             time("ms_min", "min", "min", &Spread::min), time("ms_max", "max", "max", &Spread::max),
             stored(kResult, &Result::samples, "ms_samples", "samples", "samples", Unit::ms)}};
}

BuildGroup rest_group() {
    return {"/build",
            always,
            {derived("slowdown", "slowdown", "slowdown", Unit::factor,
                     [](const BuildOf& b) {
                         return json_from(slowdown(b.report, b.result), Unit::factor);
                     }),
             stored(kResult, &Result::upload_ms, "upload_ms", "upload_ms", "upload ms", Unit::ms,
                    [](const BuildOf& b) { return ran(b) && b.report.machine.gpu; }),
             stored(kResult, &Result::pool_ms, "pool_ms", "pool_ms", "pool ms", Unit::ms, ran),
             stored(kResult, &Result::warps, "warps", "warps", "warps", Unit::count,
                    [](const BuildOf& b) { return ran(b) && b.result.warps > 0; })}};
}

BuildGroup memory_group() {
    const auto part = [](const char* key, const char* name, const char* title, auto member) {
        return stored(kMemory, member, key, name, title, Unit::bytes);
    };
    return {
        "/memory",
        ran,
        {part("memory_pool_bytes", "pool_bytes", "pool", &MemoryUse::pool),
         part("memory_side_tables_bytes", "side_tables_bytes", "side tables",
              &MemoryUse::side_tables),
         part("memory_triangles_bytes", "triangles_bytes", "triangles", &MemoryUse::triangles),
         part("memory_nodes_bytes", "nodes_bytes", "nodes", &MemoryUse::nodes),
         part("memory_references_bytes", "references_bytes", "references", &MemoryUse::references),
         part("memory_large_nodes_bytes", "large_nodes_bytes", "large nodes",
              &MemoryUse::large_nodes),
         part("memory_stacks_bytes", "stacks_bytes", "stacks", &MemoryUse::stacks),
         part("memory_queue_bytes", "queue_bytes", "queue", &MemoryUse::queue),
         part("memory_levels_bytes", "levels_bytes", "levels", &MemoryUse::levels),
         part("memory_spare_bytes", "spare_bytes", "spare", &MemoryUse::spare),
         derived("memory_total_bytes", "total_bytes", "memory", Unit::bytes,
                 [](const BuildOf& b) { return b.result.memory.total(); })}};
}

BuildFigure digest_figure() {
    BuildFigure figure = derived("digest", "digest", "digest", Unit::word,
                                 [](const BuildOf& b) { return hex(b.result.tree->digest); });
    figure.set = [](Result& r, const Json& json) {
        r.tree->digest = read_hex(json.get<std::string>());
    };
    return figure;
}

BuildGroup tree_group() {
    const auto figure = [](auto part, auto member, const char* name, const char* title, Unit unit) {
        return stored(part, member, name, name, title, unit);
    };
    return {
        "/tree",
        [](const BuildOf& b) { return b.result.tree.has_value(); },
        {never_zero(figure(kQuality, &Quality::nodes, "nodes", "nodes", Unit::count)),
         never_zero(figure(kQuality, &Quality::leaves, "leaves", "leaves", Unit::count)),
         figure(kQuality, &Quality::empty_leaves, "empty_leaves", "empty leaves", Unit::count),
         figure(kQuality, &Quality::references, "references", "references", Unit::count),
         figure(kQuality, &Quality::references_per_triangle, "references_per_triangle", "N_ref",
                Unit::cost),
         figure(kQuality, &Quality::max_depth, "max_depth", "depth", Unit::count),
         figure(kTree, &TreeFacts::depth_limit, "depth_limit", "depth limit", Unit::count),
         figure(kQuality, &Quality::largest_leaf, "largest_leaf", "largest leaf", Unit::count),
         figure(kQuality, &Quality::I, "I", "I", Unit::cost),
         figure(kQuality, &Quality::L, "L", "L", Unit::cost),
         figure(kQuality, &Quality::P, "P", "P", Unit::cost),
         figure(kTree, &TreeFacts::sah, "sah", "SAH(Ct, Ci)", Unit::cost),
         figure(kTree, &TreeFacts::sah_1_1_5, "sah_1_1_5", "SAH(1, 1.5)", Unit::cost),
         digest_figure(), figure(kTree, &TreeFacts::verified, "verified", "verified", Unit::word)},
        [](Result& r) { r.tree.emplace(); }};
}

BuildFigure histogram_figure() {
    return {"",
            "histogram",
            "histogram",
            Unit::count,
            [](const BuildOf& b) {
                Json bins = Json::array();
                const auto& histogram = b.result.allocations->histogram;
                for (std::size_t i = 0; i < histogram.size(); ++i) {
                    if (histogram[i] == 0) continue;
                    const std::uint64_t from = std::uint64_t{1} << i;
                    bins.push_back({{"from_bytes", from},
                                    {"to_bytes", from + (from - 1)},
                                    {"requests", histogram[i]}});
                }
                return bins;
            },
            [](Result& r, const Json& json) {
                for (const Json& bin : json) {
                    const auto from = whole_number<std::uint64_t>(bin.at("from_bytes"));
                    if (from == 0) throw std::invalid_argument("a bin of requests of 0 bytes");
                    const auto place = static_cast<std::size_t>(std::bit_width(from) - 1);
                    read_into(r.allocations->histogram[place], bin.at("requests"));
                }
            }};
}

BuildGroup allocations_group() {
    using allocators::Statistics;
    const auto figure = [](auto member, const char* name, const char* title, Unit unit) {
        return stored(kCounts, member, name, name, title, unit);
    };
    return {"/allocations",
            [](const BuildOf& b) { return b.result.allocations.has_value(); },
            {figure(&Statistics::requests, "requests", "N_alloc", Unit::count),
             figure(&Statistics::frees, "frees", "frees", Unit::count),
             figure(&Statistics::failed, "failed", "failed", Unit::count),
             figure(&Statistics::mean_bytes, "mean_bytes", "mean B", Unit::size),
             figure(&Statistics::deviation_bytes, "deviation_bytes", "deviation B", Unit::size),
             figure(&Statistics::peak_live_bytes, "peak_live_bytes", "peak live", Unit::bytes),
             histogram_figure()},
            [](Result& r) { r.allocations.emplace(); }};
}

BuildGroup fragmentation_group() {
    BuildFigure internal = derived(
        "internal_fragmentation", "internal", "internal", Unit::fraction, [](const BuildOf& b) {
            return b.result.allocations
                       ? json_from(b.result.allocations->internal_fragmentation, Unit::fraction)
                       : Json();
        });
    internal.set = [](Result& r, const Json& json) {
        if (r.allocations) read_into(r.allocations->internal_fragmentation, json);
    };
    return {"/fragmentation",
            always,
            {internal, stored(kResult, &Result::external_fragmentation, "external_fragmentation",
                              "external", "external", Unit::fraction)}};
}

BuildGroup peak_group() {
    using allocators::PeakUse;
    return {"/fragmentation/peak",
            [](const BuildOf& b) { return b.result.peak.has_value(); },
            {never_zero(stored(kPeak, &PeakUse::live_bytes, "live_bytes_at_peak", "live_bytes",
                               "peak: live", Unit::bytes)),
             never_zero(stored(kPeak, &PeakUse::allocated_bytes, "allocated_bytes_at_peak",
                               "allocated_bytes", "peak: allocated", Unit::bytes)),
             stored(kPeak, &PeakUse::internal_fragmentation, "internal_fragmentation_at_peak",
                    "internal", "peak: internal", Unit::fraction),
             stored(kPeak, &PeakUse::external_fragmentation, "external_fragmentation_at_peak",
                    "external", "peak: external", Unit::fraction)},
            [](Result& r) { r.peak.emplace(); }};
}

BuildGroup heap_map_group() {
    using allocators::HeapCells;
    using allocators::HeapMap;
    constexpr auto kMap = [](auto& r) -> auto& {
        return *r.heap_map;
    };
    constexpr auto kAtPeak = [](auto& r) -> auto& {
        return r.heap_map->peak;
    };
    constexpr auto kAtEnd = [](auto& r) -> auto& {
        return r.heap_map->end;
    };
    return {"/heap_map",
            [](const BuildOf& b) { return b.result.heap_map.has_value(); },
            {stored(kMap, &HeapMap::reach_bytes, "heap_reach_bytes", "reach_bytes", "reach",
                    Unit::bytes),
             stored(kMap, &HeapMap::cell_bytes, "", "cell_bytes", "cell", Unit::bytes),
             stored(kAtPeak, &HeapCells::blocks, "", "peak_blocks", "blocks", Unit::word),
             stored(kAtPeak, &HeapCells::fill, "", "peak_fill", "fill", Unit::word),
             stored(kAtEnd, &HeapCells::blocks, "", "end_blocks", "blocks", Unit::word),
             stored(kAtEnd, &HeapCells::fill, "", "end_fill", "fill", Unit::word)},
            [](Result& r) { r.heap_map.emplace(); }};
}

BuildGroup registers_group() {
    return {"/registers",
            ran_on_gpu,
            {stored(kResult, &Result::registers, "registers", "build", "registers", Unit::count),
             stored(kResult, &Result::spill_bytes, "spill_bytes", "spill_bytes", "local memory",
                    Unit::bytes),
             derived("", "architecture", "compiled for", Unit::word, [](const BuildOf& b) {
                 return b.result.kernels
                            ? Json("sm_" + std::to_string(b.result.kernels->architecture))
                            : Json();
             })}};
}

/// A kernel with one allocation and one deallocation; its columns in CSV begin with its name.
BuildGroup kernel_group(const char* path, std::array<const char*, 4> keys,
                        std::optional<KernelFigures> Registers::*kernel) {
    const auto figure = [=](const char* key, const char* name, unsigned KernelFigures::*member) {
        return derived(key, name, name, Unit::count, [=](const BuildOf& b) {
            return (*b.result.kernels.*kernel).value().*member;
        });
    };
    return {path,
            [=](const BuildOf& b) { return b.result.kernels && *b.result.kernels.*kernel; },
            {figure(keys[0], "registers", &KernelFigures::registers),
             figure(keys[1], "stack_bytes", &KernelFigures::stack_bytes),
             figure(keys[2], "spill_store_bytes", &KernelFigures::spill_store_bytes),
             figure(keys[3], "spill_load_bytes", &KernelFigures::spill_load_bytes)}};
}

BuildGroup published_group() {
    using Published = allocators::PublishedRegisters;
    const auto figure = [](const char* key, const char* name, auto member) {
        return derived(key, name, "published", Unit::count, [=](const BuildOf& b) {
            const auto registers = b.result.allocator.published_registers.*member;
            return registers == 0 ? Json() : Json(registers);
        });
    };
    return {"/published_registers",
            always,
            {figure("published_uncoalesced_registers", "uncoalesced", &Published::uncoalesced),
             figure("published_coalesced_registers", "coalesced", &Published::coalesced)}};
}

}  // namespace

const FigureList<BuildOf, Result>& build_figures() {
    static const FigureList<BuildOf, Result> all{
        outcome_group(),
        what_group(),
        times_group(),
        rest_group(),
        memory_group(),
        tree_group(),
        allocations_group(),
        fragmentation_group(),
        peak_group(),
        heap_map_group(),
        registers_group(),
        kernel_group("/registers/uncoalesced",
                     {"uncoalesced_registers", "uncoalesced_stack_bytes",
                      "uncoalesced_spill_store_bytes", "uncoalesced_spill_load_bytes"},
                     &Registers::uncoalesced),
        kernel_group("/registers/coalesced",
                     {"coalesced_registers", "coalesced_stack_bytes", "coalesced_spill_store_bytes",
                      "coalesced_spill_load_bytes"},
                     &Registers::coalesced),
        published_group()};
    return all;
}

}  // namespace heapwood::app
