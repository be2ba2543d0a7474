/// @file
/// What the document of a comparison says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "tests/app/sample_comparison.h"

namespace heapwood::app {
namespace {

std::string text_of(const Comparison& comparison) {
    return as_text(document_of(comparison), false, false);
}

TEST(ComparisonDocument, SlowdownsOverAnotherPoolAreMarked) {
    Comparison c = sample_comparison(
        {{failed_result("atomicmalloc", Outcome::pool_exhausted, false), done_result("a", 3, 7)},
         {done_result("atomicmalloc", 2, 7, false), done_result("a", 3, 7)}});
    judge(c);
    EXPECT_NE(text_of(c).find("Pool 1x: T_build of atomicmalloc in ms, slowdown of the "
                              "others\n"
                              "allocator              a_b\n"
                              "atomicmalloc*  out of pool\n"
                              "a                 [1.50x']\n"),
              std::string::npos)
        << text_of(c);
}

TEST(ComparisonDocument, WithoutAtomicmallocTimesStandForSlowdowns) {
    const std::string text =
        text_of(sample_comparison({{done_result("a", 1.5, 7), done_result("b", 2.25, 7)}}));
    EXPECT_NE(text.find("\na          [1.500 ms]\nb            2.250 ms\n"), text.npos) << text;
}

TEST(ComparisonDocument, ScenesWithOneNameAreToldApart) {
    Comparison c = sample_comparison({{done_result("a", 1, 7)}});
    EXPECT_NE(text_of(c).find("\na_b "), std::string::npos);
    c.scenes.push_back(c.scenes[0]);
    c.scenes[1].scene_path = "others/a_b.obj";
    c.groups.push_back(c.groups[0]);
    c.groups[1].scene = 1;
    EXPECT_NE(text_of(c).find("\nothers/a_b.obj "), std::string::npos);
}

TEST(ComparisonDocument, UntimedBuildsAreCounted) {
    Comparison c = sample_comparison({{done_result("a", 1, 7)}});
    c.common.options.run.warm_up = 1;
    EXPECT_NE(text_of(c).find(" builds, each after 1 untimed one;"), std::string::npos);
    c.common.options.run.warm_up = 2;
    EXPECT_NE(text_of(c).find(" builds, each after 2 untimed ones;"), std::string::npos);
}

TEST(ComparisonDocument, DocumentsAreEscapedAndTheFastestIsBold) {
    Comparison c =
        sample_comparison({{done_result("atomicmalloc", 2, 7, false), done_result("a_b", 3, 7)}});
    judge(c);
    const std::string latex = as_latex(document_of(c));
    EXPECT_NE(latex.find("\natomicmalloc* & 2.000 ms \\\\\na\\_b & \\textbf{1.50x} \\\\\n"),
              latex.npos)
        << latex;
    EXPECT_NE(latex.find("\\caption{Pool 1x: fragmentation after the build in \\%, "), latex.npos);
    const std::string markdown = as_markdown(document_of(c));
    EXPECT_NE(markdown.find("\n| atomicmalloc\\* | 2.000 ms |\n| a_b | **1.50x** |\n"),
              markdown.npos)
        << markdown;
}

TEST(ComparisonDocument, UnfinishedCellsAreNoFigures) {
    Comparison c = sample_comparison(
        {{failed_result("a", Outcome::unfinished), failed_result("b", Outcome::wrong_tree)}});
    EXPECT_FALSE(complete(c));
    const std::string text = text_of(c);
    EXPECT_NE(text.find("\na          unfinished\nb          wrong tree\n"), text.npos) << text;
    EXPECT_NE(text.find("NOT COMPLETE"), text.npos);
    EXPECT_EQ(nlohmann::json::parse(as_json(document_of(c))).at("complete"), false);
}

/// The first table whose title has that word, or nothing.
const Table* table_with(const Document& document, const std::string& word) {
    for (const Table& table : document.tables) {
        if (table.title.find(word) != table.title.npos) return &table;
    }
    return nullptr;
}

/// Two cells of a row: what the paper has for the first shared scene, and what we have.
std::vector<std::string> cells(const Table& table, const std::string& name) {
    for (const auto& row : table.rows) {
        if (row[0].text == name) return {row[1].text, row[2].text};
    }
    return {};
}

TEST(ComparisonDocument, PublishedTablesStandBesideOurs) {
    Comparison c =
        sample_comparison({{done_result("atomicmalloc", 2, 7, false), done_result("cmalloc", 3, 7),
                            done_result("halloc", 4, 7), done_result("scatteralloc", 5, 7),
                            failed_result("cudamalloc", Outcome::hang)}});
    c.scenes[0].scene_path = "scenes/dragon_871k.obj.xz";
    c.scenes[0].triangles = 871414;
    judge(c);
    EXPECT_EQ(table_with(document_of(c), "Vinkler"), nullptr) << "nobody asked";
    c.options.published = true;
    const Document document = document_of(c);
    EXPECT_EQ(table_with(document, "Table 4"), nullptr) << "it has no such scene";
    ASSERT_NE(table_with(document, "2014, Table 2"), nullptr);
    const Table* table = table_with(document, "2015, Table 3");
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->columns[1].title, "dragon");
    using Two = std::vector<std::string>;
    EXPECT_EQ(cells(*table, "N_tris"), (Two{"871K", "871,414"}));
    EXPECT_EQ(cells(*table, "AtomicMalloc*_ms"), (Two{"384.7 ms", "2.000 ms"}));
    EXPECT_EQ(cells(*table, "CMalloc"), (Two{"1.39x", "1.50x"}));
    EXPECT_EQ(cells(*table, "Halloc"), (Two{"1.15x", "2.00x"}));
    EXPECT_EQ(cells(*table, "ScatterAlloc_4096"), (Two{"1.75x", "2.50x"}));
    EXPECT_EQ(cells(*table, "ScatterAlloc_8192"), (Two{"8.72x", "–"})) << "another page";
    EXPECT_EQ(cells(*table, "CudaMalloc"), (Two{"20.62x", "hang"}));
    EXPECT_EQ(cells(*table, "CFMalloc"), (Two{"1.36x", "–"})) << "did not take part";
    EXPECT_NE(as_text(document, false, false).find("Published figures are of other GPUs"),
              std::string::npos);
}

TEST(ComparisonDocument, ScenesThatNoPaperHasAreSaidToBeNone) {
    Comparison c = sample_comparison({{done_result("atomicmalloc", 2, 7, false)}});
    c.scenes[0].scene_path = "dragon_202k.obj";
    c.options.published = true;
    EXPECT_EQ(table_with(document_of(c), "Vinkler"), nullptr);
    EXPECT_NE(text_of(c).find("No published table has one of these scenes"), std::string::npos);
}

}  // namespace
}  // namespace heapwood::app
