#include "app/measure/builds/build_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/base/text.h"
#include "app/base/version.h"
#include "app/measure/builds/build_figures.h"

namespace heapwood::app {
namespace {

/// "24", or with local memory "80 (stack 352 B, spills 888/820 B)": stored and loaded again.
Cell kernel_cell(const std::optional<KernelFigures>& kernel) {
    if (!kernel) return kNoValue;
    std::string memory;
    if (kernel->stack_bytes > 0) memory = "stack " + std::to_string(kernel->stack_bytes) + " B";
    if (kernel->spill_store_bytes + kernel->spill_load_bytes > 0) {
        memory += (memory.empty() ? "" : ", ") + std::string("spills ") +
                  std::to_string(kernel->spill_store_bytes) + "/" +
                  std::to_string(kernel->spill_load_bytes) + " B";
    }
    return {std::to_string(kernel->registers) + (memory.empty() ? "" : " (" + memory + ")"),
            kernel->registers};
}

Cell published_cell(unsigned registers) {
    if (registers == 0) return kNoValue;
    return {std::to_string(registers), registers};
}

}  // namespace

Record build_record(const Report& report, const Result& result) {
    Record record{{"scene", report.scene_path},
                  {"triangles", report.triangles},
                  {"scene_digest", hex(report.scene_digest)},
                  {"device_name", report.provenance.machine.name},
                  {"version", version().version},
                  {"git", version().git},
                  {"host_pool", keeps_memory(report) ? "on" : "off"}};
    append(record, build_figures(), BuildOf{report, result});
    return record;
}

Cell minimal_pool_cell(const Result& result, std::uint64_t root_bytes) {
    if (!result.minimal_pool_bytes) return kNoValue;
    const auto bytes = static_cast<double>(*result.minimal_pool_bytes);
    return {bytes_text(*result.minimal_pool_bytes) + ", " +
                fixed(bytes / static_cast<double>(root_bytes), 2) + "x",
            bytes};
}

Plot slowdown_plot(const Report& report, std::string table, std::string title,
                   std::optional<std::size_t> fastest) {
    const auto done = [](const Result& r) { return r.outcome == Outcome::done; };
    const bool relative =
        std::all_of(report.results.begin(), report.results.end(),
                    [&](const Result& r) { return !done(r) || slowdown(report, r); });
    Plot plot{
        .table = std::move(table), .title = std::move(title), .x = "", .y = relative ? "x" : " ms"};
    if (relative) plot.base = 1;
    for (std::size_t i = 0; i < report.results.size(); ++i) {
        const Result& r = report.results[i];
        Plot::Line line = line_of(r.allocator.name, r.allocator.full);
        line.strong = fastest == i;
        if (done(r)) {
            const double ms = spread(r.built.milliseconds).median;
            const double figure = relative ? *slowdown(report, r) : ms;
            line.points = {{0, figure,
                            (relative ? fixed(figure, 2) + "x" : fixed(ms, 3) + " ms") +
                                deviation_text(r.built.milliseconds) +
                                (relative ? ", " + fixed(ms, 3) + " ms" : "")}};
        } else {
            line.word = word(r.outcome);
        }
        plot.lines.push_back(std::move(line));
    }
    return plot;
}

Table registers_table() {
    return {.title = "Registers (a kernel with one allocation and one deallocation; the build)",
            .columns = {{"allocator"},
                        {"uncoalesced", true},
                        {"published", true},
                        {"coalesced", true},
                        {"published", true},
                        {"build", true},
                        {"compiled for"}}};
}

std::vector<Cell> registers_row(const std::string& label, const allocators::Traits& traits,
                                const std::optional<Registers>& registers) {
    const allocators::PublishedRegisters& published = traits.published_registers;
    const Registers found = registers.value_or(Registers{});
    return {label,
            kernel_cell(found.uncoalesced),
            published_cell(published.uncoalesced),
            kernel_cell(found.coalesced),
            published_cell(published.coalesced),
            kernel_cell(found.build),
            registers ? Cell("sm_" + std::to_string(found.architecture)) : Cell(kNoValue)};
}

Table registers_table(const std::vector<Result>& results) {
    Table table = registers_table();
    for (const Result& r : results) {
        if (r.method != Method::single) continue;
        const std::string name = starred(r.allocator.name, r.allocator.full);
        table.rows.push_back(registers_row(name, r.allocator, r.kernels));
    }
    return table;
}

Remark overlap_remark(std::uint32_t depth_limit, const kdtree::BuildConfig& config) {
    return {"Triangles overlap: below depth " + std::to_string(depth_limit) +
                " the tree would have more than " + std::to_string(config.max_duplication) +
                " references a triangle (--max-duplication), so nodes there are leaves.",
            true};
}

std::optional<Remark> undivided_remark(double tests, std::uint64_t triangles,
                                       const kdtree::BuildConfig& config) {
    constexpr std::uint64_t kFew = 64;
    constexpr float kBadSplits = 12;
    if (triangles <= kFew || tests < static_cast<double>(triangles) / 2) return {};
    std::string text =
        "The tree hardly divides the triangles: a ray through the scene's bounds "
        "takes " +
        grouped(static_cast<std::uint64_t>(std::llround(tests))) +
        " triangle tests on average, and there are " + grouped(triangles) + " triangles.";
    if (config.bad_splits < kBadSplits) {
        text +=
            " Where no single split pays at once, as with triangles along or across one "
            "another, --bad-splits 12 makes some of them nevertheless.";
    }
    return Remark{text, true};
}

}  // namespace heapwood::app
