/// @file
/// A document of every verb, with names that no format may take for its own.
#pragma once

#include <string>
#include <vector>

#include "app/measure/workloads/bench_report.h"
#include "app/measure/workloads/sweeps/sweeps.h"
#include "app/report/documents.h"
#include "app/verbs/listing.h"
#include "tests/app/sample_comparison.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {

/// What formats have marks of; 140 characters, so that no line holds it.
inline const std::string kHostile =
    "# 1. *a*|_b_,\"c\"\n\x1b[31m\u009b\r</script><!--&amp; [x](y) `q` $z$ ~^\\{} %d% "
    "a-very--long-word-that-has-no-"
    "blank-in-it-and-does-not-fit-into-a-line";
inline const char* const kHostileName = "</script>|*_x_*,\"&%";

inline Report hostile_report(bool gpu) {
    Report report = sample_report(gpu);
    report.provenance.arguments = {"heapwood", kHostile};
    report.provenance.machine.name = kHostile;
    report.scene_path = kHostile;
    report.results[1].allocator.name = kHostileName;
    report.results[1].message = kHostile;
    report.results[0].built.profile.emplace();
    return report;
}

inline Comparison hostile_comparison() {
    Comparison c = sample_comparison(
        {{done_result("atomicmalloc", 2, 7, false), done_result(kHostileName, 3, 7),
          failed_result("b", Outcome::hang)},
         {failed_result("atomicmalloc", Outcome::pool_exhausted, false),
          done_result(kHostileName, 3, 7), failed_result("b", Outcome::unfinished)}});
    c.common.options.minimal_pool = true;
    c.groups[0].report.results[1].built.allocations.emplace();
    c.groups[0].report.results[1].minimal_pool_bytes = 500;
    c.groups[1].report.results[0].message = kHostile;
    // So many scenes that no line holds their columns.
    for (int i = 0; i < 12; ++i) {
        c.scenes.push_back(c.scenes[0]);
        c.scenes.back().scene_path = "models/" + std::to_string(i) + kHostile;
        for (std::size_t pool = 0; pool < 2; ++pool) {
            c.groups.push_back(c.groups[pool]);
            c.groups.back().scene = c.scenes.size() - 1;
            c.groups.back().report.scene_path = c.scenes.back().scene_path;
        }
    }
    judge(c);
    return c;
}

inline BenchReport sample_bench() {
    BenchReport report;
    report.provenance.arguments = {"heapwood", "bench"};
    report.provenance.date = "2024-02-29T12:00:00Z";
    report.provenance.machine.name = kHostile;
    report.runners = {{.name = "a", .title = "A"},
                      {.name = kHostileName, .title = "B", .full = false}};
    Series swept;
    swept.id = swept.test = "alloc";
    swept.title = "One | request";
    swept.source = kHostile;
    swept.axis = Axis{"bytes", "bytes"};
    swept.metrics = {{"ms", "allocation", "ms", true}, {"range", "range", "1", false}};
    Series single;
    single.id = single.test = "init";
    single.title = "Making";
    single.metrics = {{"init_ms", "making", "ms", true}};
    for (int i = 0; i < 20; ++i) swept.points.push_back({16.0 * (i + 1), {}});
    single.points.push_back({0, {}});
    report.series = {swept, single};
    for (std::size_t s = 0; s < 2; ++s) {
        for (const Point& point : report.series[s].points) {
            for (std::size_t p = 0; p < 2; ++p) {
                BenchCell cell{.series = s, .runner = p, .x = std::nullopt, .task = {}};
                if (s == 0) cell.x = point.x;
                cell.result.outcome = p == 0 ? Outcome::done : Outcome::out_of_memory;
                cell.result.message = p == 0 ? "" : kHostile;
                if (p == 0) {
                    cell.result.metrics["ms"] = {{3}, {1, 2}, {}};
                    cell.result.metrics["init_ms"] = {{3}, {1, 2}, {}};
                    cell.result.metrics["range"] = {{}, {}, {1.5}};
                }
                report.cells.push_back(cell);
            }
        }
    }
    report.asked_for_published = true;
    report.published = {{.series = "alloc",
                         .name = kHostileName,
                         .metric = "ms",
                         .device = "TITAN V",
                         .source = "",
                         .x = {16, 32},
                         .values = {1.5, std::nullopt}}};
    return report;
}

inline ReplayReport sample_replay() {
    ReplayReport report;
    report.trace.path = kHostile;
    report.header = R"({"allocator": "x", "scene": {"path": "|"}})";
    report.callers = 5;
    report.turns = sample_bench();
    report.turns.series.resize(1);
    report.turns.cells.resize(2);
    report.turns.cells[0].result.metrics["callers"].value = {3};
    report.turns.cells[0].result.counts = {.requests = 7, .frees = 6, .failed = 0, .corrupt = 0};
    return report;
}

inline Listing sample_listing() {
    Listing listing;
    ListedAllocator allocator;
    allocator.traits = sample_report().results[1].allocator;
    allocator.traits.name = allocator.traits.title = kHostileName;
    allocator.traits.source = kHostile.c_str();
    allocator.machines = {"cpu", "gpu"};
    listing.allocators = {allocator, allocator};
    listing.machines = {sample_report(true).provenance.machine};
    listing.no_gpu = kHostile;
    return listing;
}

/// One of every verb, and more of `build`.
inline std::vector<Document> sample_documents() {
    return {document_of(hostile_report(false)), document_of(hostile_report(true)),
            document_of(hostile_comparison()),  document_of(sample_bench()),
            document_of(sample_replay()),       document_of(sample_listing())};
}

}  // namespace heapwood::app
