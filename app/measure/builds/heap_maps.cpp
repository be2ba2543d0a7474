#include "app/base/text.h"
#include "app/measure/builds/build_figure_parts.h"
#include "app/measure/builds/build_parts.h"
#include "app/report/figures/tables.h"

namespace heapwood::app {
namespace {

Cell share_cell(std::uint64_t part, std::uint64_t whole) {
    return shown(static_cast<double>(part) / static_cast<double>(whole), Unit::fraction);
}

}  // namespace

void add_heap_maps(const Report& report, const std::string& of, Document& document) {
    Table table{.title = "Where blocks lie: " + of,
                .columns = {{"allocator"},
                            {"pool", true},
                            {"reach", true},
                            {"reach / pool", true},
                            {"peak: allocated", true},
                            {"allocated / reach", true}},
                .depth = Depth::detailed};
    for (const Result& result : report.results) {
        if (!result.built.heap_map || !result.built.peak) continue;
        const allocators::HeapMap& map = *result.built.heap_map;
        table.rows.push_back({result.allocator.name, shown(result.built.pool_bytes, Unit::bytes),
                              shown(map.reach_bytes, Unit::bytes),
                              share_cell(map.reach_bytes, result.built.pool_bytes),
                              shown(result.built.peak->allocated_bytes, Unit::bytes),
                              share_cell(result.built.peak->allocated_bytes, map.reach_bytes)});
        document.pools.push_back(
            {.table = table.title,
             .title =
                 std::string(result.allocator.name) + ": the first " + bytes_text(map.reach_bytes),
             .pictures = {{"at the peak", map.peak}, {"after the build", map.end}}});
    }
    if (table.rows.empty()) return;
    document.tables.push_back(std::move(table));
}

detail::BuildGroup detail::heap_map_group() {
    using allocators::HeapCells;
    using allocators::HeapMap;
    constexpr auto kMap = [](auto& r) -> auto& {
        return *r.built.heap_map;
    };
    constexpr auto kAtPeak = [](auto& r) -> auto& {
        return r.built.heap_map->peak;
    };
    constexpr auto kAtEnd = [](auto& r) -> auto& {
        return r.built.heap_map->end;
    };
    const Json letters{{"pattern", "^[a-zA-Z.-]{1,2048}$"}};
    const Json digits{{"pattern", "^[0-9]{1,2048}$"}};
    const char* const after = "the same after the build";
    return {
        "/heap_map",
        [](const BuildOf& b) { return b.result.built.heap_map.has_value(); },
        {stored(kMap, &HeapMap::reach_bytes, "heap_reach_bytes", "reach_bytes", "reach",
                Unit::bytes)
             .never_zero()
             .about("from the pool's start to the end of the last block, at the peak or after the "
                    "build"),
         stored(kMap, &HeapMap::cell_bytes, "", "cell_bytes", "cell", Unit::bytes)
             .never_zero()
             .about("of each cell; the last one ends at reach_bytes"),
         stored(kAtPeak, &HeapCells::blocks, "", "peak_blocks", "blocks", Unit::word)
             .with(letters)
             .about("a character a cell, at the peak: letter i of a-zA-Z where blocks of 2^i to "
                    "2^(i+1) - 1 bytes have most of it; a point: no block but free regions; a "
                    "hyphen: no region"),
         stored(kAtPeak, &HeapCells::fill, "", "peak_fill", "fill", Unit::word)
             .with(digits)
             .about("a digit a cell, at the peak: ninths of it that blocks have, rounded up"),
         stored(kAtEnd, &HeapCells::blocks, "", "end_blocks", "blocks", Unit::word)
             .with(letters)
             .about(after),
         stored(kAtEnd, &HeapCells::fill, "", "end_fill", "fill", Unit::word)
             .with(digits)
             .about(after)},
        [](Result& r) { r.built.heap_map.emplace(); },
        "where blocks lie in the pool; null without --heap-map, or where the peak is unknown"};
}

}  // namespace heapwood::app
