/// @file
/// Tests of AtomicRef's memory orders: every way to publish, with a payload in plain memory, which
/// a thread sanitizer watches. Written once; a machine's source file instantiates them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "allocators/platform/atomic.cuh"
#include "tests/allocators/platform/machines.h"

namespace heapwood::tests {

using platform::AtomicRef;

/// Skips its tests where the machine is missing.
template <class Machine>
class AtomicOrderTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
    }
};

/// A message goes from warp to warp: each waits for the flag of the one below with load_acquire,
/// reads its payload, and publishes its own with store_release.
struct RelayBody {
    static constexpr unsigned kWords = 16;
    std::uint64_t* payload;
    std::uint32_t* flags;  // [w]: the round that warp w has published
    unsigned* wrong;
    unsigned warps, rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (warp.lane() != 0) return;
        unsigned mistakes = 0;
        for (unsigned r = 1; r <= rounds; ++r) {
            // The first warp waits for the last one's message of the round before.
            const unsigned below = w == 0 ? warps - 1 : w - 1;
            const AtomicRef flag(flags[below]);
            for (unsigned n = 0; flag.load_acquire() != (w == 0 ? r - 1 : r); ++n) W::back_off(n);
            const std::uint64_t hop = std::uint64_t{r} * warps + w;
            for (unsigned i = 0; i < kWords; ++i) {
                if (hop > warps) mistakes += payload[below * kWords + i] != hop - 1 + i ? 1U : 0U;
                payload[w * kWords + i] = hop + i;
            }
            AtomicRef(flags[w]).store_release(r);
        }
        wrong[w] = mistakes;
    }
};

/// How a thread may take a lock; each way is a read-modify-write that must acquire and release, or
/// in the one-way forms only what the half of the lock needs.
enum class Lock { cas, exchange, bits, add, one_way_bits, one_way_add };

/// Lane 0 of every warp adds to plain counters under a lock.
template <Lock kLock>
struct LockBody {
    std::uint32_t* lock;
    std::uint64_t* guarded;  // two numbers that are equal outside the lock
    unsigned* wrong;
    unsigned rounds;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        if (warp.lane() != 0) return;
        unsigned mistakes = 0;
        const AtomicRef word(*lock);
        for (unsigned r = 0; r < rounds; ++r) {
            for (unsigned n = 0; !acquire(word); ++n) W::back_off(n);
            mistakes += guarded[0] != guarded[1] ? 1U : 0U;
            ++guarded[0];
            ++guarded[1];
            release(word);
        }
        wrong[w] = mistakes;
    }

    HEAPWOOD_FN static bool acquire(const AtomicRef<std::uint32_t>& word) {
        std::uint32_t open = 0;
        if constexpr (kLock == Lock::cas) return word.cas_acq_rel(open, 1);
        if constexpr (kLock == Lock::exchange) return word.exchange_acq_rel(1) == open;
        if constexpr (kLock == Lock::bits) return (word.or_acq_rel(4) & 4U) == open;
        if constexpr (kLock == Lock::one_way_bits) return (word.and_acquire(~4U) & 4U) != open;
        if constexpr (kLock == Lock::add) {
            if (word.add_acq_rel(1) == open) return true;
            word.sub_acq_rel(1);
            return false;
        }
        if constexpr (kLock == Lock::one_way_add) {
            if (word.add_acquire(1) == open) return true;
            word.sub_relaxed(1);
            return false;
        }
    }
    HEAPWOOD_FN static void release(const AtomicRef<std::uint32_t>& word) {
        if constexpr (kLock == Lock::cas) word.store_release(0);
        if constexpr (kLock == Lock::exchange) word.exchange_acq_rel(0);
        if constexpr (kLock == Lock::bits) word.and_acq_rel(~4U);
        if constexpr (kLock == Lock::add) word.sub_acq_rel(1);
        if constexpr (kLock == Lock::one_way_bits) word.set_release(4);
        if constexpr (kLock == Lock::one_way_add) word.sub_release(1);
    }
};

template <class Machine, Lock kLock>
void test_lock() {
    constexpr unsigned kWarps = 4, kRounds = 300;
    typename Machine::template Array<std::uint32_t> lock(1);
    if (kLock == Lock::one_way_bits) lock[0] = 4;  // the bit is the key
    typename Machine::template Array<std::uint64_t> guarded(2);
    typename Machine::template Array<unsigned> wrong(kWarps);
    Machine::run(kWarps, LockBody<kLock>{lock.data(), guarded.data(), wrong.data(), kRounds});
    EXPECT_EQ(guarded[0], kWarps * kRounds);
    EXPECT_EQ(guarded[1], kWarps * kRounds);
    EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U);
}

/// Every thread writes its part and counts itself out; whoever is last adds all parts up.
struct LastBody {
    std::uint32_t* remaining;
    std::uint64_t* parts;
    std::uint64_t* total;
    unsigned threads;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        parts[t] = std::uint64_t{t} * t + 1;
        if (AtomicRef(*remaining).sub_acq_rel(1) == 1) {
            std::uint64_t sum = 0;
            for (unsigned i = 0; i < threads; ++i) sum += parts[i];
            *total = sum;
        }
    }
};

TYPED_TEST_SUITE_P(AtomicOrderTest);

TYPED_TEST_P(AtomicOrderTest, LockByCas) {
    test_lock<TypeParam, Lock::cas>();
}
TYPED_TEST_P(AtomicOrderTest, LockByExchange) {
    test_lock<TypeParam, Lock::exchange>();
}
TYPED_TEST_P(AtomicOrderTest, LockByBits) {
    test_lock<TypeParam, Lock::bits>();
}
TYPED_TEST_P(AtomicOrderTest, LockByAdd) {
    test_lock<TypeParam, Lock::add>();
}
TYPED_TEST_P(AtomicOrderTest, LockByOneWayBits) {
    test_lock<TypeParam, Lock::one_way_bits>();
}
TYPED_TEST_P(AtomicOrderTest, LockByOneWayAdd) {
    test_lock<TypeParam, Lock::one_way_add>();
}

TYPED_TEST_P(AtomicOrderTest, ReleaseAcquireHandsPayloadOver) {
    constexpr unsigned kWarps = 4, kRounds = 100;
    typename TypeParam::template Array<std::uint64_t> payload(kWarps * RelayBody::kWords);
    typename TypeParam::template Array<std::uint32_t> flags(kWarps);
    typename TypeParam::template Array<unsigned> wrong(kWarps);
    TypeParam::run(kWarps, RelayBody{payload.data(), flags.data(), wrong.data(), kWarps, kRounds});
    EXPECT_EQ(std::accumulate(wrong.begin(), wrong.end(), 0U), 0U);
    for (unsigned i = 0; i < RelayBody::kWords; ++i) {
        EXPECT_EQ(payload[(kWarps - 1) * RelayBody::kWords + i],
                  std::uint64_t{kRounds} * kWarps + kWarps - 1 + i);
    }
}

TYPED_TEST_P(AtomicOrderTest, LastOneSeesAllParts) {
    constexpr unsigned kWarps = 4, kThreads = kWarps * TypeParam::Warp::width;
    for (unsigned repetition = 0; repetition < 20; ++repetition) {
        typename TypeParam::template Array<std::uint32_t> remaining(1);
        typename TypeParam::template Array<std::uint64_t> parts(kThreads), total(1);
        remaining[0] = kThreads;
        TypeParam::run(kWarps, LastBody{remaining.data(), parts.data(), total.data(), kThreads});
        std::uint64_t sum = 0;
        for (std::uint64_t t = 0; t < kThreads; ++t) sum += t * t + 1;
        ASSERT_EQ(total[0], sum);
    }
}

REGISTER_TYPED_TEST_SUITE_P(AtomicOrderTest, LockByCas, LockByExchange, LockByBits, LockByAdd,
                            LockByOneWayBits, LockByOneWayAdd, ReleaseAcquireHandsPayloadOver,
                            LastOneSeesAllParts);

}  // namespace heapwood::tests
