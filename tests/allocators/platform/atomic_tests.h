/// @file
/// Tests of what AtomicRef's methods do: each by one thread, and counted under contention. Written
/// once; a machine's source file instantiates them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/warp.cuh"
#include "tests/allocators/platform/machines.h"
#include "tests/seed.h"

namespace heapwood::tests {

using platform::AtomicRef;

/// Skips its tests where the machine is missing.
template <class Machine>
class AtomicTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }
};

/// Shared objects of CountBody, each hit by every thread in every round.
template <class T>
struct Counters {
    T add_relaxed, add_acq_rel, sub_relaxed, sub_acq_rel, counted, min, max, cas, exchanged;
};

/// Every thread changes every counter `rounds` times and keeps what it was told.
template <class T>
struct CountBody {
    Counters<T>* counters;
    const T* values;             // of thread t: [t * rounds, (t + 1) * rounds)
    unsigned char* add_tickets;  // how often add_relaxed returned i
    unsigned char* sub_tickets;  // how often sub_acq_rel returned i
    T* exchanged;                // what thread t's exchanges returned, as values
    unsigned rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        for (unsigned i = t * rounds; i < (t + 1) * rounds; ++i) {
            // Each ticket is returned once, so that the increment needs to be no atomic.
            ++add_tickets[AtomicRef(counters->add_relaxed).add_relaxed(1)];
            ++sub_tickets[AtomicRef(counters->sub_acq_rel).sub_acq_rel(1)];
            AtomicRef(counters->add_acq_rel).add_acq_rel(3);
            AtomicRef(counters->sub_relaxed).sub_relaxed(2);
            AtomicRef(counters->counted).count_relaxed(5);
            AtomicRef(counters->min).min_relaxed(values[i]);
            AtomicRef(counters->max).max_relaxed(values[i]);
            exchanged[i] = AtomicRef(counters->exchanged).exchange_acq_rel(values[i]);

            const AtomicRef cas(counters->cas);
            T seen = cas.load_relaxed();
            while (!cas.cas_relaxed(seen, static_cast<T>(seen + 1))) {
            }
        }
    }
};

template <class Machine, class T>
void test_counts() {
    constexpr unsigned kWarps = 4, kRounds = 50;
    constexpr unsigned kThreads = kWarps * Machine::Warp::width, kSize = kThreads * kRounds;
    std::mt19937_64 random(test_seed());
    typename Machine::template Array<Counters<T>> counters(1);
    typename Machine::template Array<T> values(kSize), exchanged(kSize);
    typename Machine::template Array<unsigned char> add_tickets(kSize), sub_tickets(kSize + 1);
    for (T& v : values) v = static_cast<T>(random());
    Counters<T>& c = counters[0];
    c.sub_relaxed = c.sub_acq_rel = static_cast<T>(2 * kSize);
    c.sub_acq_rel = static_cast<T>(kSize);
    c.min = std::numeric_limits<T>::max();
    c.max = std::numeric_limits<T>::min();
    c.exchanged = 4711;

    Machine::run(kWarps, CountBody<T>{counters.data(), values.data(), add_tickets.data(),
                                      sub_tickets.data(), exchanged.data(), kRounds});

    EXPECT_EQ(c.add_relaxed, static_cast<T>(kSize));
    EXPECT_EQ(c.add_acq_rel, static_cast<T>(3 * kSize));
    EXPECT_EQ(c.sub_relaxed, 0);
    EXPECT_EQ(c.sub_acq_rel, 0);
    EXPECT_EQ(c.counted, static_cast<T>(5 * kSize));
    EXPECT_EQ(c.cas, static_cast<T>(kSize));
    EXPECT_EQ(c.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(c.max, *std::max_element(values.begin(), values.end()));
    EXPECT_TRUE(std::all_of(add_tickets.begin(), add_tickets.end(), [](int n) { return n == 1; }));
    EXPECT_EQ(sub_tickets[0], 0);
    EXPECT_TRUE(
        std::all_of(sub_tickets.begin() + 1, sub_tickets.end(), [](int n) { return n == 1; }));

    // Exchanges lose and invent nothing: what went in came out, but for the last value.
    std::vector<T> in(values.begin(), values.end()), out(exchanged.begin(), exchanged.end());
    in.push_back(4711);
    out.push_back(c.exchanged);
    std::sort(in.begin(), in.end());
    std::sort(out.begin(), out.end());
    EXPECT_EQ(in, out);
}

/// What a single thread sees of each method.
template <class T, platform::Scope kScope = platform::Scope::device>
struct AloneBody {
    T* object;
    unsigned* wrong;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned) const {
        if (warp.lane() != 0) return;
        const AtomicRef<T, kScope> a(*object);
        unsigned failures = 0, step = 0;
        const auto require = [&](bool right) {
            ++step;
            if (!right && failures == 0) failures = step;
        };
        a.store_relaxed(40);
        require(a.load_relaxed() == 40 && *object == 40);
        a.store_release(41);
        require(a.load_acquire() == 41);
        require(a.add_relaxed(2) == 41 && a.add_acq_rel(2) == 43 && a.load_relaxed() == 45);
        require(a.sub_relaxed(1) == 45 && a.sub_acq_rel(2) == 44 && a.load_relaxed() == 42);
        require(a.or_acq_rel(5) == 42 && a.and_acq_rel(~T{8}) == 47 && a.load_relaxed() == 39);
        require(a.and_acquire(~T{4}) == 39 && a.load_relaxed() == 35);
        a.set_release(12);
        require(a.and_acq_rel(~T{8}) == 47 && a.load_relaxed() == 39);
        a.set_relaxed(8);
        require(a.add_acquire(-T{4}) == 47 && a.load_relaxed() == 43);
        require(a.add_acquire(5) == 43 && a.sub_release(5) == 48 && a.load_relaxed() == 43);
        require(a.or_acquire(12) == 43 && a.and_release(~T{12}) == 47 && a.load_relaxed() == 35);
        require(a.exchange_acq_rel(7) == 35 && a.load_relaxed() == 7);
        a.count_relaxed(3);
        a.min_relaxed(11);
        a.max_relaxed(9);
        require(a.load_relaxed() == 10);
        a.min_relaxed(6);
        require(a.load_relaxed() == 6);
        a.max_relaxed(8);
        require(a.load_relaxed() == 8);
        T expected = 9;
        require(!a.cas_relaxed(expected, 1) && expected == 8 && a.load_relaxed() == 8);
        require(a.cas_relaxed(expected, 1) && expected == 8 && a.load_relaxed() == 1);
        require(!a.cas_acq_rel(expected, 2) && expected == 1 && a.load_relaxed() == 1);
        require(a.cas_acq_rel(expected, 2) && expected == 1 && a.load_relaxed() == 2);
        *wrong = failures;
    }
};

template <class Machine, class T>
void test_alone() {
    typename Machine::template Array<T> object(1);
    typename Machine::template Array<unsigned> wrong(1);
    wrong[0] = 99;
    Machine::run(1, AloneBody<T>{object.data(), wrong.data()});
    EXPECT_EQ(wrong[0], 0U) << "the first step that went wrong";
}

/// Every thread sets, and then clears, its own bits of shared words; they touch no one else's.
template <class T>
struct BitsBody {
    T* words;  // bit t % bits of word t / bits is thread t's
    unsigned* wrong;
    unsigned rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        constexpr unsigned kBits = sizeof(T) * 8 - 1;  // of a signed T the sign stays out
        const unsigned t = w * W::width + warp.lane();
        const T mine = static_cast<T>(T{1} << (t % kBits));
        const AtomicRef word(words[t / kBits]);
        unsigned mistakes = 0;
        for (unsigned r = 0; r < rounds; ++r) {
            mistakes += (word.or_acq_rel(mine) & mine) != 0 ? 1U : 0U;
            mistakes += (word.and_acq_rel(static_cast<T>(~mine)) & mine) == 0 ? 1U : 0U;
        }
        word.or_acq_rel(mine);
        wrong[t] = mistakes;
    }
};

template <class Machine, class T>
void test_bits() {
    constexpr unsigned kWarps = 4, kThreads = kWarps * Machine::Warp::width;
    constexpr unsigned kBits = sizeof(T) * 8 - 1, kWords = (kThreads + kBits - 1) / kBits;
    typename Machine::template Array<T> words(kWords);
    typename Machine::template Array<unsigned> wrong(kThreads);
    Machine::run(kWarps, BitsBody<T>{words.data(), wrong.data(), 100});
    EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U);
    for (unsigned t = 0; t < kThreads; ++t) {
        EXPECT_NE(words[t / kBits] & static_cast<T>(T{1} << (t % kBits)), 0) << "thread " << t;
    }
}

TYPED_TEST_SUITE_P(AtomicTest);

TYPED_TEST_P(AtomicTest, AloneUint32) {
    test_alone<TypeParam, std::uint32_t>();
}
TYPED_TEST_P(AtomicTest, AloneInt32) {
    test_alone<TypeParam, std::int32_t>();
}
TYPED_TEST_P(AtomicTest, AloneUint64) {
    test_alone<TypeParam, std::uint64_t>();
}
TYPED_TEST_P(AtomicTest, AloneInt64) {
    test_alone<TypeParam, std::int64_t>();
}
TYPED_TEST_P(AtomicTest, CountsUint32) {
    test_counts<TypeParam, std::uint32_t>();
}
TYPED_TEST_P(AtomicTest, CountsInt32) {
    test_counts<TypeParam, std::int32_t>();
}
TYPED_TEST_P(AtomicTest, CountsUint64) {
    test_counts<TypeParam, std::uint64_t>();
}
TYPED_TEST_P(AtomicTest, CountsInt64) {
    test_counts<TypeParam, std::int64_t>();
}
TYPED_TEST_P(AtomicTest, BitsUint32) {
    test_bits<TypeParam, std::uint32_t>();
}
TYPED_TEST_P(AtomicTest, BitsUint64) {
    test_bits<TypeParam, std::uint64_t>();
}
REGISTER_TYPED_TEST_SUITE_P(AtomicTest, AloneUint32, AloneInt32, AloneUint64, AloneInt64,
                            CountsUint32, CountsInt32, CountsUint64, CountsInt64, BitsUint32,
                            BitsUint64);

}  // namespace heapwood::tests
