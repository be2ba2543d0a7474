/// @file
/// What only AWMalloc has: which memory it gives and when it refuses, against an oracle that knows
/// every live block; and the wrap under many threads that free in about the order of their
/// requests, which is what it is for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "allocators/awmalloc.cuh"
#include "allocators/platform/bits.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/scale.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::AWMalloc;
using allocators::Context;
using allocators::Region;

constexpr Context kContext{0, 0};
/// Of the pools here, as the header of the allocator says: at least 1 KiB, at most 256 segments.
constexpr std::uint64_t kSegment = 1024;

std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + 15) / 16 * 16;
}

AWMalloc make(std::uint64_t bytes) {
    return AWMalloc({.bytes = bytes});
}

std::vector<bool> segments_in_use(const AWMalloc& a) {
    std::vector<bool> used;
    a.for_each_region([&](const Region& r) {
        EXPECT_EQ(r.offset, used.size() * kSegment);
        used.resize((r.offset + r.size + kSegment - 1) / kSegment, r.allocated);
    });
    return used;
}

/// The ring as one thread sees it, from the description: a list of live parts.
class Oracle {
public:
    struct Part {
        std::uint64_t position, bytes;  ///< of the ring
    };

    explicit Oracle(std::uint64_t capacity) : capacity_(capacity) {}

    /// The offset that the request is given, or kRefused.
    static constexpr std::uint64_t kRefused = ~std::uint64_t{0};
    std::uint64_t allocate(std::uint64_t bytes) {
        const std::uint64_t size = rounded(bytes);
        std::uint64_t start = position_;
        if (start % capacity_ + size > capacity_) start = (start / capacity_ + 1) * capacity_;
        for (const Part& part : live_) {
            const bool earlier_lap = part.position / capacity_ < start / capacity_;
            const std::uint64_t begin = part.position % capacity_;
            const bool meets = begin / kSegment <= (start % capacity_ + size - 1) / kSegment &&
                               start % capacity_ / kSegment <= (begin + part.bytes - 1) / kSegment;
            if (earlier_lap && meets) return kRefused;
        }
        position_ = start + size;
        live_.push_back({start, size});
        return start % capacity_;
    }
    /// Parts in the order in which they were made.
    std::vector<Part>& live() { return live_; }
    std::uint64_t live_bytes() const {
        std::uint64_t sum = 0;
        for (const Part& part : live_) sum += part.bytes;
        return sum;
    }
    std::vector<bool> segments_in_use() const {
        std::vector<bool> used((capacity_ + kSegment - 1) / kSegment);
        for (const Part& part : live_) {
            const std::uint64_t begin = part.position % capacity_;
            for (std::uint64_t i = begin / kSegment; i * kSegment < begin + part.bytes; ++i) {
                used[i] = true;
            }
        }
        return used;
    }
    std::uint64_t laps() const { return position_ / capacity_; }

private:
    std::uint64_t capacity_;
    std::uint64_t position_ = 0;
    std::vector<Part> live_;
};

TEST(AWMalloc, DoesWhatTheOracleDoes) {
    std::mt19937_64 random(test_seed());
    // The last pool's last segment is short.
    for (const std::uint64_t capacity : {4096U, 65536U, 100000U}) {
        AWMalloc a = make(capacity);
        const AWMalloc::Ref ref = a.ref();
        char* const pool = static_cast<char*>(ref.allocate(kContext, 1));
        a.reset();
        Oracle oracle(capacity / 16 * 16);
        std::uint64_t refused = 0;
        for (int i = 0; i < 20000; ++i) {
            const std::uint64_t largest = random() % 4 == 0 ? capacity : capacity / 16;
            const std::uint64_t bytes = 1 + random() % largest;
            const std::uint64_t expected = oracle.allocate(bytes);
            void* const p = ref.allocate(kContext, bytes);
            if (expected == Oracle::kRefused) {
                ASSERT_EQ(p, nullptr) << "memory in use was given";
                ++refused;
            } else {
                ASSERT_EQ(p, pool + expected);
            }
            // Frees from the front of the queue mostly, at times the latter part of a block only.
            auto& live = oracle.live();
            while (!live.empty() && (expected == Oracle::kRefused || random() % 3 == 0)) {
                const std::size_t k =
                    random() % 4 == 0 ? random() % live.size() : random() % 3 % live.size();
                Oracle::Part& part = live[k];
                const std::uint64_t kept = random() % 4 == 0 ? random() % part.bytes / 16 * 16 : 0;
                ref.deallocate(kContext, pool + part.position % a.pool_bytes() + kept,
                               part.bytes - kept - random() % 16);
                part.bytes = kept;
                if (kept == 0) live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
                if (random() % 2 == 0) break;
            }
            if (i % 16 == 0) {
                ASSERT_EQ(a.live_bytes(), oracle.live_bytes());
                ASSERT_EQ(segments_in_use(a), oracle.segments_in_use());
            }
        }
        EXPECT_GT(oracle.laps(), 100U);
        EXPECT_GT(refused, 10U);
        // Not by operator+, of which g++ 12 wrongly warns.
        const std::string note = std::string(" ").append(std::to_string(refused)).append(" times");
        EXPECT_NE(a.failure_note().find(note), std::string::npos) << a.failure_note();
    }
}

TEST(AWMalloc, RefusesToOverwriteABlockThatStays) {
    AWMalloc a = make(65536);
    const AWMalloc::Ref ref = a.ref();
    Tally tally{};
    request(ref, kContext, 5000, 1, tally);
    const Block stays = request(ref, kContext, 100, 2, tally);
    // All is freed at once but that one block, in the pool's segment 4.
    release(ref, kContext, Block{static_cast<char*>(stays.data) - rounded(5000), 5000, 0, 1},
            tally);
    std::uint64_t given = 0;
    for (; given < 1000; ++given) {
        const Block b = request(ref, kContext, 512, given, tally);
        if (b.data == nullptr) break;
        release(ref, kContext, b, tally);
    }
    // To the end of the pool, and from its start up to segment 4.
    EXPECT_EQ(given, (65536 - rounded(5000) - rounded(100)) / 512 + 4 * kSegment / 512);
    EXPECT_EQ(a.live_bytes(), rounded(100));
    EXPECT_EQ(
        a.failure_note(),
        "awmalloc would have overwritten memory that is still in use 1 time (it reuses memory "
        "in the order in which it gave it out, so the pool must be larger or blocks be freed "
        "first in, first out)");
    EXPECT_EQ(request(ref, kContext, 1, 0, tally).data, nullptr);
    EXPECT_EQ(request(ref, kContext, 65536, 0, tally).data, nullptr);
    EXPECT_NE(a.failure_note().find(" 3 times "), std::string::npos);

    release(ref, kContext, stays, tally);
    EXPECT_EQ(tally.corrupt, 0U);
    release(ref, kContext, request(ref, kContext, 65536, 3, tally), tally);
    EXPECT_EQ(tally.failed, 3U);
    EXPECT_EQ(a.live_bytes(), 0U);
    a.reset();
    EXPECT_EQ(a.failure_note(), "");
}

TEST(AWMalloc, GivesTheWholePoolFromWhereverTheRingStands) {
    AWMalloc a = make(20000);
    const AWMalloc::Ref ref = a.ref();
    for (std::uint64_t bytes = 16; bytes <= 20000; bytes += 304) {
        for (const std::uint64_t size : {bytes, std::uint64_t{20000}}) {
            void* p = ref.allocate(kContext, size);
            ASSERT_NE(p, nullptr) << size << " bytes";
            ref.deallocate(kContext, p, size);
        }
    }
    EXPECT_EQ(a.failure_note(), "");
}

struct ThreeLaps : allocators::AWMallocPolicy {
    static constexpr std::uint64_t kLastLap = 2;
};

TEST(AWMalloc, RefusesWhenItsLapsAreNumbered) {
    allocators::RingMalloc<ThreeLaps> a({.bytes = 4096});
    const auto ref = a.ref();
    for (int run = 0; run < 2; ++run) {
        for (int i = 0; i < 3 * 16; ++i) {
            void* p = ref.allocate(kContext, 256);
            ASSERT_NE(p, nullptr);
            ref.deallocate(kContext, p, 256);
        }
        EXPECT_EQ(ref.allocate(kContext, 256), nullptr);
        EXPECT_EQ(a.live_bytes(), 0U);
        a.reset();
    }
}

/// Every thread keeps its blocks in a queue, and frees the oldest when there are too many or when
/// a request is refused. Some threads linger over a block, so that others come round to it.
struct QueueBody {
    AWMalloc::Ref ref;
    unsigned rounds;
    std::uint64_t largest;
    std::size_t most;
    std::uint64_t seed;
    Tally* tally;

    template <class W>
    void operator()(const W& warp, unsigned w) const {
        const unsigned t = w * W::width + warp.lane();
        Dice dice{seed + t};
        std::deque<Block> queue;
        for (unsigned i = 0; i < rounds; ++i) {
            const std::uint64_t bytes = dice.size(largest);
            if (const Block b = request(ref, kContext, bytes, dice.next(), tally[t]);
                b.data != nullptr) {
                queue.push_back(b);
            } else if (queue.empty()) {
                platform::back_off(0);
            }
            if (dice.below(64) == 0) platform::back_off(0);
            if (!queue.empty() && (queue.size() > most || queue.back().bytes != bytes)) {
                free_front(queue, dice, tally[t]);
            }
        }
        while (!queue.empty()) free_front(queue, dice, tally[t]);
    }
    /// Frees the oldest block, in two parts and from the back.
    void free_front(std::deque<Block>& queue, Dice& dice, Tally& own) const {
        const Block b = queue.front();
        queue.pop_front();
        if (!has_stamp(b)) ++own.corrupt;
        const std::uint64_t first = dice.below(b.bytes) / 16 * 16;
        ref.deallocate(kContext, static_cast<char*>(b.data) + first, b.bytes - first);
        if (first > 0) ref.deallocate(kContext, b.data, first);
    }
};

template <class Machine>
class AWMallocRing : public ::testing::Test {};
using Machines = ::testing::Types<SerialMachine, LockstepMachine>;
TYPED_TEST_SUITE(AWMallocRing, Machines);

TYPED_TEST(AWMallocRing, WrapsUnderManyThreads) {
    const std::uint64_t seed = test_seed();
    constexpr unsigned kThreads = Scale<TypeParam>::warps * TypeParam::Warp::width;
    // From room for everything to hardly any for anything.
    std::uint64_t refused = 0;
    for (const std::uint64_t bytes : {1048576U, 65536U, 16384U, 4096U}) {
        AWMalloc a = make(bytes);
        std::vector<Tally> tally(kThreads);
        TypeParam::run(Scale<TypeParam>::warps,
                       QueueBody{a.ref(), 40000 / kThreads,
                                 std::max<std::uint64_t>(bytes / 64, 512), 4, seed, tally.data()});
        Tally sum{};
        for (const Tally& t : tally) sum += t;
        EXPECT_EQ(sum.corrupt, 0U);
        EXPECT_EQ(sum.misaligned, 0U);
        EXPECT_GT(sum.requests - sum.failed, sum.requests / 100);
        refused += sum.failed;
        EXPECT_EQ(a.live_bytes(), 0U);
        unsigned regions = 0;
        a.for_each_region([&](const Region& r) { regions += r.allocated ? 100U : 1U; });
        EXPECT_EQ(regions, 1U) << "all is one free region";
        void* whole = a.ref().allocate(kContext, bytes);
        EXPECT_NE(whole, nullptr) << "the pool must work after refusals";
        a.ref().deallocate(kContext, whole, bytes);
        EXPECT_EQ(a.live_bytes(), 0U);
    }
    EXPECT_GT(refused, 0U);
}

}  // namespace

}  // namespace heapwood::tests
