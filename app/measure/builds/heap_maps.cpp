#include "app/base/text.h"
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
        if (!result.heap_map || !result.peak) continue;
        const allocators::HeapMap& map = *result.heap_map;
        table.rows.push_back({result.allocator.name, shown(result.pool_bytes, Unit::bytes),
                              shown(map.reach_bytes, Unit::bytes),
                              share_cell(map.reach_bytes, result.pool_bytes),
                              shown(result.peak->allocated_bytes, Unit::bytes),
                              share_cell(result.peak->allocated_bytes, map.reach_bytes)});
        document.pools.push_back(
            {.table = table.title,
             .title =
                 std::string(result.allocator.name) + ": the first " + bytes_text(map.reach_bytes),
             .pictures = {{"at the peak", map.peak}, {"after the build", map.end}}});
    }
    if (table.rows.empty()) return;
    document.tables.push_back(std::move(table));
}

}  // namespace heapwood::app
