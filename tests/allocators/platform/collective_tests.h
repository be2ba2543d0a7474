/// @file
/// Tests of every collective of a warp against plain loops. Written once; a machine's source file
/// instantiates them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>

#include "allocators/platform/macros.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// Skips its tests where the machine is missing.
template <class Machine>
class CollectiveTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }
};

/// What one lane got from the collectives of a value.
template <class T>
struct ValueResult {
    T sum, min, max, inclusive_sum, inclusive_sums[3], shuffled, lesser, greater;
};

/// Passes in[i] to every collective of values, i counting rounds, warps and lanes. Floats are
/// not summed: the order would decide the result.
template <class T>
struct ValueBody {
    const T* in;
    const unsigned* source;
    ValueResult<T>* out;
    unsigned warps, rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        for (unsigned r = 0; r < rounds; ++r) {
            const unsigned i = (r * warps + w) * W::width + warp.lane();
            ValueResult<T> result{};
            if constexpr (std::is_integral_v<T>) {
                // A share that cannot overflow.
                result.sum = warp.sum(static_cast<T>(in[i] / 64));
                result.inclusive_sum = warp.inclusive_sum(static_cast<T>(in[i] / 64));
                for (unsigned k = 0; k < 3; ++k) {
                    result.inclusive_sums[k] = static_cast<T>(in[i] / (64U << k));
                }
                warp.inclusive_sums(result.inclusive_sums);
            }
            result.min = warp.min(in[i]);
            result.max = warp.max(in[i]);
            result.shuffled = warp.shuffle(in[i], source[i]);
            if constexpr (std::is_same_v<T, float>) {
                result.lesser = platform::ordered_min(in[i], result.shuffled);
                result.greater = platform::ordered_max(in[i], result.shuffled);
            }
            out[i] = result;
        }
    }
};

/// A random value of T over its whole range; of floats all but NaN, often a zero or infinity.
template <class T, class Random>
T random_value(Random& random) {
    if constexpr (std::is_same_v<T, float>) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        constexpr float kSpecial[] = {0.0F, -0.0F, kInfinity, -kInfinity, 1e-45F, -1e-45F};
        const auto bits = static_cast<std::uint32_t>(random());
        const auto value = std::bit_cast<float>(bits);
        const bool special = random() % 8 == 0 || value != value;
        return special ? kSpecial[bits % std::size(kSpecial)] : value;
    } else {
        return static_cast<T>(random());
    }
}

/// Whether a comes before b; -0 comes before +0.
template <class T>
bool comes_before(T a, T b) {
    if constexpr (std::is_same_v<T, float>)
        return a < b || (a == b && std::signbit(a) && !std::signbit(b));
    else
        return a < b;
}

/// Whether a and b have the same bits.
template <class T>
bool same(T a, T b) {
    return !comes_before(a, b) && !comes_before(b, a);
}

template <class Machine, class T>
void test_values() {
    constexpr unsigned kWarps = 3, kRounds = 40, kWidth = Machine::Warp::width;
    constexpr unsigned kSize = kWarps * kRounds * kWidth;
    std::mt19937_64 random(test_seed());
    typename Machine::template Array<T> in(kSize);
    typename Machine::template Array<unsigned> source(kSize);
    typename Machine::template Array<ValueResult<T>> out(kSize);
    for (unsigned i = 0; i < kSize; ++i) {
        in[i] = random_value<T>(random);
        source[i] = static_cast<unsigned>(random() % kWidth);
    }
    if constexpr (std::is_same_v<T, float>) {
        // A warp of nothing but zeros of either sign: no order of the lanes may show.
        for (unsigned i = 0; i < kWidth; ++i) in[i] = random() % 2 == 0 ? 0.0F : -0.0F;
    }

    Machine::run(kWarps, ValueBody<T>{in.data(), source.data(), out.data(), kWarps, kRounds});

    for (unsigned first = 0; first < kSize; first += kWidth) {
        T sum{}, sums[3]{}, lowest = in[first], highest = in[first];
        for (unsigned i = first; i < first + kWidth; ++i) {
            if (comes_before(in[i], lowest)) lowest = in[i];
            if (comes_before(highest, in[i])) highest = in[i];
            if constexpr (std::is_integral_v<T>) sum = static_cast<T>(sum + in[i] / 64);
            EXPECT_TRUE(same(out[i].inclusive_sum, sum)) << "value " << i;
            for (unsigned k = 0; k < 3; ++k) {
                if constexpr (std::is_integral_v<T>) {
                    sums[k] = static_cast<T>(sums[k] + in[i] / (64U << k));
                }
                EXPECT_TRUE(same(out[i].inclusive_sums[k], sums[k])) << "value " << i;
            }
        }
        for (unsigned i = first; i < first + kWidth; ++i) {
            EXPECT_TRUE(same(out[i].sum, sum)) << "value " << i;
            EXPECT_TRUE(same(out[i].min, lowest)) << "value " << i;
            EXPECT_TRUE(same(out[i].max, highest)) << "value " << i;
            const T other = in[first + source[i]];
            EXPECT_TRUE(same(out[i].shuffled, other)) << "value " << i;
            if constexpr (std::is_same_v<T, float>) {
                const bool falls = comes_before(other, in[i]);
                EXPECT_TRUE(same(out[i].lesser, falls ? other : in[i])) << "value " << i;
                EXPECT_TRUE(same(out[i].greater, falls ? in[i] : other)) << "value " << i;
            }
        }
    }
}

/// What one lane got from the votes.
struct VoteResult {
    std::uint32_t ballot, match;
    bool any, all;
    unsigned rank, count, lane;
};

/// Passes in[i] to every vote, i as in ValueBody.
struct VoteBody {
    const unsigned char* in;
    VoteResult* out;
    unsigned warps, rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        for (unsigned r = 0; r < rounds; ++r) {
            const unsigned i = (r * warps + w) * W::width + warp.lane();
            const bool p = in[i] != 0;
            out[i] = {warp.ballot(p), warp.match(word(in[i], warp.lane())),
                      warp.any(p),    warp.all(p),
                      warp.rank(p),   warp.count(p),
                      warp.lane()};
        }
    }

    /// What a lane compares with the others': one of six words.
    HEAPWOOD_FN static std::uint32_t word(unsigned char in, unsigned lane) {
        return lane % 3 << 30 | in;
    }
};

/// In every round each lane writes a mailbox, syncs, and reads another lane's. Plain memory:
/// only `sync` orders it.
struct MailboxBody {
    std::uint32_t* mailbox;
    unsigned* wrong;
    unsigned rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned first = w * W::width;
        unsigned mistakes = 0;
        for (unsigned r = 0; r < rounds; ++r) {
            mailbox[first + warp.lane()] = letter(r, first + warp.lane());
            warp.sync();
            const unsigned other = first + (warp.lane() + r) % W::width;
            mistakes += mailbox[other] != letter(r, other) ? 1U : 0U;
            warp.sync();
        }
        wrong[first + warp.lane()] = mistakes;
    }

    HEAPWOOD_FN static std::uint32_t letter(unsigned round, unsigned lane) {
        return round * 0x9e3779b9U ^ lane;
    }
};

TYPED_TEST_SUITE_P(CollectiveTest);

TYPED_TEST_P(CollectiveTest, ValuesOfUint32) {
    test_values<TypeParam, std::uint32_t>();
}
TYPED_TEST_P(CollectiveTest, ValuesOfInt32) {
    test_values<TypeParam, std::int32_t>();
}
TYPED_TEST_P(CollectiveTest, ValuesOfUint64) {
    test_values<TypeParam, std::uint64_t>();
}
TYPED_TEST_P(CollectiveTest, ValuesOfInt64) {
    test_values<TypeParam, std::int64_t>();
}
TYPED_TEST_P(CollectiveTest, ValuesOfFloat) {
    test_values<TypeParam, float>();
}

TYPED_TEST_P(CollectiveTest, Votes) {
    constexpr unsigned kWarps = 3, kRounds = 60, kWidth = TypeParam::Warp::width;
    constexpr unsigned kSize = kWarps * kRounds * kWidth;
    std::mt19937_64 random(test_seed());
    typename TypeParam::template Array<unsigned char> in(kSize);
    typename TypeParam::template Array<VoteResult> out(kSize);
    for (unsigned i = 0; i < kSize; i += kWidth) {
        // Nobody, everybody, everybody but few, few, and half of them.
        const std::uint64_t threshold = std::array{0U, 100U, 95U, 5U, 50U}[random() % 5];
        for (unsigned lane = 0; lane < kWidth; ++lane) in[i + lane] = random() % 100 < threshold;
    }

    TypeParam::run(kWarps, VoteBody{in.data(), out.data(), kWarps, kRounds});

    for (unsigned first = 0; first < kSize; first += kWidth) {
        std::uint32_t ballot = 0;
        unsigned count = 0;
        for (unsigned lane = 0; lane < kWidth; ++lane) {
            EXPECT_EQ(out[first + lane].lane, lane);
            EXPECT_EQ(out[first + lane].rank, count) << "vote " << first + lane;
            if (in[first + lane] != 0) {
                ballot |= 1U << lane;
                ++count;
            }
        }
        for (unsigned i = first; i < first + kWidth; ++i) {
            EXPECT_EQ(out[i].ballot, ballot) << "vote " << i;
            std::uint32_t match = 0;
            for (unsigned lane = 0; lane < kWidth; ++lane) {
                const bool same =
                    VoteBody::word(in[first + lane], lane) == VoteBody::word(in[i], i - first);
                match |= (same ? 1U : 0U) << lane;
            }
            EXPECT_EQ(out[i].match, match) << "vote " << i;
            EXPECT_EQ(out[i].any, count > 0) << "vote " << i;
            EXPECT_EQ(out[i].all, count == kWidth) << "vote " << i;
            EXPECT_EQ(out[i].count, count) << "vote " << i;
        }
    }
}

TYPED_TEST_P(CollectiveTest, SyncOrdersMemory) {
    constexpr unsigned kWarps = 4, kSize = kWarps * TypeParam::Warp::width;
    typename TypeParam::template Array<std::uint32_t> mailbox(kSize);
    typename TypeParam::template Array<unsigned> wrong(kSize);
    std::fill(wrong.begin(), wrong.end(), 1U);

    TypeParam::run(kWarps, MailboxBody{mailbox.data(), wrong.data(), 200});

    EXPECT_EQ(std::count(wrong.begin(), wrong.end(), 0U), kSize);
}

REGISTER_TYPED_TEST_SUITE_P(CollectiveTest, ValuesOfUint32, ValuesOfInt32, ValuesOfUint64,
                            ValuesOfInt64, ValuesOfFloat, Votes, SyncOrdersMemory);

}  // namespace heapwood::tests
