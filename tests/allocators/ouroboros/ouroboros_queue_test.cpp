/// @file
/// The queues of the Ouroboros allocators alone: in one thread against a std::deque, and in many,
/// where every entry must come out once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::Buffer;
using allocators::Context;
using allocators::Place;
using allocators::PoolConfig;
using namespace allocators::ouroboros;

template <class Base, template <class> class QueueType>
struct QueuePolicy : Base {
    template <class Policy>
    using Queue = QueueType<Policy>;
};

/// A ring that has not a place for all chunks.
struct ShortRingOfChunks : QueuePolicy<ChunksInQueues, StandardQueue> {
    static constexpr std::uint32_t kMostEntries = 32;
};

/// A pool of 64 chunks of 512 bytes, so that a part of a virtual queue has 128 entries, and the
/// queue of class 0. Pages: 2048 of them.
template <class Policy>
class QueueTest : public ::testing::Test {
protected:
    using Queue = typename Policy::template Queue<Policy>;
    static constexpr std::uint64_t kBytes = 64 * 512;

    QueueTest() { host_.set(control_, 0); }

    bool put(std::uint32_t entry) {
        while (!queue_.put(chunks_, control_, 0, 0, platform::Alone(), entry)) {
            if (!queue_.extend(chunks_, {}, control_, 0, 0)) return false;
        }
        return true;
    }
    std::uint32_t take() { return queue_.take(chunks_, {}, control_, 0, 0, platform::Alone()); }
    std::vector<std::uint32_t> entries() const {
        std::vector<std::uint32_t> all;
        host_.for_each_entry(control_, 0, 0, list_.pool(),
                             [&](std::uint32_t entry) { all.push_back(entry); });
        return all;
    }
    /// Chunks that the list has given away.
    std::uint64_t chunks_out() const {
        std::uint64_t out = 0;
        list_.for_each_region([&](const auto& r) { out += r.allocated ? r.size / 512 : 0; });
        return out;
    }
    /// Has the queue return what it needs no more.
    void expect_trimmed() {
        queue_.trim(chunks_, {}, control_, 0);
        EXPECT_EQ(chunks_out(), 0U);
        EXPECT_EQ(chunks_.taken(), 0U);
        for (const std::uint64_t s : states_) EXPECT_EQ(s, 0U);
    }

    PoolConfig config_{.bytes = kBytes};
    Geometry geometry_ = Geometry::of(config_, 1);
    typename Chunks<Policy>::List list_{config_, geometry_.chunk_shift};
    std::vector<std::uint64_t> states_ = std::vector<std::uint64_t>(geometry_.chunks);
    std::vector<std::uint32_t> masks_ =
        std::vector<std::uint32_t>(geometry_.chunks * geometry_.mask_words());
    ListWords words_{};
    Chunks<Policy> chunks_{list_, geometry_, states_.data(), masks_.data(), &words_};
    typename Queue::Host host_{geometry_, Place::host};
    Queue queue_ = host_.queue();
    Control control_{};
};

using Policies = ::testing::Types<QueuePolicy<PagesInQueues, StandardQueue>,
                                  QueuePolicy<PagesInQueues, VirtualArrayQueue>,
                                  QueuePolicy<PagesInQueues, VirtualListQueue>,
                                  QueuePolicy<ChunksInQueues, StandardQueue>, ShortRingOfChunks>;
TYPED_TEST_SUITE(QueueTest, Policies);

TYPED_TEST(QueueTest, AgreesWithADeque) {
    Dice dice{test_seed()};
    std::deque<std::uint32_t> model;
    this->host_.reset();
    EXPECT_EQ(this->take(), kNone);
    const std::size_t most = std::min(TypeParam::kQueuesChunks ? 64U : 2048U,
                                      static_cast<std::uint32_t>(TypeParam::kMostEntries));
    for (unsigned phase = 0; phase < 40; ++phase) {
        // Grows in some phases, shrinks in others, and is emptied in the end.
        const std::uint64_t puts = phase == 39 ? 0 : dice.below(101);
        for (unsigned i = 0; i < 600 || (phase == 39 && !model.empty()); ++i) {
            if (dice.below(100) < puts) {
                const auto entry = static_cast<std::uint32_t>(dice.below(0xfffffff0U));
                if (model.size() == most) {
                    // A ring for all there is need not tell that it is full.
                    if (most == 32) {
                        EXPECT_FALSE(this->put(entry));
                    }
                    continue;
                }
                ASSERT_TRUE(this->put(entry));
                model.push_back(entry);
            } else if (model.empty()) {
                ASSERT_EQ(this->take(), kNone);
            } else {
                ASSERT_EQ(this->take(), model.front());
                model.pop_front();
            }
        }
        ASSERT_EQ(this->entries(), std::vector<std::uint32_t>(model.begin(), model.end()));
        if (dice.below(3) == 0) this->queue_.trim(this->chunks_, {}, this->control_, 0);
    }
    this->expect_trimmed();
}

TYPED_TEST(QueueTest, TellsThatItIsFull) {
    constexpr bool kShort = TypeParam::kMostEntries == 32;
    if (std::is_same_v<typename TestFixture::Queue, StandardQueue<TypeParam>> && !kShort) {
        GTEST_SKIP() << "it never is";
    }
    this->host_.reset();
    for (unsigned round = 0; round < 3; ++round) {
        std::uint32_t count = 0;
        while (count < 100000 && this->put(count)) ++count;
        // All chunks, or pages; of an array of parts, what it has places for; or all the pool.
        EXPECT_GE(count, kShort ? 32U : 2048U);
        EXPECT_LE(count, kShort ? 32U : 64U * 128);
        EXPECT_FALSE(this->put(0));
        for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(this->take(), i);
        EXPECT_EQ(this->take(), kNone);
        EXPECT_TRUE(this->put(7)) << "full for ever";
        EXPECT_EQ(this->take(), 7U);
    }
    this->expect_trimmed();
}

TYPED_TEST(QueueTest, GivesEveryEntryOnce) {
    constexpr std::uint32_t kThreads = 4;
    constexpr std::uint32_t kEntries = TypeParam::kMostEntries == 32 ? 7 : 15;
    constexpr std::uint32_t kRounds = 4000;
    this->host_.reset();
    // A number of entries wanders between the threads' hands and the queue.
    std::vector<std::uint32_t> owners(kThreads * kEntries, 1);
    std::atomic<std::uint32_t> errors{0};
    std::vector<std::thread> threads;
    const std::uint64_t seed = test_seed();
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            Dice dice{seed + t};
            std::vector<std::uint32_t> own;
            for (std::uint32_t i = 0; i < kEntries; ++i) own.push_back(t * kEntries + i);
            for (std::uint32_t i = 0; i < kRounds || !own.empty(); ++i) {
                if (!own.empty() && (i >= kRounds || dice.below(2) == 0)) {
                    const std::uint32_t entry = own.back();
                    --owners[entry];  // ordinary accesses: the queue orders them
                    own.pop_back();
                    if (this->put(entry)) continue;
                    // An array has no place for another part while a thread that takes is late.
                    ++owners[entry];
                    own.push_back(entry);
                    std::this_thread::yield();
                } else {
                    const std::uint32_t entry = this->take();
                    if (entry == kNone) continue;
                    if (owners[entry]++ != 0) ++errors;
                    own.push_back(entry);
                }
                if (dice.below(256) == 0) {
                    this->queue_.trim(this->chunks_, {t, t}, this->control_, 0);
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(errors, 0U);
    std::vector<std::uint32_t> left;
    for (std::uint32_t e = this->take(); e != kNone; e = this->take()) left.push_back(e);
    std::ranges::sort(left);
    ASSERT_EQ(left.size(), kThreads * kEntries);
    for (std::uint32_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i], i);
    this->expect_trimmed();
}

TYPED_TEST(QueueTest, KnowsThatThereIsNoChunk) {
    const auto& chunks = this->chunks_;
    std::vector<std::uint32_t> all;
    EXPECT_FALSE(chunks.are_exhausted());
    for (std::uint32_t c = chunks.take_chunk({}); c != kNone; c = chunks.take_chunk({})) {
        EXPECT_FALSE(chunks.are_exhausted());
        all.push_back(c);
    }
    EXPECT_EQ(all.size(), 64U);
    EXPECT_TRUE(chunks.are_exhausted());
    EXPECT_EQ(chunks.take_block({}, 512), nullptr);
    chunks.return_chunk({}, all.back());
    EXPECT_FALSE(chunks.are_exhausted());
    EXPECT_EQ(chunks.take_chunk({}), all.back());
    for (const std::uint32_t c : all) chunks.return_chunk({}, c);
    // Side by side, each to be returned on its own.
    const std::uint32_t first = chunks.take_run({}, 4);
    EXPECT_EQ(this->chunks_out(), 4U);
    EXPECT_EQ(chunks.taken(), 4U);
    for (const std::uint32_t i : {2U, 0U, 3U, 1U}) chunks.return_chunk({}, first + i);
    EXPECT_EQ(chunks.take_run({}, 65), kNone);
    EXPECT_EQ(chunks.take_run({}, 4), kNone) << "tried again";
    chunks.allow_runs();
    EXPECT_NE(chunks.take_run({}, 4), kNone);
}

/// An array of four parts.
struct FewParts : QueuePolicy<PagesInQueues, VirtualArrayQueue> {
    static constexpr std::uint32_t kMostParts = 4;
};

TEST(ArrayMap, GoesOnWhenTheNumbersOfPartsBeginAgain) {
    constexpr std::uint64_t kBeginAgain = std::uint64_t{1} << 32;
    const Geometry geometry = Geometry::of({.bytes = 64 * 512}, 1);
    ArrayMap<FewParts>::Host host(geometry, Place::host);
    host.reset();
    const ArrayMap<FewParts> map = host.map();
    // As if all parts up to the last but one had come and gone.
    Control c{};
    c.next_part = 0xfffffffe;
    const auto give_nothing = [](std::uint32_t) {};
    for (std::uint64_t n = kBeginAgain - 6; n < kBeginAgain - 2; ++n) {
        map.remove(c, 0, n, 0, give_nothing);
    }
    // If it does not, install() does not return.
    for (std::uint32_t i = 0; i < 4; ++i) {
        EXPECT_FALSE(map.is_full(c, 0));
        ASSERT_TRUE(map.install(c, 0, 20 + i));
        EXPECT_EQ(map.find(c, 0, kBeginAgain - 2 + i, End::back), 20 + i);
    }
    EXPECT_EQ(c.next_part, 2U);
    EXPECT_TRUE(map.is_full(c, 0));
    EXPECT_FALSE(map.install(c, 0, 30));
    std::uint32_t given = kNone;
    map.remove(c, 0, kBeginAgain - 2, 128, [&](std::uint32_t part) { given = part; });
    EXPECT_EQ(given, 20U);
    EXPECT_TRUE(map.install(c, 0, 30));
    EXPECT_EQ(map.find(c, 0, kBeginAgain + 2, End::back), 30U);
}

/// Virtual queues whose threads always wait for the one that makes room, and often look for it.
template <template <class> class QueueType>
struct Patient : QueuePolicy<PagesInQueues, QueueType> {
    static constexpr unsigned kPatience = 1U << 30;
    static void pause() { std::this_thread::yield(); }
};

template <class Policy>
class PatientQueueTest : public QueueTest<Policy> {};
using Patients = ::testing::Types<Patient<VirtualArrayQueue>, Patient<VirtualListQueue>>;
TYPED_TEST_SUITE(PatientQueueTest, Patients);

TYPED_TEST(PatientQueueTest, TakesOneChunkForAll) {
    constexpr std::uint32_t kThreads = 4;
    this->host_.reset();
    std::barrier<> start(kThreads);
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            // A part has 128 entries: in each round one more is needed.
            for (std::uint32_t round = 0; round < 50; ++round) {
                start.arrive_and_wait();
                for (std::uint32_t i = 0; i < 32; ++i) EXPECT_TRUE(this->put(t));
                start.arrive_and_wait();
                if (t == 0) {
                    EXPECT_EQ(this->chunks_out(), 1U);
                    for (std::uint32_t i = 0; i < 128; ++i) EXPECT_NE(this->take(), kNone);
                }
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(this->take(), kNone);
    this->expect_trimmed();
}

}  // namespace

}  // namespace heapwood::tests
