/// @file
/// Plans divided into shards, checked by what a shard has to be.
#include "app/measure/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/kdtree/dice.h"

namespace heapwood::app {
namespace {

/// Cells, and nothing that could be measured.
class BarePlan final : public Plan {
public:
    Json identity() const override { return {}; }
    Setting setting(const CellState&) const override { return {}; }
    Request request(const CellState&) const override { return {}; }
    std::string label(const CellState&) const override { return ""; }
    Outcome add(const CellState&, const Answer&) override { return Outcome::done; }
    void pass_over(const CellState&, const std::string&) override {}
};

using Unit = std::pair<std::size_t, std::size_t>;  // account and runner

BarePlan random_plan(kdtree::tests::Dice& dice) {
    BarePlan plan;
    plan.repeat = dice.below(5) + 1;
    const std::size_t cells = dice.below(60);
    for (std::size_t i = 0; i < cells; ++i) {
        plan.cells.push_back({.number = cells - 1 - i,
                              .runner = dice.below(5),
                              .account = dice.below(4),
                              .work = 1.0 + dice.below(1000),
                              .over = dice.below(5) == 0,
                              .searched = dice.below(5) > 0});
    }
    return plan;
}

TEST(Shard, ShardsAreEqualWithinAUnitAndKeepUnitsWhole) {
    kdtree::tests::Dice dice;
    for (int trial = 0; trial < 500; ++trial) {
        const BarePlan plan = random_plan(dice);
        const unsigned shards = dice.below(11) + 1;
        const std::vector<unsigned> shard = divide(plan, shards);
        ASSERT_EQ(shard.size(), plan.cells.size());
        std::map<Unit, std::set<unsigned>> owners;
        std::map<Unit, double> of_unit;
        std::map<unsigned, double> of_shard;
        double all = 0;
        for (const CellState& cell : plan.cells) {
            // A search is worth twenty turns.
            const double work =
                cell.work * ((cell.over ? 0 : plan.repeat) + (cell.searched ? 0 : 20));
            owners[{cell.account, cell.runner}].insert(shard[cell.number]);
            of_unit[{cell.account, cell.runner}] += work;
            of_shard[shard[cell.number]] += work;
            all += work;
        }
        double largest = 0;
        for (const auto& [unit, work] : of_unit) largest = std::max(largest, work);
        for (const auto& [number, work] : of_shard) {
            ASSERT_TRUE(number >= 1 && number <= shards);
            ASSERT_LE(work, all / shards + largest + 1e-6 * all);
        }
        unsigned last = 1;
        for (const auto& [unit, mine] : owners) {
            ASSERT_EQ(mine.size(), 1U);
            ASSERT_GE(*mine.begin(), last) << "units lie in a row";
            last = *mine.begin();
        }
    }
}

TEST(Shard, OneHasAll) {
    BarePlan plan;
    plan.cells = {{.number = 0, .runner = 1}, {.number = 1, .account = 2}};
    EXPECT_EQ(divide(plan, 1), (std::vector<unsigned>{1, 1}));
    EXPECT_EQ(divide(plan, 2), (std::vector<unsigned>{1, 2}));
}

}  // namespace
}  // namespace heapwood::app
