#include "app/measure/builds/build_figures.h"

#include <array>
#include <bit>

#include "app/base/text.h"
#include "app/measure/builds/build_figure_parts.h"
#include "app/report/figures/shape.h"

namespace heapwood::app {
namespace {

using namespace detail;

BuildGroup outcome_group() {
    BuildFigure outcome =
        choice("outcome", outcome_names(of_build | of_workload | of_process | of_cell),
               [](const BuildOf& b) { return name(b.result.outcome); });
    outcome.set = [](Result& r, const Json& json) {
        r.outcome = outcome_named(json.get<std::string>());
    };
    BuildFigure message = derived("message", "message", "message", Unit::word,
                                  [](const BuildOf& b) { return text_or_none(b.result.message); });
    message.set = [](Result& r, const Json& json) { read_into(r.message, json); };
    return {"", {}, {outcome, message.about("why, if not done")}};
}

BuildGroup what_group() {
    const auto arrays = [](const BuildOf& b) -> std::optional<const char*> {
        if (b.result.method != Method::single) return {};
        return b.report.options.config.small_arrays ? "every" : "large";
    };
    const auto growth = [](const char* name, const char* title, Unit unit, auto member) {
        using T = std::decay_t<decltype(kdtree::PoolGrowth().*member)>;
        return derived(name, name, title, unit,
                       [=](const BuildOf& b) {
                           const auto& found = b.result.built.growth;
                           return found ? std::optional<T>((*found).*member) : std::nullopt;
                       })
            .newer();
    };
    return {
        "/build",
        {},
        {choice("method", kMethods, [](const BuildOf& b) { return name(b.result.method); })
             .about("one kernel that allocates; level by level, without an allocator"),
         derived("allocator", "allocator", "allocator", Unit::word,
                 [](const BuildOf& b) { return b.result.allocator.name; })
             .about("levels, where the method has none"),
         derived("full_allocator", "full_allocator", "full", Unit::word,
                 [](const BuildOf& b) { return b.result.allocator.full; })
             .about("false: memory returns with the whole pool, or in ring order, only"),
         choice("device", kDevices,
                [](const BuildOf& b) { return b.report.provenance.machine.kind(); }),
         choice("arrays", Json{"every", "large", nullptr}, arrays)
             .about("which of the nodes' arrays come from the allocator, if there is one"),
         stored(kBuilt, &MeasuredBuild::pool_bytes, "pool_bytes", "pool_bytes", "pool",
                Unit::bytes),
         derived("pool_multiple", "pool_multiple", "multiple", Unit::multiple,
                 [](const BuildOf& b) { return pool_multiple(b.report, b.result); })
             .about("of the root node's primitive array"),
         growth("pool_growths", "growths", Unit::count, &kdtree::PoolGrowth::times)
             .about("how often the pool grew while a build ran; null: it could not"),
         growth("pool_grown_bytes", "grown by", Unit::bytes, &kdtree::PoolGrowth::bytes)
             .about("of pool_bytes, what came by that"),
         stored(kResult, &Result::minimal_pool_bytes, "minimal_pool_bytes", "minimal_pool_bytes",
                "minimal pool", Unit::bytes)
             .never_zero()
             .about("the smallest pool with which it builds, if --minimal-pool was given"),
         stored(kBuilt, &MeasuredBuild::overhead_bytes, "overhead_bytes", "overhead_bytes",
                "side tables", Unit::bytes, ran)
             .about("side tables of the allocator"),
         stored(kBuilt, &MeasuredBuild::leaked_bytes, "leaked_bytes", "leaked_bytes", "leaked",
                Unit::bytes, [](const BuildOf& b) { return ran(b) && b.result.allocator.walkable; })
             .about("still allocated after the build")}};
}

BuildGroup times_group() {
    const auto time = [](const char* key, const char* name, const char* title, auto which) {
        return derived(key, name, title, Unit::ms, [=](const BuildOf& b) {
            return spread(b.result.built.milliseconds).*which;
        });
    };
    return {
        "/build/ms",
        ran,
        {time("ms_median", "median", "T_build ms", &Spread::median),
         time("ms_min", "min", "min", &Spread::min), time("ms_max", "max", "max", &Spread::max),
         stored(kBuilt, &MeasuredBuild::milliseconds, "ms_samples", "samples", "samples", Unit::ms)
             .with({{"minItems", 1}})},
        {},
        "milliseconds of the build kernel, or of all kernels (GPU) or of the build by the "
        "steady clock (CPU)"};
}

BuildGroup rest_group() {
    return {
        "/build",
        {},
        {derived("slowdown", "slowdown", "slowdown", Unit::factor,
                 [](const BuildOf& b) { return slowdown(b.report, b.result); })
             .about("over atomicmalloc in the same run"),
         stored(kBuilt, &MeasuredBuild::upload_ms, "upload_ms", "upload_ms", "upload ms", Unit::ms,
                [](const BuildOf& b) { return ran(b) && b.report.provenance.machine.gpu; }),
         stored(kBuilt, &MeasuredBuild::pool_ms, "pool_ms", "pool_ms", "pool ms", Unit::ms, ran),
         stored(kBuilt, &MeasuredBuild::warps, "warps", "warps", "warps", Unit::count,
                [](const BuildOf& b) { return ran(b) && b.result.built.warps > 0; })
             .about("resident warps, or threads")}};
}

BuildGroup memory_group() {
    const auto part = [](const char* key, const char* name, const char* title, auto member,
                         const char* about = "") {
        const BuildFigure bytes = stored(kMemory, member, key, name, title, Unit::bytes);
        return *about == '\0' ? bytes : bytes.about(about);
    };
    return {
        "/memory",
        ran,
        {part("memory_pool_bytes", "pool_bytes", "pool", &MemoryUse::pool, "the allocator's"),
         part("memory_side_tables_bytes", "side_tables_bytes", "side tables",
              &MemoryUse::side_tables, "the allocator's"),
         part("memory_triangles_bytes", "triangles_bytes", "triangles", &MemoryUse::triangles),
         part("memory_nodes_bytes", "nodes_bytes", "nodes", &MemoryUse::nodes,
              "of the tree, as many as there is room for"),
         part("memory_references_bytes", "references_bytes", "references", &MemoryUse::references,
              "of the leaves, as many as there is room for"),
         part("memory_large_nodes_bytes", "large_nodes_bytes", "large nodes",
              &MemoryUse::large_nodes),
         part("memory_stacks_bytes", "stacks_bytes", "stacks", &MemoryUse::stacks, "of the warps"),
         part("memory_queue_bytes", "queue_bytes", "queue", &MemoryUse::queue,
              "with the build's counters"),
         part("memory_levels_bytes", "levels_bytes", "levels", &MemoryUse::levels,
              "arrays of two levels, by the method levels"),
         part("memory_spare_bytes", "spare_bytes", "spare", &MemoryUse::spare,
              "held by the host pool beyond these"),
         derived("memory_total_bytes", "total_bytes", "memory", Unit::bytes,
                 [](const BuildOf& b) { return b.result.built.memory.total(); })},
        {},
        "bytes of everything that the build took, at its peak"};
}

BuildFigure digest_figure() {
    BuildFigure figure = derived("digest", "digest", "digest", Unit::word,
                                 [](const BuildOf& b) { return Digest{b.result.tree->digest}; });
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
        {figure(kQuality, &Quality::nodes, "nodes", "nodes", Unit::count).never_zero(),
         figure(kQuality, &Quality::leaves, "leaves", "leaves", Unit::count).never_zero(),
         figure(kQuality, &Quality::empty_leaves, "empty_leaves", "empty leaves", Unit::count),
         figure(kQuality, &Quality::references, "references", "references", Unit::count),
         figure(kQuality, &Quality::references_per_triangle, "references_per_triangle", "N_ref",
                Unit::cost),
         figure(kQuality, &Quality::max_depth, "max_depth", "depth", Unit::count),
         figure(kBuilt, &MeasuredBuild::depth_limit, "depth_limit", "depth limit", Unit::count),
         figure(kQuality, &Quality::largest_leaf, "largest_leaf", "largest leaf", Unit::count),
         figure(kQuality, &Quality::I, "I", "I", Unit::cost)
             .about("inner nodes that a random ray visits"),
         figure(kQuality, &Quality::L, "L", "L", Unit::cost).about("leaves"),
         figure(kQuality, &Quality::P, "P", "P", Unit::cost).about("triangle tests"),
         figure(kTree, &TreeFacts::sah, "sah", "SAH(Ct, Ci)", Unit::cost).about("Ct I + Ci P"),
         figure(kTree, &TreeFacts::sah_1_1_5, "sah_1_1_5", "SAH(1, 1.5)", Unit::cost)
             .about("I + 1.5 P"),
         digest_figure(), figure(kTree, &TreeFacts::verified, "verified", "verified", Unit::word)},
        [](Result& r) { r.tree.emplace(); }};
}

/// How many requests were of a size from 2^place bytes on, below twice that.
struct Bin {
    std::size_t place = 0;
    std::uint64_t requests = 0;

    std::uint64_t from() const { return std::uint64_t{1} << place; }
};

BuildFigure histogram_figure() {
    Shape<Bin> shape;
    shape.field("from_bytes", [](const Bin& bin) { return bin.from(); })
        .field("to_bytes", [](const Bin& bin) { return bin.from() + (bin.from() - 1); })
        .field(
            "requests", [](const Bin& bin) { return bin.requests; }, "", at_least(1));
    return {"",
            "histogram",
            "histogram",
            Unit::count,
            array_schema(shape.schema()),
            [shape](const BuildOf& b) {
                Json bins = Json::array();
                const auto& histogram = b.result.built.allocations->histogram;
                for (std::size_t i = 0; i < histogram.size(); ++i) {
                    if (histogram[i] > 0) bins.push_back(shape.json({i, histogram[i]}));
                }
                return bins;
            },
            [](Result& r, const Json& json) {
                for (const Json& bin : json) {
                    const auto from = whole_number<std::uint64_t>(bin.at("from_bytes"));
                    if (from == 0) throw std::invalid_argument("a bin of requests of 0 bytes");
                    const auto place = static_cast<std::size_t>(std::bit_width(from) - 1);
                    read_into(r.built.allocations->histogram[place], bin.at("requests"));
                }
            }};
}

BuildGroup allocations_group() {
    using allocators::Statistics;
    const auto figure = [](auto member, const char* name, const char* title, Unit unit) {
        return stored(kCounts, member, name, name, title, unit);
    };
    return {"/allocations",
            [](const BuildOf& b) { return b.result.built.allocations.has_value(); },
            {figure(&Statistics::requests, "requests", "N_alloc", Unit::count),
             figure(&Statistics::frees, "frees", "frees", Unit::count),
             figure(&Statistics::failed, "failed", "failed", Unit::count),
             figure(&Statistics::mean_bytes, "mean_bytes", "mean B", Unit::size),
             figure(&Statistics::deviation_bytes, "deviation_bytes", "deviation B", Unit::size),
             figure(&Statistics::peak_live_bytes, "peak_live_bytes", "peak live", Unit::bytes),
             histogram_figure()},
            [](Result& r) { r.built.allocations.emplace(); }};
}

BuildGroup fragmentation_group() {
    BuildFigure internal = derived("internal_fragmentation", "internal", "internal", Unit::fraction,
                                   [](const BuildOf& b) -> std::optional<double> {
                                       if (!b.result.built.allocations) return {};
                                       const double fraction =
                                           b.result.built.allocations->internal_fragmentation;
                                       return fraction < 0 ? std::nullopt : std::optional(fraction);
                                   });
    internal.set = [](Result& r, const Json& json) {
        if (r.built.allocations) read_into(r.built.allocations->internal_fragmentation, json);
    };
    return {"/fragmentation",
            {},
            {internal.about("mean over all requests; null: unknown"),
             stored(kBuilt, &MeasuredBuild::external_fragmentation, "external_fragmentation",
                    "external", "external", Unit::fraction)
                 .about("of the pool after the build; null: unknown")}};
}

BuildGroup peak_group() {
    using allocators::PeakUse;
    return {"/fragmentation/peak",
            [](const BuildOf& b) { return b.result.built.peak.has_value(); },
            {stored(kPeak, &PeakUse::live_bytes, "live_bytes_at_peak", "live_bytes", "peak: live",
                    Unit::bytes)
                 .never_zero()
                 .about("asked for and not yet freed at that moment"),
             stored(kPeak, &PeakUse::allocated_bytes, "allocated_bytes_at_peak", "allocated_bytes",
                    "peak: allocated", Unit::bytes)
                 .never_zero()
                 .about("of the pool, in allocated regions"),
             stored(kPeak, &PeakUse::internal_fragmentation, "internal_fragmentation_at_peak",
                    "internal", "peak: internal", Unit::fraction)
                 .about("mean over the live blocks; null: unknown"),
             stored(kPeak, &PeakUse::external_fragmentation, "external_fragmentation_at_peak",
                    "external", "peak: external", Unit::fraction)
                 .about("null: unknown")},
            [](Result& r) { r.built.peak.emplace(); },
            "the pool when most was live in it; null: unknown"};
}

BuildGroup registers_group() {
    const auto architecture = [](const BuildOf& b) -> std::optional<std::string> {
        if (!b.result.kernels) return {};
        return architecture_name(b.result.kernels->architecture);
    };
    return {
        "/registers",
        ran_on_gpu,
        {stored(kBuilt, &MeasuredBuild::registers, "registers", "build", "registers", Unit::count)
             .about("registers of the build kernel, by the CUDA runtime"),
         stored(kBuilt, &MeasuredBuild::spill_bytes, "spill_bytes", "spill_bytes", "local memory",
                Unit::bytes)
             .about("local memory of the build kernel, by the CUDA runtime"),
         derived("", "architecture", "compiled for", Unit::word, architecture)
             .with({{"pattern", kArchitecturePattern}})
             .about("for which the kernels below were compiled")},
        {},
        "per thread; null on a CPU"};
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
            {figure(keys[0], "registers", &KernelFigures::registers).never_zero(),
             figure(keys[1], "stack_bytes", &KernelFigures::stack_bytes),
             figure(keys[2], "spill_store_bytes", &KernelFigures::spill_store_bytes),
             figure(keys[3], "spill_load_bytes", &KernelFigures::spill_load_bytes)},
            {},
            "one allocation and one deallocation, by the compiler, per thread"};
}

BuildGroup published_group() {
    using Published = allocators::PublishedRegisters;
    const auto figure = [](const char* key, const char* name, auto member) {
        return derived(key, name, "published", Unit::count,
                       [=](const BuildOf& b) {
                           const unsigned registers =
                               b.result.allocator.published_registers.*member;
                           return registers == 0 ? std::nullopt : std::optional(registers);
                       })
            .never_zero();
    };
    return {"/published_registers",
            {},
            {figure("published_uncoalesced_registers", "uncoalesced", &Published::uncoalesced),
             figure("published_coalesced_registers", "coalesced", &Published::coalesced)},
            {},
            "of a kernel with one allocation and one deallocation; null: unknown"};
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
