/// @file
/// Tests of the bit tricks against plain loops.
#include "allocators/platform/bits.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <random>

#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using namespace heapwood::platform;

TEST(Bits, PopcountLogAndLowestBit) {
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t v = random() >> (random() % 64);
        unsigned count = 0;
        for (unsigned b = 0; b < 32; ++b) count += static_cast<unsigned>(v >> b & 1U);
        EXPECT_EQ(popcount(static_cast<std::uint32_t>(v)), count) << v;
        if (v == 0) continue;
        unsigned log = 0;
        for (std::uint64_t rest = v; rest > 1; rest /= 2) ++log;
        EXPECT_EQ(floor_log2(v), log) << v;
        if (log < 32) {
            EXPECT_EQ(floor_log2(static_cast<std::uint32_t>(v)), log) << v;
            EXPECT_EQ(leading_zeros(static_cast<std::uint32_t>(v)), 31 - log) << v;
        }
        unsigned lowest = 0;
        while ((v >> lowest & 1U) == 0) ++lowest;
        EXPECT_EQ(lowest_bit(v), lowest) << v;
        if (lowest < 32) {
            EXPECT_EQ(lowest_bit(static_cast<std::uint32_t>(v)), lowest) << v;
        }
    }
    EXPECT_EQ(leading_zeros(0), 32U);
    EXPECT_EQ(floor_log2(std::uint64_t{1}), 0U);
    EXPECT_EQ(floor_log2(~std::uint64_t{0}), 63U);
    EXPECT_EQ(popcount(0U), 0U);
    EXPECT_EQ(popcount(~0U), 32U);
    EXPECT_EQ(popcount(~std::uint64_t{0}), 64U);
}

TEST(Bits, SomeBitsAreTheFirstOnesAndRound) {
    EXPECT_EQ(some_bits(0xf0, 1, 0), 0x10U);
    EXPECT_EQ(some_bits(0xf0, 2, 5), 0x60U);
    EXPECT_EQ(some_bits(0xf0, 3, 7), 0xb0U) << "7, then 4 and 5";
    EXPECT_EQ(some_bits(0xf0, 9, 3), 0xf0U);
    EXPECT_EQ(some_bits(0, 9, 3), 0U);
    EXPECT_EQ(some_bits(~0ULL, 2, 63), 1ULL << 63 | 1);
    EXPECT_EQ(some_bits(~0ULL, 64, 17), ~0ULL);
}

TEST(Bits, ABitHasTheRankOfThoseBelowIt) {
    const std::uint64_t word = 1ULL << 63 | 0x50U;
    EXPECT_EQ(bit_of_rank(word, 0), 4U);
    EXPECT_EQ(bit_of_rank(word, 1), 6U);
    EXPECT_EQ(bit_of_rank(word, 2), 63U);
}

TEST(Bits, Rounding) {
    for (std::uint64_t v = 0; v < 200; ++v) {
        for (std::uint64_t multiple : {1, 2, 16, 64}) {
            std::uint64_t expected = v;
            while (expected % multiple != 0) ++expected;
            EXPECT_EQ(round_up(v, multiple), expected);
            EXPECT_EQ(ceil_div(v, multiple), expected / multiple);
        }
        EXPECT_EQ(ceil_div<std::uint64_t>(v, 7), v / 7 + (v % 7 != 0 ? 1 : 0));
    }
    EXPECT_EQ(round_up(0xfffffff1U, 16U), 0U) << "wraps: callers bound v";
}

TEST(Bits, FloatsRoundTripAndKeepTheirOrder) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float ascending[] = {-kInfinity, -3e38F, -1.0F, -1e-45F, -0.0F,    0.0F,
                               1e-45F,     1e-38F, 1.0F,  2.0F,    kInfinity};
    for (std::size_t i = 0; i + 1 < std::size(ascending); ++i) {
        EXPECT_LT(float_ordered_bits(ascending[i]), float_ordered_bits(ascending[i + 1])) << i;
    }
    std::mt19937_64 random(test_seed());
    for (int i = 0; i < 10000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        const float a = bits_float(bits), b = bits_float(static_cast<std::uint32_t>(random()));
        if (a != a || b != b) continue;
        EXPECT_EQ(float_bits(a), bits);
        EXPECT_EQ(float_bits(ordered_bits_float(float_ordered_bits(a))), bits);
        if (a != b) {
            EXPECT_EQ(a < b, float_ordered_bits(a) < float_ordered_bits(b));
        }
    }
}

}  // namespace
}  // namespace heapwood::tests
