/// @file
/// Trees of bits against std::set, and by many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "allocators/segments/bit_tree.cuh"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::segments::BitTree;
using allocators::segments::kNone;
using allocators::segments::TreeShape;

/// A tree and its words.
struct OwnTree {
    explicit OwnTree(std::uint32_t bits)
        : shape(TreeShape::of(bits)), words(shape.words()), tree(words.data(), shape) {}

    /// Whether each summary's bit says that the word below is not 0; one of an empty word may be
    /// there if `late`.
    void expect_summaries(bool late) const {
        for (std::uint32_t level = 1; level < shape.levels; ++level) {
            for (std::uint32_t i = 0; i < shape.first[level] - shape.first[level - 1]; ++i) {
                const bool said = (words[shape.first[level] + i / 64] >> i % 64 & 1) != 0;
                const bool is = words[shape.first[level - 1] + i] != 0;
                ASSERT_TRUE(said == is || (late && said)) << "level " << level << ", word " << i;
            }
        }
    }

    TreeShape shape;
    std::vector<std::uint64_t> words;
    BitTree tree;
};

TEST(BitTree, HasTheLevelsItNeeds) {
    EXPECT_EQ(TreeShape::of(1).levels, 1U);
    EXPECT_EQ(TreeShape::of(64).words(), 1U);
    EXPECT_EQ(TreeShape::of(65).levels, 2U);
    EXPECT_EQ(TreeShape::of(65).words(), 3U);
    EXPECT_EQ(TreeShape::of(4096).words(), 65U);
    EXPECT_EQ(TreeShape::of(4097).levels, 3U);
    EXPECT_EQ(TreeShape::of(TreeShape::kMostBits).words(), (1U << 24) + (1U << 18) + 4096 + 64 + 1);
}

TEST(BitTree, IsASet) {
    Dice dice{test_seed()};
    for (const std::uint32_t bits : {1U, 5U, 64U, 65U, 700U, 4096U, 4097U, 100000U}) {
        OwnTree own(bits);
        std::set<std::uint32_t> model;
        for (unsigned step = 0; step < 4000; ++step) {
            const auto i = static_cast<std::uint32_t>(dice.below(bits));
            // Now the set grows, now it shrinks, to nothing now and then.
            const bool grows = step / 500 % 2 == 0;
            if (dice.below(16) == 0) {
                // Several of one word.
                const std::uint32_t last = std::min(bits - i / 64 * 64, 64U) - 1;
                const std::uint64_t some =
                    dice.next() & dice.next() & ~std::uint64_t{0} >> (63 - last);
                std::uint64_t was = 0;
                for (std::uint32_t b = 0; b < 64; ++b) {
                    if ((some >> b & 1) == 0) continue;
                    const std::uint32_t n = i / 64 * 64 + b;
                    was |= std::uint64_t{model.contains(n)} << b;
                    grows ? (void)model.insert(n) : (void)model.erase(n);
                }
                if (some == 0) continue;
                if (grows) {
                    own.tree.set(i / 64, some);
                } else {
                    ASSERT_EQ(own.tree.clear(i / 64, some), was);
                }
            } else if (dice.below(4) < (grows ? 3 : 1)) {
                own.tree.set(i);
                model.insert(i);
            } else {
                // Mostly one that is there.
                const auto there = model.lower_bound(i);
                const std::uint32_t n = there == model.end() ? i : *there;
                ASSERT_EQ(own.tree.clear(n), model.erase(n) == 1);
            }
            const auto from = static_cast<std::uint32_t>(dice.below(bits));
            const auto next = model.lower_bound(from);
            ASSERT_EQ(own.tree.find(from), next == model.end() ? kNone : *next);
            if (step % 100 == 0) own.expect_summaries(false);
        }
        while (!model.empty()) {
            ASSERT_EQ(own.tree.find(0), *model.begin());
            ASSERT_TRUE(own.tree.clear(*model.begin()));
            model.erase(model.begin());
        }
        EXPECT_EQ(own.tree.find(0), kNone);
        own.expect_summaries(false);
    }
}

/// Threads that remove whatever they find, and set it again: each number has one owner at a time,
/// what an owner writes the next one reads, and at the end all numbers are found.
TEST(BitTree, GivesANumberToOneThread) {
    constexpr std::uint32_t kBits = 200;
    constexpr unsigned kThreads = 6;
    OwnTree own(kBits);
    for (std::uint32_t i = 0; i < kBits; i += 5) own.tree.set(i);
    std::vector<unsigned> owner(kBits, 0);  // not atomic: owners pass it on by the tree
    std::atomic<unsigned> strangers{0};
    const std::uint64_t seed = test_seed();
    std::vector<std::thread> threads;
    for (unsigned t = 1; t <= kThreads; ++t) {
        threads.emplace_back([&, t] {
            Dice dice{seed + t};
            for (unsigned round = 0; round < 20000; ++round) {
                std::uint32_t i = own.tree.find(static_cast<std::uint32_t>(dice.below(kBits)));
                if (i == kNone || !own.tree.clear(i)) continue;
                if (owner[i] != 0) strangers.fetch_add(1);
                owner[i] = t;
                if (dice.below(8) == 0) std::this_thread::yield();
                owner[i] = 0;
                own.tree.set(i);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(strangers.load(), 0U);
    own.expect_summaries(true);
    for (std::uint32_t i = 0; i < kBits; i += 5) EXPECT_EQ(own.tree.find(i), i);
}

}  // namespace

}  // namespace heapwood::tests
