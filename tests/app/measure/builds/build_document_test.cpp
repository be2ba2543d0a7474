/// @file
/// What the document of a build says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/measure/builds/build_figures.h"
#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {
namespace {

/// The column of CSV with that heading, row by row.
std::vector<std::string> column(const Document& document, const std::string& heading) {
    const Table& table = document.records;
    std::vector<std::string> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if (table.columns[c].title != heading) continue;
        for (const auto& row : table.rows) cells.push_back(row[c].text);
    }
    return cells;
}

using Cells = std::vector<std::string>;

/// The row of the table with that title that begins with `name`.
Cells row(const Document& document, const std::string& title, const std::string& name) {
    for (const Table& table : document.tables) {
        if (table.title != title) continue;
        for (const auto& cells : table.rows) {
            if (cells[0].text != name) continue;
            Cells texts;
            for (std::size_t i = 1; i < cells.size(); ++i) texts.push_back(cells[i].text);
            return texts;
        }
    }
    return {"no such row"};
}

TEST(BuildDocument, CsvHasARowForEachAllocator) {
    const Document document = document_of(sample_report());
    EXPECT_EQ(column(document, "scene"), (Cells{"a,\"b\"|c.obj", "a,\"b\"|c.obj"}));
    EXPECT_EQ(column(document, "allocator"), (Cells{"atomicmalloc", "cmalloc"}));
    EXPECT_EQ(column(document, "outcome"), (Cells{"done", "pool_exhausted"}));
    EXPECT_EQ(column(document, "message"), (Cells{"", "the pool\nran out"}));
    EXPECT_EQ(column(document, "ms_median"), (Cells{"2", ""}));
    EXPECT_EQ(column(document, "ms_samples"), (Cells{"6 1 2", ""}));
    EXPECT_EQ(column(document, "pool_multiple"), (Cells{"200", "0"}));
    EXPECT_EQ(column(document, "memory_total_bytes"), (Cells{"20036", ""}));
    EXPECT_EQ(column(document, "nodes"), (Cells{"4321", ""}));
    EXPECT_EQ(column(document, "internal_fragmentation"), (Cells{"", ""}));
    EXPECT_EQ(column(document, "external_fragmentation"), (Cells{"0.25", ""}));
    EXPECT_EQ(column(document, "external_fragmentation_at_peak"), (Cells{"0.75", ""}));
}

TEST(BuildDocument, CsvHasTheFiguresOfKernels) {
    const Document gpu = document_of(sample_report(true));
    EXPECT_EQ(column(gpu, "registers"), (Cells{"77", ""}));
    EXPECT_EQ(column(gpu, "uncoalesced_registers"), (Cells{"21", ""}));
    EXPECT_EQ(column(gpu, "uncoalesced_spill_load_bytes"), (Cells{"24", ""}));
    EXPECT_EQ(column(gpu, "coalesced_registers"), (Cells{"", ""}));
    EXPECT_EQ(column(gpu, "published_coalesced_registers"), (Cells{"9", ""}));
    EXPECT_EQ(column(document_of(sample_report()), "registers"), (Cells{"", ""}));
}

TEST(BuildDocument, EveryFigureIsInCsvAndJson) {
    const Document document = document_of(sample_report(true));
    const Json& result = document.data.at("results").at(0);
    for (const auto& group : build_figures()) {
        for (const auto& figure : group.figures) {
            if (*figure.key != '\0') {
                EXPECT_EQ(column(document, figure.key).size(), 2U) << figure.key;
            }
            const Json::json_pointer object(group.path);
            if (!result.contains(object) || result.at(object).is_null()) continue;
            EXPECT_TRUE(result.at(object).contains(figure.name)) << group.path << figure.name;
        }
    }
}

TEST(BuildDocument, MemoryIsATableWithTheSumFirst) {
    const Document document = document_of(sample_report());
    EXPECT_EQ(row(document, "Memory", "atomicmalloc*"),
              (Cells{"19.6 KiB", "19.5 KiB", "0 B", "11 B", "0 B", "0 B", "0 B", "0 B", "0 B",
                     "12 B", "13 B"}));
    EXPECT_EQ(row(document, "Memory", "cmalloc"), Cells(11, kNoValue));
    EXPECT_EQ(document.data.at("results").at(0).at("memory").at("total_bytes"), 20036);
    EXPECT_TRUE(document.data.at("results").at(1).at("memory").is_null());
}

TEST(BuildDocument, FragmentationIsUnknownRatherThanZero) {
    Report report = sample_report();
    const auto found = [&report](const char* name) {
        return row(document_of(report), "Fragmentation", name);
    };
    EXPECT_EQ(found("atomicmalloc*"),
              (Cells{"unknown", "25.0 %", "1001 B", "1002 B", "unknown", "75.0 %"}));
    EXPECT_EQ(found("cmalloc"), Cells(6, kNoValue));
    report.results[0].built.peak.reset();
    report.results[0].built.external_fragmentation = -1;
    EXPECT_EQ(found("atomicmalloc*"), Cells(6, "unknown"));
    report.results[0].built.allocations.reset();
    EXPECT_EQ(found("atomicmalloc*"), Cells(6, kNoValue));
}

TEST(BuildDocument, RegistersAreATableOfReportsOfAGpu) {
    const char* title = "Registers (a kernel with one allocation and one deallocation; the build)";
    EXPECT_EQ(row(document_of(sample_report(true)), title, "atomicmalloc*"),
              (Cells{"21 (stack 22 B, spills 23/24 B)", "–", "–", "9", "–", "sm_86"}));
    EXPECT_EQ(row(document_of(sample_report(true)), title, "cmalloc"), Cells(6, kNoValue));
    EXPECT_EQ(row(document_of(sample_report()), title, "cmalloc"), Cells{"no such row"});
}

TEST(BuildDocument, IsAScreenfulUnlessDetailsAreWanted) {
    Report report = sample_report(true);
    report.results.resize(1);
    const Document document = document_of(report);
    const auto lines = [&](bool details) {
        const std::string text = as_text(document, false, details);
        return std::count(text.begin(), text.end(), '\n');
    };
    EXPECT_LE(lines(false), 24);
    EXPECT_GT(lines(true), 50);
    for (const char* word : {"a,\"b\"|c.obj", "12,345 triangles", "4,321 nodes", "2.000", "1.00x",
                             "19.6 KiB", "200x", "done"}) {
        EXPECT_NE(as_text(document, false, false).find(word), std::string::npos) << word;
    }
    // Documents that are kept have the details and no word of the screen's.
    EXPECT_NE(as_markdown(document).find("### Fragmentation"), std::string::npos);
    EXPECT_EQ(as_markdown(document).find("--details"), std::string::npos);
}

TEST(BuildDocument, SeveralAllocatorsHaveARowEach) {
    const std::string two = as_text(document_of(sample_report()), false, false);
    EXPECT_NE(two.find("\natomicmalloc* "), two.npos) << two;
    EXPECT_NE(two.find("\ncmalloc "), two.npos) << two;
    EXPECT_NE(two.find("out of pool\n"), two.npos) << two;
}

TEST(BuildDocument, JsonOfACpuReport) {
    const auto json = nlohmann::json::parse(as_json(document_of(sample_report())));
    const auto& done = json.at("results").at(0);
    EXPECT_EQ(done.at("build").at("ms").at("median"), 2);
    EXPECT_EQ(done.at("build").at("ms").at("samples"), nlohmann::json({6, 1, 2}));
    EXPECT_EQ(done.at("tree").at("digest"), "0000000000000abc");
    EXPECT_EQ(done.at("fragmentation"), nlohmann::json({{"internal", nullptr},
                                                        {"external", 0.25},
                                                        {"peak",
                                                         {{"live_bytes", 1001},
                                                          {"allocated_bytes", 1002},
                                                          {"internal", nullptr},
                                                          {"external", 0.75}}}}));
    EXPECT_TRUE(done.at("registers").is_null());
    EXPECT_TRUE(done.at("build").at("upload_ms").is_null());
    EXPECT_TRUE(json.at("provenance").at("driver").is_null());
    const auto& histogram = done.at("allocations").at("histogram");
    ASSERT_EQ(histogram.size(), 2U);
    EXPECT_EQ(histogram.at(0).at("from_bytes"), 16);
    EXPECT_EQ(histogram.at(0).at("to_bytes"), 31);
    EXPECT_EQ(histogram.at(1).at("to_bytes"), std::numeric_limits<std::uint64_t>::max());
    const auto& failed = json.at("results").at(1);
    EXPECT_EQ(failed.at("message"), "the pool\nran out");
    EXPECT_EQ(failed.at("fragmentation"),
              nlohmann::json({{"internal", nullptr}, {"external", nullptr}, {"peak", nullptr}}));
    for (const char* unknown : {"tree", "allocations", "registers"}) {
        EXPECT_TRUE(failed.at(unknown).is_null()) << unknown;
    }
}

TEST(BuildDocument, JsonOfAGpuReport) {
    const auto json = nlohmann::json::parse(as_json(document_of(sample_report(true))));
    EXPECT_EQ(json.at("provenance").at("driver"), "13.0");
    const auto& registers = json.at("results").at(0).at("registers");
    EXPECT_EQ(registers.at("build"), 77);
    EXPECT_EQ(registers.at("architecture"), "sm_86");
    EXPECT_EQ(registers.at("uncoalesced"), nlohmann::json({{"registers", 21},
                                                           {"stack_bytes", 22},
                                                           {"spill_store_bytes", 23},
                                                           {"spill_load_bytes", 24}}));
    EXPECT_TRUE(registers.at("coalesced").is_null());
    const auto& published = json.at("results").at(0).at("published_registers");
    EXPECT_TRUE(published.at("uncoalesced").is_null());
    EXPECT_EQ(published.at("coalesced"), 9);
    EXPECT_EQ(json.at("results").at(0).at("build").at("upload_ms"), 3.5);
    EXPECT_TRUE(json.at("results").at(1).at("registers").is_null());
}

TEST(BuildDocument, JsonSurvivesAPathThatIsNotUtf8) {
    Report report = sample_report();
    report.scene_path = "\xff\xfe.obj";
    const auto json = nlohmann::json::parse(as_json(document_of(report)));
    const std::string path = json.at("scene").at("path");
    EXPECT_EQ(path, "\xef\xbf\xbd\xef\xbf\xbd.obj");
}

TEST(BuildDocument, TextShowsFailureAndAsterisk) {
    for (const bool details : {false, true}) {
        const std::string text = as_text(document_of(sample_report()), false, details);
        EXPECT_NE(text.find("atomicmalloc*"), text.npos);
        EXPECT_NE(text.find("cmalloc: the pool ran out"), text.npos);
        EXPECT_NE(text.find("* not a full allocator"), text.npos);
        EXPECT_EQ(text.find("DIFFER"), text.npos);
    }
}

TEST(BuildDocument, TextIsLoudWhenTreesDiffer) {
    Report report = sample_report();
    report.results[1].tree = report.results[0].tree;
    report.results[1].tree->digest = 0xDEF;
    for (const bool details : {false, true}) {
        const std::string text = as_text(document_of(report), false, details);
        EXPECT_NE(text.find("THE TREES DIFFER"), text.npos);
        EXPECT_NE(text.find("0000000000000abc"), text.npos);
        EXPECT_NE(text.find("0000000000000def"), text.npos);
    }
}

}  // namespace
}  // namespace heapwood::app
