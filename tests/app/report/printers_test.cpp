#include "app/report/printers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "app/report/table.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {
namespace {

const Table kTable{.title = "Title",
                   .columns = {{"name"}, {"n", true}, {"last"}},
                   .rows = {{"a", "1", "x|y"}, {"–", "1000", ""}, {"long", "", "\"q\", r"}}};

TEST(Printers, TextAligns) {
    EXPECT_EQ(as_text(kTable, false),
              "Title\n"
              "name     n  last\n"
              "a        1  x|y\n"
              "–     1000\n"
              "long        \"q\", r\n");
}

TEST(Printers, ColourOnlyAroundHeadings) {
    const std::string text = as_text(kTable, true);
    EXPECT_EQ(text.find("\x1b[1mTitle\x1b[0m\n\x1b[1mname     n  last\x1b[0m\na "), 0U) << text;
    EXPECT_EQ(text.find('\x1b', text.find("\na ")), text.npos);
}

TEST(Printers, MarkdownEscapes) {
    EXPECT_EQ(as_markdown(kTable),
              "### Title\n\n"
              "| name | n | last |\n"
              "| --- | ---: | --- |\n"
              "| a | 1 | x\\|y |\n"
              "| – | 1000 |  |\n"
              "| long |  | \"q\", r |\n");
}

TEST(Printers, CsvQuotes) {
    EXPECT_EQ(as_csv(kTable),
              "name,n,last\n"
              "a,1,x|y\n"
              "–,1000,\n"
              "long,,\"\"\"q\"\", r\"\n");
}

TEST(Printers, CsvOfAReportHasARowPerAllocator) {
    const std::string csv = as_csv(sample_report());
    EXPECT_NE(csv.find("\n\"a,\"\"b\"\"|c.obj\",12345,"), csv.npos) << csv;
    EXPECT_NE(csv.find(",atomicmalloc,every,done,,20000,200,2,1,6,1,,"), csv.npos) << csv;
    EXPECT_NE(csv.find(",cmalloc,every,pool_exhausted,\"the pool\nran out\",0,0,,,,,"), csv.npos)
        << csv;
}

TEST(Printers, CsvHasTheFiguresOfKernels) {
    const std::string csv = as_csv(sample_report(true));
    EXPECT_NE(csv.find(",registers,spill_bytes,uncoalesced_registers,uncoalesced_stack_bytes,"
                       "uncoalesced_spill_store_bytes,uncoalesced_spill_load_bytes,"
                       "coalesced_registers,coalesced_stack_bytes,"
                       "coalesced_spill_store_bytes,coalesced_spill_load_bytes,"
                       "published_uncoalesced_registers,published_coalesced_registers,"),
              csv.npos)
        << csv;
    EXPECT_NE(csv.find(",77,0,21,22,23,24,,,,,,9,"), csv.npos) << csv;
    EXPECT_NE(as_csv(sample_report()).find(",,,,,,,,,,,,9,"), csv.npos);
}

TEST(Printers, MemoryIsATableWithTheSumFirst) {
    const std::string text = as_markdown(sample_report());
    EXPECT_NE(text.find("| atomicmalloc\\* | 19.6 KiB | 19.5 KiB | – | 11 B | – | – | – | – | – | "
                        "12 B | 13 B |\n"
                        "| cmalloc | – | – | – | – | – | – | – | – | – | – | – |\n"),
              text.npos)
        << text;
    EXPECT_NE(as_csv(sample_report()).find(",20036,11,0,0,0,0,0,12,13,"), std::string::npos);
    const auto json = nlohmann::json::parse(as_json(sample_report()));
    EXPECT_EQ(json.at("results").at(0).at("memory").at("total_bytes"), 20036);
    EXPECT_EQ(json.at("results").at(0).at("memory").at("levels_bytes"), 12);
    EXPECT_TRUE(json.at("results").at(1).at("memory").is_null());
}

TEST(Printers, FragmentationIsUnknownRatherThanZero) {
    Report report = sample_report();
    const std::string heading =
        "| allocator | internal | external | peak: live | peak: allocated | peak: internal | "
        "peak: external |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    const std::string failed = "| cmalloc | – | – | – | – | – | – |\n";
    std::string text = as_markdown(report);
    EXPECT_NE(text.find(heading +
                        "| atomicmalloc\\* | unknown | 25.0 % | 1001 B | 1002 B | "
                        "unknown | 75.0 % |\n" +
                        failed),
              text.npos)
        << text;
    EXPECT_NE(as_csv(report).find(",,0.25,1001,1002,,0.75\n"), text.npos) << as_csv(report);
    report.results[0].peak.reset();
    report.results[0].external_fragmentation.reset();
    text = as_markdown(report);
    EXPECT_NE(text.find(heading +
                        "| atomicmalloc\\* | unknown | unknown | unknown | unknown | "
                        "unknown | unknown |\n" +
                        failed),
              text.npos)
        << text;
    report.results[0].allocations.reset();
    EXPECT_NE(
        as_markdown(report).find(heading + "| atomicmalloc\\* | – | unknown | – | – | – | – |\n"),
        text.npos);
}

TEST(Printers, RegistersAreATableOfReportsOfAGpu) {
    const std::string text = as_markdown(sample_report(true));
    EXPECT_NE(text.find("| atomicmalloc\\* | 21 (stack 22 B, spills 23/24 B) | – | – | 9 | – | "
                        "sm_86 |\n| cmalloc | – | – | – | – | – | – |\n"),
              text.npos)
        << text;
    EXPECT_EQ(as_text(sample_report(), false).find("Registers"), text.npos);
}

TEST(Printers, JsonOfACpuReport) {
    const auto json = nlohmann::json::parse(as_json(sample_report()));
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

TEST(Printers, JsonOfAGpuReport) {
    const auto json = nlohmann::json::parse(as_json(sample_report(true)));
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

TEST(Printers, JsonSurvivesAPathThatIsNotUtf8) {
    Report report = sample_report();
    report.scene_path = "\xff\xfe.obj";
    const auto json = nlohmann::json::parse(as_json(report));
    const std::string path = json.at("scene").at("path");
    EXPECT_EQ(path, "\xef\xbf\xbd\xef\xbf\xbd.obj");
}

TEST(Printers, TextShowsFailureAndAsterisk) {
    const std::string text = as_text(sample_report(), false);
    EXPECT_NE(text.find("atomicmalloc*"), text.npos);
    EXPECT_NE(text.find("cmalloc: the pool"), text.npos);
    EXPECT_NE(text.find("* no full allocator"), text.npos);
    EXPECT_EQ(text.find("DIFFER"), text.npos);
}

TEST(Printers, TextIsLoudWhenTreesDiffer) {
    Report report = sample_report();
    report.results[1].tree = report.results[0].tree;
    report.results[1].tree->digest = 0xDEF;
    const std::string text = as_text(report, false);
    EXPECT_NE(text.find("THE TREES DIFFER"), text.npos);
    EXPECT_NE(text.find("0000000000000abc"), text.npos);
    EXPECT_NE(text.find("0000000000000def"), text.npos);
}

}  // namespace
}  // namespace heapwood::app
