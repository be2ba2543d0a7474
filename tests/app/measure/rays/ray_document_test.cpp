/// @file
/// When a tree pays, and what the document of rays says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "app/measure/rays/ray_report.h"
#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "tests/app/sample_report.h"

namespace heapwood::app {
namespace {

/// A tree that costs `cost` ms, of which the layout is 1 ms, with a million rays of two kinds.
TracedTree tree_of(const std::string& name, double cost, double ms, double other_ms) {
    TracedTree tree{.name = name, .preset = "default", .build = {}, .times = {}};
    tree.build.allocator.full = true;
    tree.build.built.milliseconds = {cost - 1, cost + 99, 0};
    tree.layout_ms = 1;
    tree.times = {{"random", Asked::closest, 1000000, 5, {ms, ms + 1, ms - 1}},
                  {"shadow", Asked::any, 1000000, 6, {other_ms}},
                  {"random", Asked::all, 1000000, 7, {1000}},
                  {"uniform", Asked::nearest, 1000000, 1000000, {50}}};
    return tree;
}

/// The same where it was built: rays take half the time.
InPlaceTree in_place(const TracedTree& tree) {
    InPlaceTree there{.build_ms = {2, 1, 9},
                      .layout_ms = {0.5, 0.5, 7},
                      .bytes = 77,
                      .first_rays_ms = {3},
                      .times = tree.times};
    for (RayTimes& times : there.times) {
        for (double& ms : times.samples) ms /= 2;
    }
    return there;
}

RayReport sample() {
    RayReport report{.origin = sample_report(), .options = {.rays = 1000000}, .trees = {}};
    report.origin.results.clear();
    report.trees = {tree_of("a", 11, 10, 30), tree_of("b", 21, 5, 15)};
    TracedTree& failed = report.trees.emplace_back();
    failed.name = "c";
    failed.preset = "paper";
    failed.build.fail(Outcome::pool_exhausted, "the pool|ran out");
    return report;
}

TEST(TracedTree, TimeIsThatOfBuildLayoutAndRaysOfEachKindAlike) {
    const TracedTree tree = tree_of("a", 11, 10, 30);
    EXPECT_DOUBLE_EQ(tree.time().cost_ms, 11);
    EXPECT_DOUBLE_EQ(tree.time().ms_per_ray, 20e-6);
    EXPECT_DOUBLE_EQ(tree.time().ms_to(5e6), 111);
    EXPECT_DOUBLE_EQ(tree.times[0].rays_per_second(), 1e8);
    const InPlaceTree there = in_place(tree);
    EXPECT_DOUBLE_EQ(there.time().cost_ms, 2.5) << "medians of build and layout";
    EXPECT_DOUBLE_EQ(there.time().ms_per_ray, 10e-6);
}

TEST(TracedTree, PaysFromWhereTheLinesCross) {
    const TimeToRays tree = tree_of("a", 11, 10, 30).time();
    const TimeToRays dearer_and_faster = tree_of("b", 21, 5, 15).time();
    const auto from = payoff(dearer_and_faster, tree);
    ASSERT_TRUE(from);
    EXPECT_DOUBLE_EQ(from->from, 1e6);
    EXPECT_DOUBLE_EQ(dearer_and_faster.ms_to(from->from), tree.ms_to(from->from));
    EXPECT_FALSE(from->to);
    const auto to = payoff(tree, dearer_and_faster);
    ASSERT_TRUE(to);
    EXPECT_EQ(to->from, 0);
    EXPECT_DOUBLE_EQ(to->to.value(), 1e6);
    EXPECT_FALSE(payoff(tree, tree)) << "never before itself";
    EXPECT_FALSE(payoff(tree_of("b", 12, 11, 30).time(), tree)) << "dearer and slower";
    const auto always = payoff(tree_of("b", 10, 9, 30).time(), tree);
    ASSERT_TRUE(always);
    EXPECT_EQ(always->from, 0);
    EXPECT_FALSE(always->to);
}

TEST(RayDocument, TablesHaveRatesAndTheTreesThatPay) {
    const Document document = document_of(sample());
    const Table& rates = document.tables.at(1);
    ASSERT_EQ(rates.rows.size(), 3U);
    EXPECT_EQ(rates.columns[2].title, "shadow (any)");
    EXPECT_EQ(rates.columns[4].title, "uniform (nearest)");
    EXPECT_EQ(rates.rows[0][4].text, "20.00");
    EXPECT_EQ(rates.rows[0][1].text, "100.00");
    EXPECT_EQ(rates.rows[1][1].text, "200.00");
    EXPECT_EQ(rates.rows[2][1].text, "out of pool");
    const Table& times = document.tables.at(2);
    ASSERT_EQ(times.rows.size(), 2U);
    EXPECT_EQ(times.rows[0].back().text, kNoValue);
    EXPECT_EQ(times.rows[1].back().text, "from 1.00 M");
    EXPECT_EQ(times.rows[1][3].text, "31.0");
}

TEST(RayDocument, GpusThatShareRaysHaveATable) {
    EXPECT_EQ(document_of(sample()).tables.size(), 3U);
    RayReport report = sample();
    report.options.devices = {0, 3};
    for (TracedTree& tree : report.trees) {
        for (RayTimes& times : tree.times) {
            times.digest = 0xAB;
            times.devices = {{0, 500000, {5}}, {3, 500000, {10}}};
        }
    }
    const Document document = document_of(report);
    const Table& rates = document.tables.at(2);
    ASSERT_EQ(rates.rows.size(), 4U) << "two trees on two GPUs; none that failed";
    EXPECT_EQ(rates.rows[1][1].text, "3");
    EXPECT_EQ(rates.rows[0][2].text, "100.00");
    EXPECT_EQ(rates.rows[1][2].text, "50.00");
    EXPECT_EQ(document.data["devices"], Json({0, 3}));
    const Json& rays = document.data["results"][0]["rays"][0];
    EXPECT_EQ(rays["digest"], "00000000000000ab");
    EXPECT_EQ(rays["devices"][1]["device"], 3);
    EXPECT_EQ(rays["devices"][1]["rays"], 500000);
}

TEST(RayDocument, TreesInPlaceStandBelowTheirOwn) {
    RayReport report = sample();
    report.trees[1].in_place = in_place(report.trees[1]);
    const Document document = document_of(report);
    const Table& rates = document.tables.at(1);
    ASSERT_EQ(rates.rows.size(), 4U);
    EXPECT_EQ(rates.rows[2][0].text, "b, default, in place");
    EXPECT_EQ(rates.rows[2][1].text, "400.00");
    const Table& times = document.tables.at(2);
    ASSERT_EQ(times.rows.size(), 3U);
    EXPECT_EQ(times.rows[2][0].text, "b, default, in place");
    EXPECT_EQ(times.rows[2][3].text, "7.5") << "2 + 0.5 + a million rays of 5 ns";
    EXPECT_EQ(times.rows[2].back().text, "always");
    for (const Table& table : document.tables) {
        for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size());
    }
    const Json& results = document.data["results"];
    EXPECT_TRUE(results[0]["in_place"].is_null());
    const Json& there = results[1]["in_place"];
    EXPECT_EQ(there["build_ms"]["median"], 2);
    EXPECT_EQ(there["layout_ms"]["median"], 0.5);
    EXPECT_EQ(there["first_rays_ms"]["median"], 3);
    EXPECT_EQ(there["bytes"], 77);
    EXPECT_DOUBLE_EQ(there["ms_per_ray"].get<double>(), 5e-6);
    EXPECT_EQ(there["rays"].size(), 4U);
    EXPECT_EQ(there["pays"]["from_rays"], 0);
    ASSERT_EQ(document.records.rows.size(), 13U) << "four more than without it";
    const auto column = [&](const char* name) {
        std::size_t i = 0;
        while (document.records.columns.at(i).title != name) ++i;
        return i;
    };
    EXPECT_EQ(document.records.rows[7][column("laid_out")].text, "by the host");
    EXPECT_EQ(document.records.rows[8][column("laid_out")].text, "in place");
    EXPECT_EQ(document.records.rows[8][column("build_ms")].text, "2");
    EXPECT_EQ(document.records.rows[8][column("layout_ms")].text, "0.5");
}

TEST(RayDocument, DataAndRecordsHaveAllTrees) {
    const Document document = document_of(sample());
    const Json& results = document.data["results"];
    ASSERT_EQ(results.size(), 3U);
    EXPECT_DOUBLE_EQ(results[1]["pays"]["from_rays"].get<double>(), 1e6);
    EXPECT_TRUE(results[0]["pays"].is_null());
    EXPECT_EQ(results[0]["rays"][1]["hits"], 6);
    EXPECT_EQ(results[2]["outcome"], "pool_exhausted");
    EXPECT_TRUE(results[2]["layout_ms"].is_null());
    EXPECT_EQ(results[0]["rays"][3]["asked"], "nearest");
    EXPECT_EQ(document.records.rows.size(), 9U);
    for (const auto& row : document.records.rows) {
        EXPECT_EQ(row.size(), document.records.columns.size());
    }
    EXPECT_NE(as_csv(document).find("the pool|ran out"), std::string::npos);
    EXPECT_NE(as_markdown(document).find("ran out"), std::string::npos);
    EXPECT_NE(as_html(document).find("Millions of rays"), std::string::npos);
}

}  // namespace
}  // namespace heapwood::app
