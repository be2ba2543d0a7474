/// @file
/// The arithmetic of the buddy allocator's words and tree against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "allocators/buddy/tree.cuh"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::allocators {

namespace {

using tests::Dice;
using tests::test_seed;

TEST(BuddyWord, FindsAlignedRuns) {
    Dice dice{test_seed()};
    for (int i = 0; i < 3000; ++i) {
        auto free = static_cast<std::uint32_t>(dice.next() | (i % 2 == 0 ? dice.next() : 0));
        if (i % 3 == 0) free |= static_cast<std::uint32_t>(0xffU << dice.below(25));
        if (i == 0) free = ~0U;
        for (std::uint32_t order = 0; order <= 5; ++order) {
            std::uint32_t expected = 0;
            for (std::uint32_t u = 0; u < 32; u += 1U << order) {
                bool all = true;
                for (std::uint32_t v = u; v < u + (1U << order); ++v) all = all && (free >> v & 1);
                expected |= std::uint32_t{all} << u;
            }
            ASSERT_EQ(buddy::runs(free, order), expected) << std::hex << free << " " << order;
            if (expected == 0 || order == 5) continue;
            const auto start = static_cast<std::uint32_t>(dice.below(32));
            const std::uint32_t unit = buddy::choose(expected, order, start);
            ASSERT_NE(expected >> unit & 1, 0U);
            // Alone among its kind, or none is.
            const auto alone = [&](std::uint32_t u) {
                return (expected >> (u ^ (1U << order)) & 1) == 0;
            };
            std::vector<std::uint32_t> best;
            for (const bool want : {true, false}) {
                if (!best.empty()) break;
                for (std::uint32_t u = 0; u < 32; ++u) {
                    if ((expected >> u & 1) != 0 && alone(u) == want) best.push_back(u);
                }
            }
            const auto later = std::ranges::lower_bound(best, start);
            ASSERT_EQ(unit, later != best.end() ? *later : best.front());
        }
    }
}

TEST(BuddyTree, NumbersEveryWordOnce) {
    for (const std::uint64_t leaves : {256U, 1024U, 1025U, 32768U, 32769U, 1234567U}) {
        const auto tree = buddy::Tree::of(leaves);
        EXPECT_EQ(tree.words(tree.top), 1U);
        EXPECT_EQ(tree.first(tree.top), buddy::Tree::kRoot);
        for (std::uint32_t level = 0; level < tree.top; ++level) {
            EXPECT_EQ(tree.words(level),
                      (leaves + (32ULL << 5 * level) - 1) / (32ULL << 5 * level));
            for (std::uint32_t i = 0; i < tree.words(level); ++i) {
                const buddy::Node node = tree.first(level) + i;
                const buddy::Node parent = buddy::Tree::parent(node);
                ASSERT_EQ(parent, tree.first(level + 1) + i / 32);
                ASSERT_EQ(buddy::Tree::child(parent, i % 32), node);
                ASSERT_LT(node, level == 0 ? tree.places() : tree.first(level - 1));
            }
        }
    }
}

}  // namespace

}  // namespace heapwood::allocators
