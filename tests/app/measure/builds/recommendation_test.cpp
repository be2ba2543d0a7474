/// @file
/// Which allocators are recommended, and in what words.
#include "app/report/figures/recommendation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/report/documents.h"
#include "app/report/renderers/formats.h"
#include "tests/app/sample_comparison.h"
#include "tests/kdtree/dice.h"

namespace heapwood::app {
namespace {

std::vector<std::string> names(const std::vector<Candidate>& candidates) {
    std::vector<std::string> all;
    for (const Candidate& c : candidates) all.push_back(c.name);
    return all;
}
using Names = std::vector<std::string>;

TEST(ParetoFront, HasWhatNoneBeatsTheFastestFirst) {
    EXPECT_EQ(names(pareto_front({{"large", 1, 9, 30.0},
                                  {"beaten", 3, 9, 30.0},
                                  {"small", 2, 4, 30.0},
                                  {"sparing", 5, 9, 20.0},
                                  {"beaten too", 5, 9, 21.0}})),
              (Names{"large", "small", "sparing"}));
}

TEST(ParetoFront, EqualsStayAndTheUnknownIsWorst) {
    EXPECT_EQ(names(pareto_front({{"a", 1, 2, {}}, {"b", 1, 2, {}}, {"c", 1, {}, {}}})),
              (Names{"a", "b"}));
    EXPECT_EQ(names(pareto_front({{"a", 1, {}, {}}, {"b", 2, 1, {}}, {"c", 3, {}, {}}})),
              (Names{"a", "b"}));
}

TEST(ParetoFront, OfRandomFigures) {
    kdtree::tests::Dice dice;
    for (int i = 0; i < 200; ++i) {
        std::vector<Candidate> all;
        for (unsigned n = dice.below(12) + 1; n > 0; --n) {
            all.push_back(
                {std::to_string(n), 1.0 + dice.below(5), 1.0 + dice.below(5), 1.0 + dice.below(5)});
        }
        const auto least = [&](const auto& keep) { return std::ranges::count_if(all, keep); };
        const Names front = names(pareto_front(all));
        for (const Candidate& c : all) {
            // Beaten by those that are nowhere worse, but for those that are nowhere better either.
            const auto nowhere_worse = least([&](const Candidate& o) {
                return o.time <= c.time && *o.memory <= *c.memory && *o.registers <= *c.registers;
            });
            const auto equal = least([&](const Candidate& o) {
                return o.time == c.time && o.memory == c.memory && o.registers == c.registers;
            });
            EXPECT_EQ(std::ranges::count(front, c.name), nowhere_worse == equal ? 1 : 0);
        }
    }
}

/// Of candidates whose times are known exactly, unless they say otherwise.
std::string remark(std::vector<Candidate> candidates, bool exact = true) {
    Document document;
    for (Candidate& c : candidates) {
        if (exact) c.times = Interval{c.time, c.time};
    }
    add_recommendation("pool 20x", "bytes", candidates, document);
    return document.remarks.empty() ? "" : document.remarks[0].text;
}

TEST(Recommendation, IsASentence) {
    EXPECT_EQ(remark({{"a", 1, 2, {}}}), "");
    EXPECT_EQ(
        remark({{"a", 1, 2, {}}, {"b", 2, 3, {}}}),
        "For pool 20x: take a: no full allocator is faster, and none needs less memory. Memory: "
        "bytes.");
    EXPECT_EQ(
        remark({{"a", 2, 8, 40.0}, {"b", 3, 4, 30.0}, {"c", 4, 6, 20.0}}),
        "For pool 20x: take a: no full allocator is faster; b needs 0.50x of its memory and 1.50x "
        "of its time; c has the fewest registers, 20, and 2.00x of its time. Memory: bytes.");
    EXPECT_EQ(remark({{"a", 1, {}, {}}, {"b", 2, {}, {}}}),
              "For pool 20x: take a: no full allocator is faster. Memory: bytes.");
    EXPECT_EQ(
        remark({{"a", 1, {}, {}}, {"b", 2, 7, {}}}),
        "For pool 20x: take a: no full allocator is faster; b needs the least memory that is known "
        "and 2.00x of its time. Memory: bytes.");
}

TEST(Recommendation, IsNoneWhereTimesOverlap) {
    const auto of = [](double a_high, double b_low) {
        return remark({{"a", 1, 2, {}, Interval{0.9, a_high}},
                       {"b", 2, 3, {}, Interval{b_low, 3}},
                       {"c", 9, 9, {}, Interval{8, 10}}},
                      false);
    };
    EXPECT_EQ(of(1.4, 1.5).substr(0, 22), "For pool 20x: take a: ");
    for (const double high : {1.5, 1.6, 4.0}) {
        EXPECT_EQ(
            of(high, 1.5),
            "For pool 20x: no recommendation, for the times of a, b overlap: raise --repeat, on "
            "a machine that does nothing else. Memory: bytes.");
    }
    // Also one that another beats in all medians.
    EXPECT_NE(remark({{"a", 1, 2, {}, Interval{1, 1}}, {"b", 2, 3, {}, Interval{0.5, 3}}}, false)
                  .find("the times of a, b overlap"),
              std::string::npos);
}

TEST(Recommendation, IsNoneFromFewSamples) {
    EXPECT_EQ(remark({{"a", 1, 2, {}, Interval{1, 1}}, {"b", 2, 3, {}}}, false),
              "For pool 20x: no recommendation, for fewer than three samples do not show how far "
              "times lie apart: raise --repeat. Memory: bytes.");
}

TEST(MedianInterval, IsBetweenSamples) {
    EXPECT_FALSE(median_interval({}));
    EXPECT_FALSE(median_interval({1, 2}));
    // Ranks of the sign test at 95 %, from tables of the binomial distribution.
    for (const auto& [n, rank] : {std::pair{3, 1},
                                  {5, 1},
                                  {6, 1},
                                  {8, 1},
                                  {10, 2},
                                  {15, 4},
                                  {20, 6},
                                  {25, 8},
                                  {50, 18},
                                  {100, 40}}) {
        std::vector<double> samples;
        for (int i = 1; i <= n; ++i) samples.push_back(i);
        std::ranges::reverse(samples);
        const auto interval = median_interval(samples);
        ASSERT_TRUE(interval) << n;
        EXPECT_EQ(interval->low, rank) << n;
        EXPECT_EQ(interval->high, n + 1 - rank) << n;
    }
}

Result with_memory(Result r, std::uint64_t peak, std::uint64_t tables) {
    r.built.peak = {.live_bytes = 1, .allocated_bytes = peak};
    r.built.overhead_bytes = tables;
    return r;
}

TEST(Recommendation, OfAComparisonIsOverAllScenes) {
    Comparison c = sample_comparison(
        {{done_result("atomicmalloc", 1, 7, false), with_memory(done_result("a", 2, 7), 90, 10),
          with_memory(done_result("b", 4, 7), 20, 5), with_memory(done_result("c", 1, 7), 10, 0)}});
    c.scenes.push_back(c.scenes[0]);
    c.groups.push_back(c.groups[0]);
    c.groups[1].scene = 1;
    // Twice as slow there, so 1.41 times in the mean; c fails there and is no candidate.
    c.groups[1].report.results[1].built.milliseconds = {4};
    c.groups[1].report.results[3] = failed_result("c", Outcome::pool_exhausted);
    const Document document = document_of(c);
    const auto table = std::ranges::find(
        document.tables, "Full allocators that no other beats: pool 1x", &Table::title);
    ASSERT_NE(table, document.tables.end());
    ASSERT_EQ(table->rows.size(), 2U);
    EXPECT_EQ(table->rows[0][0].text, "a");
    EXPECT_EQ(table->rows[0][2].text, "4.00x");
    EXPECT_EQ(table->rows[1][0].text, "b");
    EXPECT_EQ(table->rows[1][1].text, "1.41x");
    EXPECT_EQ(table->rows[1][2].text, "1.00x");
    const auto remarks = [](const Comparison& of) {
        std::string all;
        for (const Remark& remark : document_of(of).remarks) all += remark.text + "\n";
        return all;
    };
    EXPECT_NE(remarks(c).find("no recommendation, for fewer than three"), std::string::npos);
    const auto sample = [&](double spread) {
        for (Group& group : c.groups) {
            for (Result& r : group.report.results) {
                if (r.built.milliseconds.empty()) continue;
                const double ms = r.built.milliseconds[0];
                r.built.milliseconds = {ms, ms / spread, ms * spread};
            }
        }
        return remarks(c);
    };
    EXPECT_NE(sample(1.1).find("take a: no full allocator is faster"), std::string::npos);
    EXPECT_NE(sample(1.5).find("the times of a, b overlap"), std::string::npos);
}

/// Allocators whose times with pools of 1x, 2x, ... these are; 0: it fails.
Comparison with_pools(const std::vector<std::pair<const char*, std::vector<double>>>& allocators,
                      double spread) {
    Comparison c = sample_comparison({{}, {}, {}, {}});
    for (std::size_t pool = 0; pool < c.groups.size(); ++pool) {
        for (const auto& [name, times] : allocators) {
            Result r = failed_result(name, Outcome::pool_exhausted);
            if (const double ms = times[pool]; ms != 0) {
                r = done_result(name, ms, 7, std::string(name) != "ring");
                r.built.milliseconds = {ms / spread, ms, ms * spread};
                r.built.pool_bytes = 1000 * (pool + 1);
            }
            c.groups[pool].report.results.push_back(r);
        }
    }
    return c;
}

/// The table of smallest pools as lines of its cells.
std::vector<std::string> smallest_pools(const Comparison& c) {
    const Document document = document_of(c);
    std::vector<std::string> lines;
    for (const Table& table : document.tables) {
        if (!table.title.starts_with("Smallest pools")) continue;
        lines.push_back(table.title);
        for (const auto& row : table.rows) {
            lines.emplace_back();
            for (const Cell& cell : row) lines.back() += cell.text + " ";
        }
    }
    return lines;
}

TEST(SmallestPools, CostAtMostWhatIsAllowed) {
    Comparison c = with_pools({{"slow", {0, 31, 30, 29}},
                               {"fast", {13, 12, 10, 10.5}},
                               {"ring", {1, 1, 1, 1}},
                               {"never", {0, 0, 0, 0}}},
                              1);
    using Lines = std::vector<std::string>;
    EXPECT_EQ(smallest_pools(c), (Lines{"Smallest pools that cost at most 10 %",
                                        "slow 2x 1.07x 4x 3.10x ", "fast 3x 1.00x 3x 1.00x "}));
    c.options.within = 25;
    EXPECT_EQ(smallest_pools(c), (Lines{"Smallest pools that cost at most 25 %",
                                        "fast 2x 1.20x 3x 1.20x ", "slow 2x 1.07x 4x 3.10x "}));
    c.options.within = 0;
    EXPECT_EQ(smallest_pools(c), (Lines{"Smallest pools that cost at most 0 %",
                                        "fast 3x 1.00x 3x 1.00x ", "slow 4x 1.00x 4x 2.90x "}));
    // The order of --pool does not matter.
    std::swap(c.pools[0], c.pools[3]);
    std::swap(c.groups[0], c.groups[3]);
    c.options.within = 25;
    EXPECT_EQ(smallest_pools(c)[1], "fast 2x 1.20x 3x 1.20x ");
}

TEST(SmallestPools, SayWhereSamplesDoNotShowIt) {
    const auto uncertain = [](double spread) {
        for (const Remark& r :
             document_of(with_pools({{"a", {10.9, 10, 10, 10}}, {"b", {0, 0, 0, 9}}}, spread))
                 .remarks) {
            if (r.text.starts_with("Smallest pools:")) return r.text;
        }
        return std::string();
    };
    EXPECT_EQ(uncertain(1), "");
    EXPECT_EQ(uncertain(1.01),
              "Smallest pools: the samples do not show that they cost at most 10 % for a: raise "
              "--repeat, on a machine that does nothing else.");
}

TEST(SmallestPools, NeedSeveralPoolsAndAFullAllocator) {
    EXPECT_TRUE(smallest_pools(sample_comparison({{done_result("a", 1, 7)}})).empty());
    EXPECT_TRUE(smallest_pools(with_pools({{"ring", {1, 1, 1, 1}}}, 1)).empty());
}

TEST(ComparisonTimes, HaveTheirSpread) {
    Comparison c =
        sample_comparison({{done_result("atomicmalloc", 1, 7, false), done_result("a", 2, 7)}});
    c.groups[0].baseline_pool = "1x";
    c.groups[0].report.results[0].built.milliseconds = {1, 0.98, 1.01};
    c.groups[0].report.results[1].built.milliseconds = {2, 1.5, 2.5};
    const Document document = document_of(c);
    const auto table = std::ranges::find_if(
        document.tables, [](const Table& t) { return t.title.starts_with("Pool 1x: T_build"); });
    ASSERT_NE(table, document.tables.end());
    EXPECT_EQ(table->rows[0][1].text, "1.000 ms ±1.5%");
    EXPECT_EQ(table->rows[1][1].text, "2.00x ±25%");
    EXPECT_EQ(table->rows[1][1].note, "2.000 ms ±25%");
    EXPECT_EQ(document.plots[0].lines[1].points[0].text, "2.00x ±25%, 2.000 ms");
}

}  // namespace
}  // namespace heapwood::app
