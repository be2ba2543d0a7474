/// @file
/// A live set against an allocator that checks what comes back, and against some that hand memory
/// out twice; the histogram of latencies against exact quantiles.
#include "allocators/measure/churn.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "allocators/platform/threads.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Churn;
using allocators::Counts;
using allocators::Latencies;
using allocators::LiveBlock;
using allocators::Tickets;

/// The system's memory. A block's size stands before it.
struct Checked {
    std::uint64_t faults = 0;          ///< frees with another size than was asked for
    std::uint64_t asked = 0;           ///< requests
    std::uint64_t refuse_every = ~0U;  ///< the n-th, 2n-th, ... request is refused

    static constexpr std::size_t kHeader = 16;

    struct Ref {
        Checked* state;

        void* allocate(const allocators::Context&, std::size_t bytes) const {
            const std::uint64_t n = platform::AtomicRef(state->asked).add_relaxed(1) + 1;
            if (n % state->refuse_every == 0) return nullptr;
            char* memory = static_cast<char*>(std::malloc(kHeader + bytes));
            *reinterpret_cast<std::size_t*>(memory) = bytes;
            return memory + kHeader;
        }
        void deallocate(const allocators::Context&, void* block, std::size_t bytes) const {
            char* memory = static_cast<char*>(block) - kHeader;
            if (*reinterpret_cast<std::size_t*>(memory) != bytes) {
                platform::AtomicRef(state->faults).count_relaxed(1);
            }
            std::free(memory);
        }
    };
};

/// Gives every block out twice, one after the other; blocks have 64 bytes.
struct Twice {
    char* memory;
    std::uint64_t* asked;

    void* allocate(const allocators::Context&, std::size_t) const {
        return memory + platform::AtomicRef(*asked).add_relaxed(1) / 2 * 64;
    }
    void deallocate(const allocators::Context&, void*, std::size_t) const {}
};

/// A churn and all that it points to.
struct LiveSet {
    LiveSet(std::uint32_t slots, std::uint32_t callers, std::uint64_t seed)
        : numbers(slots + callers), records(slots + callers), sizes(Tickets::kSizes) {
        std::iota(numbers.begin(), numbers.end(), 0U);
        for (std::uint32_t i = 0; i < sizes.size(); ++i) sizes[i] = 4 + i % 16 * 4;
        churn.callers = callers;
        churn.steps = (slots + callers - 1) / callers;
        churn.tickets = {sizes.data(), seed};
        churn.slots = slots;
        churn.table = numbers.data();
        churn.spares = numbers.data() + slots;
        churn.records = records.data();
        churn.counts = &counts;
        churn.stamps = allocators::Stamps::whole;
    }

    /// As many requests as there are slots, by threads that take turns at the callers.
    template <class Ref>
    void run(const Ref& ref, unsigned threads) {
        platform::run_threads(threads, [&](std::uint32_t thread, std::uint32_t all) {
            for (std::uint32_t caller = thread; caller < churn.callers; caller += all) {
                churn_caller(ref, {.multiprocessor = thread, .warp = thread}, churn, caller);
            }
        });
        churn.first_step += churn.steps;
    }
    template <class Ref>
    void drain(const Ref& ref, unsigned threads) {
        churn.drain = true;
        churn.first_step = 0;
        run(ref, threads);
    }
    std::vector<const LiveBlock*> live() const {
        std::vector<const LiveBlock*> all;
        for (std::uint32_t slot = 0; slot < churn.slots; ++slot) {
            const LiveBlock& record = records[numbers[slot]];
            if (record.block != nullptr) all.push_back(&record);
        }
        return all;
    }

    std::vector<std::uint32_t> numbers;
    std::vector<LiveBlock> records;
    std::vector<std::uint32_t> sizes;
    Counts counts{};
    Churn churn;
};

TEST(Churn, KeepsTheLiveSetAndFreesAllOfIt) {
    const std::uint64_t seed = test_seed();
    for (const unsigned threads : {1U, 4U}) {
        Checked checked;
        LiveSet set(1000, 7, seed);
        for (std::uint32_t round = 1; round <= 5; ++round) {
            set.run(Checked::Ref{&checked}, threads);
            const std::vector<const LiveBlock*> live = set.live();
            EXPECT_EQ(live.size(), 1000U);
            std::set<const void*> blocks;
            std::set<std::uint64_t> tickets;
            for (const LiveBlock* one : live) {
                blocks.insert(one->block);
                tickets.insert(one->ticket);
                EXPECT_TRUE(has_stamp(set.churn.tickets, one->ticket, one->block, one->stamps));
            }
            EXPECT_EQ(blocks.size(), 1000U) << "each is in one slot";
            EXPECT_EQ(tickets.size(), 1000U);
            EXPECT_LT(*tickets.rbegin(), set.counts.requests);
            EXPECT_EQ(set.counts.requests, round * 7 * 143U);
            EXPECT_EQ(set.counts.frees, set.counts.requests - 1000);
        }
        set.drain(Checked::Ref{&checked}, threads);
        EXPECT_TRUE(set.live().empty());
        EXPECT_EQ(set.counts, (Counts{5005, 5005, 0, 0}));
        EXPECT_EQ(checked.faults, 0U);
        std::vector<std::uint32_t> numbers = set.numbers;
        std::sort(numbers.begin(), numbers.end());
        for (std::uint32_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], i);
    }
}

TEST(Churn, CountsWhatIsRefusedAndLeavesItsSlotEmpty) {
    const std::uint64_t seed = test_seed();
    Checked checked{.refuse_every = 10};
    LiveSet set(1000, 10, seed);
    for (unsigned round = 0; round < 3; ++round) set.run(Checked::Ref{&checked}, 4);
    EXPECT_EQ(set.counts.requests, 3000U);
    EXPECT_EQ(set.counts.failed, 300U);
    EXPECT_LT(set.live().size(), 1000U);
    EXPECT_EQ(set.live().size(), 2700 - set.counts.frees);
    set.drain(Checked::Ref{&checked}, 4);
    EXPECT_EQ(set.counts, (Counts{3000, 2700, 300, 0}));
}

TEST(Churn, TimesEveryCallThatIsAnswered) {
    const std::uint64_t seed = test_seed();
    Checked checked{.refuse_every = 10};
    LiveSet set(1000, 10, seed);
    const auto times = std::make_unique<Latencies[]>(2);
    set.run(Checked::Ref{&checked}, 2);
    EXPECT_EQ(times[0].total(), 0U);
    const std::uint64_t before = set.counts.frees;
    set.churn.allocations = &times[0];
    set.churn.frees = &times[1];
    set.run(Checked::Ref{&checked}, 2);
    EXPECT_EQ(times[0].total(), 900U);
    EXPECT_EQ(times[1].total(), set.counts.frees - before);
    for (const Latencies& of : {times[0], times[1]}) {
        EXPECT_GT(of.worst, 0U);
        EXPECT_LE(of.quantile(0.5), of.quantile(0.999));
        EXPECT_LE(of.quantile(1), static_cast<double>(of.worst) * (1 + 1.0 / 64));
    }
    set.churn.allocations = set.churn.frees = nullptr;
    set.drain(Checked::Ref{&checked}, 1);
}

TEST(Churn, NoticesABlockThatIsHandedOutTwice) {
    const std::uint64_t seed = test_seed();
    for (const auto stamps : {allocators::Stamps::whole, allocators::Stamps::ends}) {
        std::vector<std::uint64_t> memory(50 * 8);
        std::uint64_t asked = 0;
        LiveSet set(100, 1, seed);
        set.churn.stamps = stamps;
        const Twice twice{reinterpret_cast<char*>(memory.data()), &asked};
        set.run(twice, 1);
        EXPECT_EQ(set.counts.corrupt, 0U) << "nothing is looked at before it is freed";
        set.drain(twice, 1);
        EXPECT_EQ(set.counts.corrupt, 50U) << "the later of two has its stamp there";
        EXPECT_EQ(set.counts.frees, 50U);
    }
}

TEST(Churn, NumbersRequestsPast32Bits) {
    const Churn churn{.callers = 3, .first_step = 0xffffffff};
    EXPECT_EQ(churn.ticket(2, 0) + 1, churn.ticket(0, 1));
}

TEST(Latencies, BucketsAreOneBehindTheOther) {
    std::uint32_t before = 0;
    for (std::uint64_t value = 0; value < 5000; ++value) {
        const std::uint32_t bucket = Latencies::bucket(value);
        EXPECT_TRUE(bucket == before || bucket == before + 1) << value;
        before = bucket;
    }
    EXPECT_EQ(Latencies::bucket(~std::uint64_t{0}), Latencies::kBuckets - 1);
    EXPECT_EQ(Latencies::bucket(31), 31U);
    EXPECT_EQ(Latencies::middle(31), 31);
    EXPECT_EQ(Latencies::middle(Latencies::bucket(63)), 63);
    EXPECT_EQ(Latencies::middle(Latencies::bucket(64)), 64.5);
}

TEST(Latencies, QuantilesAreThoseOfTheSamplesWithinTheErrorThatIsPromised) {
    std::mt19937_64 random(test_seed());
    for (const unsigned bits : {3U, 12U, 40U, 64U}) {
        for (const std::size_t number : {std::size_t{1}, std::size_t{10}, std::size_t{20000}}) {
            const auto histogram = std::make_unique<Latencies>();
            std::vector<std::uint64_t> samples(number);
            for (std::uint64_t& sample : samples) {
                sample = random() >> (64 - bits) >> random() % bits;
                histogram->add(sample);
                histogram->note_worst(sample);
            }
            std::sort(samples.begin(), samples.end());
            EXPECT_EQ(histogram->total(), number);
            EXPECT_EQ(histogram->worst, samples.back());
            for (const double share : {0.001, 0.5, 0.99, 0.999, 1.0}) {
                const auto rank =
                    static_cast<std::size_t>(std::ceil(share * static_cast<double>(number)));
                const auto exact = static_cast<double>(samples[rank - 1]);
                EXPECT_NEAR(histogram->quantile(share), exact, exact / 64)
                    << share << " of " << number << " with " << bits << " bits";
            }
        }
    }
}

}  // namespace
}  // namespace heapwood::tests
