/// @file
/// The cost of a split against the formula in double precision, who goes where, and which of
/// several splits a warp chooses.
#include "kdtree/model/sah.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "tests/allocators/platform/lockstep_warp.h"
#include "tests/kdtree/dice.h"

namespace heapwood::kdtree::tests {
namespace {

using heapwood::tests::LockstepWarp;
using heapwood::tests::run_lockstep;

/// A model whose scale suits coordinates below 2^exponent.
CostModel model_for(int exponent) {
    return {.traversal = 1.0F,
            .intersection = 1.5F,
            .empty_traversal = 0.9F,
            .empty_intersection = 1.2F,
            .empty_must_pay = false,
            .scale = std::ldexp(1.0F, 1 - exponent)};
}

/// Half the area of a box, or the sum of its edges; in units of the model's scale.
double measure(const Box& box, double scale, bool by_length) {
    const double x = (double{box.hi.x} - double{box.lo.x}) * scale;
    const double y = (double{box.hi.y} - double{box.lo.y}) * scale;
    const double z = (double{box.hi.z} - double{box.lo.z}) * scale;
    return by_length ? x + y + z : x * y + y * z + z * x;
}

double exact_cost(const Box& cell, const CostModel& model, unsigned axis, float position,
                  unsigned left, unsigned right) {
    Box below = cell;
    Box above = cell;
    set_component(below.hi, axis, position);
    set_component(above.lo, axis, position);
    const double scale = model.scale;
    const bool by_length = measure(cell, scale, false) == 0;
    const double tests =
        (measure(below, scale, by_length) * left + measure(above, scale, by_length) * right) /
        measure(cell, scale, by_length);
    return left == 0 || right == 0
               ? double{model.empty_traversal} + double{model.empty_intersection} * tests
               : double{model.traversal} + double{model.intersection} * tests;
}

Box random_cell(Dice& dice, int exponent) {
    const float size = std::ldexp(1.0F, exponent);
    Box cell{dice.point(-0.9F, 0.9F), {}};
    // Extents of very different sizes, for a cell far down in a tree is seldom a cube.
    const auto extent = [&] { return std::ldexp(dice.uniform(0.5F, 1), -dice.integer(1, 8)); };
    const float x = extent();
    const float y = extent();
    cell.hi = cell.lo + glm::vec3{x, y, extent()};
    cell.lo *= size;
    cell.hi *= size;
    return cell;
}

TEST(Sah, CostAgreesWithTheFormulaInDoublePrecision) {
    Dice dice;
    for (int i = 0; i < 20000; ++i) {
        const int exponent = dice.integer(-99, 99);
        Box cell = random_cell(dice, exponent);
        // Flat along none, one or two axes.
        for (int flat = dice.integer(-2, 2); flat > 0; --flat) {
            const unsigned axis = dice.below(3);
            set_component(cell.hi, axis, component(cell.lo, axis));
        }
        const CostModel model = model_for(exponent);
        const CellMeasure cell_measure(cell, model);
        const unsigned axis = dice.below(3);
        const float lo = component(cell.lo, axis);
        const float hi = component(cell.hi, axis);
        if (!(measure(cell, model.scale, true) > 0)) continue;
        const float position = std::clamp(dice.uniform(lo, hi), lo, hi);
        const unsigned left = dice.below(1000) * dice.below(2);
        const unsigned right = dice.below(1000) * dice.below(2);
        const double exact = exact_cost(cell, model, axis, position, left, right);
        const double cost = cell_measure.cost(axis, position, left, right);
        ASSERT_NEAR(cost, exact, exact * 2e-6)
            << i << ": axis " << axis << " of 2^" << exponent << ", " << left << " + " << right;
    }
}

TEST(Sah, CostByHand) {
    // A cube of area 6 (half: 3), cut in the middle: slabs of half area 2 each.
    const Box cube{{0, 0, 0}, {1, 1, 1}};
    const CostModel model{1, 1.5F, 0.8F, 0.8F * 1.5F, false, 1};
    EXPECT_FLOAT_EQ(CellMeasure(cube, model).cost(1, 0.5F, 3, 6), 1 + 1.5F * (2 * 3 + 2 * 6) / 3);
    EXPECT_FLOAT_EQ(CellMeasure(cube, model).cost(1, 0.5F, 0, 6), 0.8F * (1 + 1.5F * 2 * 6 / 3));
    // A square of half area 1, cut at a quarter; across it, both sides are the whole square.
    const Box square{{0, 0, 5}, {1, 1, 5}};
    EXPECT_FLOAT_EQ(CellMeasure(square, model).cost(0, 0.25F, 4, 8), 1 + 1.5F * (1 + 6));
    EXPECT_FLOAT_EQ(CellMeasure(square, model).cost(2, 5, 4, 8), 1 + 1.5F * 12);
    // A line has no area; its lengths are compared.
    const Box line{{1, 0, 5}, {3, 0, 5}};
    EXPECT_FLOAT_EQ(CellMeasure(line, model).cost(0, 1.5F, 4, 8), 1 + 1.5F * (1 + 6));
}

TEST(Sah, ACutOfEmptySpaceMustPay) {
    // A leaf of 4 costs 6; of the cube of half area 3, a slab of width w has 1 + 2 w.
    const Box cube{{0, 0, 0}, {1, 1, 1}};
    CostModel model{1, 1.5F, 0.8F, 0.8F * 1.5F, true, 1};
    // 1 + 6 * (1 + 2 * 0.75) / 3 = 6: no gain.
    EXPECT_TRUE(std::isnan(CellMeasure(cube, model).cost(0, 0.75F, 4, 0)));
    EXPECT_TRUE(std::isnan(CellMeasure(cube, model).cost(2, 0.25F, 0, 4)));
    EXPECT_FLOAT_EQ(CellMeasure(cube, model).cost(2, 0.5F, 0, 4), 0.8F * (1 + 6 * 2 / 3.0F));
    EXPECT_FLOAT_EQ(CellMeasure(cube, model).cost(0, 0.75F, 4, 4), 1 + 1.5F * 4 * (2.5F + 1.5F) / 3)
        << "whose children are both not empty need not";
    model.empty_must_pay = false;
    EXPECT_FLOAT_EQ(CellMeasure(cube, model).cost(0, 0.75F, 4, 0), 0.8F * 6);
}

TEST(Sah, HalfAreaByHand) {
    EXPECT_EQ(half_area({{0, 0, 0}, {1, 2, 3}}, 1), 2 + 3 + 6);
    EXPECT_EQ(half_area({{-1, 0, 5}, {1, 2, 5}}, 0.5F), 1) << "flat, and scaled";
    EXPECT_EQ(half_area({{-3e38F, -3e38F, 0}, {3e38F, 3e38F, 0}}, 0x1p-127F),
              half_area({{-3e38F * 0x1p-127F, -3e38F * 0x1p-127F, 0},
                         {3e38F * 0x1p-127F, 3e38F * 0x1p-127F, 0}},
                        1));
}

TEST(Sah, EveryReferenceGoesSomewhere) {
    const float values[] = {-1, 0, 1, 2};
    for (const float lo : values) {
        for (const float hi : values) {
            if (hi < lo) continue;
            for (const float position : values) {
                for (const Side side : {Side::left, Side::right}) {
                    const bool left = goes_left(lo, hi, position, side);
                    const bool right = goes_right(lo, hi, position, side);
                    const bool in_plane = lo == position && hi == position;
                    EXPECT_EQ(left, lo < position || (in_plane && side == Side::left) ||
                                        (hi == position && lo < position));
                    EXPECT_EQ(right, hi > position || (in_plane && side == Side::right) ||
                                         (lo == position && hi > position));
                    EXPECT_TRUE(left || right);
                    EXPECT_EQ(left && right, lo < position && position < hi);
                }
            }
        }
    }
}

struct Offer {
    float cost;
    unsigned axis;
    Side side;
    float position;
    unsigned left;
    unsigned right;

    auto key() const { return std::tuple(cost, axis, side == Side::left, position); }
};

/// Few different values, so that all kinds of ties occur; equal planes have equal counts.
std::vector<Offer> random_offers(Dice& dice, unsigned count) {
    std::vector<Offer> offers(count);
    for (Offer& o : offers) {
        o.cost = static_cast<float>(dice.integer(3, 5));
        o.axis = dice.below(3);
        o.side = dice.below(2) == 0 ? Side::left : Side::right;
        o.position = static_cast<float>(dice.integer(-2, 2)) * 0.25F;
        o.left = o.axis * 100 + (o.side == Side::left ? 50 : 0) +
                 static_cast<unsigned>(o.position * 4 + 8);
        o.right = 1000 - o.left;
    }
    return offers;
}

void expect_choice(const Choice& choice, const Offer& best) {
    const Split& split = choice.split;
    EXPECT_EQ(choice.cost, best.cost);
    EXPECT_EQ(split.axis, best.axis);
    EXPECT_EQ(split.position, best.position);
    EXPECT_EQ(split.side, best.side);
    EXPECT_EQ(split.left, best.left);
    EXPECT_EQ(split.right, best.right);
}

const Offer& best_of(const std::vector<Offer>& offers) {
    return *std::min_element(offers.begin(), offers.end(),
                             [](const Offer& a, const Offer& b) { return a.key() < b.key(); });
}

void make_offer(BestSplit& best, const Offer& o) {
    best.offer(o.cost, o.axis, o.side, o.position, o.left, o.right);
}

TEST(Choose, TakesTheFirstByCostAxisSidePosition) {
    Dice dice;
    for (int i = 0; i < 5000; ++i) {
        const auto offers = random_offers(dice, 1 + dice.below(8));
        BestSplit best;
        // What does not pay comes after all that does.
        if (i % 2 == 0) best.offer(std::nanf(""), 0, Side::right, -9, 1, 1);
        for (const Offer& o : offers) make_offer(best, o);
        expect_choice(choose(platform::SerialWarp{}, best), best_of(offers));
    }
}

TEST(Choose, WithoutOffersHasNoCost) {
    EXPECT_TRUE(std::isnan(choose(platform::SerialWarp{}, BestSplit{}).cost));
}

TEST(Choose, IsTheSameForAllLanes) {
    constexpr int kRounds = 50;
    Dice dice;
    std::vector<std::vector<Offer>> offers(kRounds);
    for (auto& round : offers) round = random_offers(dice, 1 + dice.below(100));
    std::vector<Choice> choices(std::size_t{kRounds} * LockstepWarp::width);
    run_lockstep(1, [&](const LockstepWarp& warp, unsigned) {
        for (std::size_t i = 0; i < kRounds; ++i) {
            BestSplit best;
            for (std::size_t k = warp.lane(); k < offers[i].size(); k += LockstepWarp::width) {
                make_offer(best, offers[i][k]);
            }
            choices[i * LockstepWarp::width + warp.lane()] = choose(warp, best);
        }
    });
    for (std::size_t i = 0; i < choices.size(); ++i) {
        expect_choice(choices[i], best_of(offers[i / LockstepWarp::width]));
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
