/// @file
/// What sets the Ouroboros allocators apart: pages and chunks, when memory returns to the pool,
/// full queues, and pages in callers' caches.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/allocators/cached.h"
#include "tests/allocators/fixture.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using namespace allocators;

[[maybe_unused]] const bool ouroboros_twins_are_enlisted =
    enlist<Cached<OuroborosPS>, SerialMachine>("cached_ouroboros_p_s") &&
    enlist<Cached<OuroborosCVA>, LockstepMachine>("cached_ouroboros_c_va");

/// A pool of 128 chunks of 512 bytes, and what one thread does to it.
template <class A>
class OuroborosTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kChunk = 512;
    static constexpr std::uint64_t kPool = 128 * kChunk;
    static constexpr bool kChunksInQueues = A::traits().name[10] == 'c';

    void* allocate(std::size_t bytes) { return ref_.allocate({0, 0}, bytes); }
    void free(void* p, std::size_t bytes) { ref_.deallocate({0, 0}, p, bytes); }
    /// As many blocks as there are.
    std::vector<void*> fill(std::size_t bytes) {
        std::vector<void*> all;
        for (void* p = allocate(bytes); p != nullptr; p = allocate(bytes)) all.push_back(p);
        return all;
    }
    std::uint64_t allocated_bytes() const { return measure_pool(pool_).allocated_bytes; }
    void expect_whole() {
        void* p = allocate(kPool);
        EXPECT_NE(p, nullptr);
        free(p, kPool);
    }

    A pool_{PoolConfig{.bytes = kPool}};
    typename A::Ref ref_ = pool_.ref();
};

using AllOuroboros = ::testing::Types<OuroborosPS, OuroborosPVA, OuroborosPVL, OuroborosCS,
                                      OuroborosCVA, OuroborosCVL>;
TYPED_TEST_SUITE(OuroborosTest, AllOuroboros);

TYPED_TEST(OuroborosTest, GivesPagesOfPowersOfTwo) {
    for (const std::size_t bytes :
         {1U, 16U, 17U, 100U, 128U, 129U, 256U, 257U, 512U, 513U, 1024U}) {
        void* p = this->allocate(bytes);
        const bool is_page = bytes <= (this->kChunksInQueues ? 256U : 512U);
        const std::uint64_t expected = is_page
                                           ? std::max<std::uint64_t>(16, std::bit_ceil(bytes))
                                           : platform::round_up<std::uint64_t>(bytes, this->kChunk);
        EXPECT_EQ(this->ref_.granted_bytes(p, bytes), expected) << bytes;
        EXPECT_EQ(this->allocated_bytes(), expected);
        this->free(p, bytes);
        EXPECT_EQ(this->allocated_bytes(), 0U);
    }
}

TYPED_TEST(OuroborosTest, UsesThePoolInFullForAnyClass) {
    std::mt19937_64 random(test_seed());
    for (const std::size_t bytes : {64U, 16U, 512U, 32U, 256U, 128U, 16U}) {
        std::vector<void*> all = this->fill(bytes);
        EXPECT_EQ(all.size(), this->kPool / bytes);
        EXPECT_EQ((std::set<void*>(all.begin(), all.end()).size()), all.size());
        EXPECT_EQ(this->allocated_bytes(), this->kPool);
        std::shuffle(all.begin(), all.end(), random);
        // One is enough to be given again.
        this->free(all.back(), bytes);
        EXPECT_EQ(this->allocate(bytes), all.back());
        EXPECT_EQ(this->allocate(bytes), nullptr);
        for (void* p : all) this->free(p, bytes);
        EXPECT_EQ(this->allocated_bytes(), 0U);
    }
    this->expect_whole();
}

TYPED_TEST(OuroborosTest, UsesALargerPoolInFull) {
    // Shards of 512 chunks: where chunks have few pages, several are opened at once.
    constexpr std::uint64_t kBytes = 4 << 20;
    TypeParam pool(PoolConfig{.bytes = kBytes});
    const auto ref = pool.ref();
    for (const std::size_t bytes : {2048U, 64U, 1024U, 4096U}) {
        std::vector<void*> all;
        for (void* p = ref.allocate({}, bytes); p != nullptr; p = ref.allocate({}, bytes)) {
            all.push_back(p);
            if (all.size() % 1000 == 1) {
                EXPECT_EQ(measure_pool(pool).allocated_bytes, all.size() * bytes);
            }
        }
        EXPECT_EQ(all.size(), kBytes / bytes);
        EXPECT_EQ((std::set<void*>(all.begin(), all.end()).size()), all.size());
        for (void* p : all) ref.deallocate({}, p, bytes);
        EXPECT_EQ(measure_pool(pool).allocated_bytes, 0U);
    }
    EXPECT_NE(ref.allocate({}, kBytes), nullptr);
}

TYPED_TEST(OuroborosTest, FindsMemoryOfOtherClasses) {
    // All but one page of every chunk is freed: no chunk for pages of another size, until the last
    // one of some chunk is.
    const std::vector<void*> all = this->fill(64);
    const auto begin = reinterpret_cast<std::uintptr_t>(*std::ranges::min_element(all));
    std::set<std::uint64_t> seen;
    std::vector<void*> kept;
    for (void* p : all) {
        if (seen.insert((reinterpret_cast<std::uintptr_t>(p) - begin) / this->kChunk).second) {
            kept.push_back(p);
        } else {
            this->free(p, 64);
        }
    }
    EXPECT_EQ(kept.size(), 128U);
    EXPECT_EQ(this->allocate(128), nullptr);
    EXPECT_EQ(this->allocate(600), nullptr);
    EXPECT_EQ(this->allocated_bytes(), kept.size() * 64);
    this->free(kept.back(), 64);
    kept.pop_back();
    void* other = this->allocate(128);
    EXPECT_NE(other, nullptr);
    // What has been collected in vain is given again.
    const std::vector<void*> rest = this->fill(64);
    EXPECT_EQ(rest.size() + kept.size(), all.size() - 8);
    for (void* p : rest) this->free(p, 64);
    for (void* p : kept) this->free(p, 64);
    this->free(other, 128);
    EXPECT_EQ(this->allocated_bytes(), 0U);
    this->expect_whole();
}

TYPED_TEST(OuroborosTest, GivesWhatIsFreeBeforeItOpensAChunk) {
    // Three chunks, all pages in use; pages of the first two wander through the queue, again and
    // again.
    std::vector<void*> pages;
    for (int i = 0; i < 24; ++i) pages.push_back(this->allocate(64));
    for (int round = 0; round < 3; ++round) {
        std::set<void*> freed{pages[1], pages[9], pages[3]};
        for (void* p : freed) this->free(p, 64);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(freed.erase(this->allocate(64)), 1U);
    }
    for (void* p : pages) this->free(p, 64);
    this->expect_whole();
}

/// A policy that counts the steps of its allocator.
template <class Base>
struct CountingSteps : Base {
    static inline unsigned steps = 0;
    static void pause() { ++steps; }
};

template <class Policy>
void expect_no_second_collection() {
    using Counting = CountingSteps<Policy>;
    ouroboros::Pool<Counting> pool(PoolConfig{.bytes = 65536});
    const auto ref = pool.ref();
    std::vector<void*> all;
    for (void* p = ref.allocate({}, 64); p != nullptr; p = ref.allocate({}, 64)) all.push_back(p);
    for (std::size_t i = 1; i < all.size(); i += 2) ref.deallocate({}, all[i], 64);
    // There is no chunk, though half of the pool is free: all is collected, in vain.
    Counting::steps = 0;
    EXPECT_EQ(ref.allocate({}, 1000), nullptr);
    EXPECT_GT(Counting::steps, all.size() / 8);
    Counting::steps = 0;
    for (int i = 0; i < 10; ++i) EXPECT_NE(ref.allocate({}, 64), nullptr);
    EXPECT_LT(Counting::steps, 200U) << "what was collected is not in the queues again";
}

TEST(OuroborosCollection, PutsBackWhatItCannotUse) {
    expect_no_second_collection<OuroborosPSPolicy>();
    expect_no_second_collection<OuroborosPVAPolicy>();
    expect_no_second_collection<OuroborosCSPolicy>();
}

/// Steps of ten requests that are refused.
template <class Counting, class Ref>
unsigned steps_of_refusals(const Ref& ref, std::size_t bytes) {
    Counting::steps = 0;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(ref.allocate({}, bytes), nullptr) << bytes;
    return Counting::steps;
}

template <class Policy>
void expect_refusals_without_collections() {
    using Counting = CountingSteps<Policy>;
    ouroboros::Pool<Counting> pool(PoolConfig{.bytes = 65536});
    const auto ref = pool.ref();
    std::vector<void*> all;
    for (void* p = ref.allocate({}, 64); p != nullptr; p = ref.allocate({}, 64)) all.push_back(p);
    std::ranges::sort(all);
    for (const std::size_t bytes : {64U, 128U, 1000U}) {
        EXPECT_LT(steps_of_refusals<Counting>(ref, bytes), 200U) << "of a full pool";
    }
    // Half of every chunk is free, which is of use for one class only.
    for (std::size_t i = 0; i < all.size(); i += 2) ref.deallocate({}, all[i], 64);
    EXPECT_EQ(ref.allocate({}, 128), nullptr);
    EXPECT_LT(steps_of_refusals<Counting>(ref, 128), 200U);
    EXPECT_LT(steps_of_refusals<Counting>(ref, 1000), 200U);
    // Whatever makes a chunk whole puts an end to that: a page or a block that is freed.
    for (std::size_t i = 1; i < 8; i += 2) ref.deallocate({}, all[i], 64);
    void* p = ref.allocate({}, 128);
    EXPECT_NE(p, nullptr);
    for (int i = 0; i < 3; ++i) EXPECT_NE(ref.allocate({}, 128), nullptr);
    EXPECT_EQ(ref.allocate({}, 128), nullptr);
    // The queue of chunks that are free in part, where it lies in the pool, has use for another.
    if (std::string_view(Policy::traits().name).starts_with("ouroboros-c-v")) return;
    for (std::size_t i = 9; i < 24; i += 2) ref.deallocate({}, all[i], 64);
    EXPECT_EQ(ref.allocate({}, 1500), nullptr) << "there are but two chunks";
    void* large = ref.allocate({}, 1000);
    EXPECT_NE(large, nullptr);
    EXPECT_EQ(ref.allocate({}, 1000), nullptr);
    EXPECT_EQ(ref.allocate({}, 256), nullptr);
    ref.deallocate({}, large, 1000);
    EXPECT_NE(ref.allocate({}, 256), nullptr);
}

TEST(OuroborosCollection, IsNotRepeatedInVain) {
    expect_refusals_without_collections<OuroborosPSPolicy>();
    expect_refusals_without_collections<OuroborosPVAPolicy>();
    expect_refusals_without_collections<OuroborosPVLPolicy>();
    expect_refusals_without_collections<OuroborosCSPolicy>();
    expect_refusals_without_collections<OuroborosCVAPolicy>();
    expect_refusals_without_collections<OuroborosCVLPolicy>();
}

/// An allocator whose queues are far too small.
template <class Base>
struct Narrow : Base {
    static constexpr std::uint32_t kMostEntries = 8;
    static constexpr std::uint32_t kMostParts = 1;
};

template <class Policy>
void expect_full_queues_lose_nothing() {
    ouroboros::Pool<Narrow<Policy>> pool(PoolConfig{.bytes = 65536});
    const auto ref = pool.ref();
    for (const std::size_t bytes : {16U, 64U}) {
        for (unsigned round = 0; round < 3; ++round) {
            std::vector<void*> all;
            for (void* p = ref.allocate({}, bytes); p != nullptr; p = ref.allocate({}, bytes)) {
                all.push_back(p);
            }
            EXPECT_EQ(all.size(), 65536 / bytes);
            for (void* p : all) ref.deallocate({}, p, bytes);
            EXPECT_EQ(measure_pool(pool).allocated_bytes, 0U);
        }
    }
    EXPECT_NE(ref.allocate({}, 65536), nullptr);
}

TEST(OuroborosQueues, LoseNothingWhenFull) {
    expect_full_queues_lose_nothing<OuroborosPSPolicy>();
    expect_full_queues_lose_nothing<OuroborosPVAPolicy>();
    expect_full_queues_lose_nothing<OuroborosCVAPolicy>();
}

TYPED_TEST(OuroborosTest, ReturnsChunksAtOnceIfTheyAreInQueues) {
    // Four chunks next to one another, all of whose pages are freed: in the list they are one
    // block.
    std::vector<void*> all = this->fill(64);
    std::ranges::sort(all);
    for (std::size_t i = 4 * 8; i < 8 * 8; ++i) this->free(all[i], 64);
    EXPECT_EQ(measure_pool(this->pool_).largest_free > this->kChunk, this->kChunksInQueues);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i / 32 != 1) this->free(all[i], 64);
    }
    this->expect_whole();
}

TEST(OuroborosGeometry, DescribesPools) {
    using ouroboros::Geometry;
    for (const std::uint64_t bytes :
         {std::uint64_t{16384}, std::uint64_t{100000}, std::uint64_t{1} << 22,
          (std::uint64_t{1} << 30) + 12345, std::uint64_t{1} << 36, std::uint64_t{1} << 38}) {
        for (const std::uint32_t fewest : {1U, 2U}) {
            const Geometry g =
                Geometry::of(PoolConfig{.bytes = bytes, .multiprocessors = 132}, fewest);
            const std::uint64_t chunk = std::uint64_t{1} << g.chunk_shift;
            EXPECT_LE(g.chunks * chunk, bytes);
            EXPECT_GT((g.chunks + 1) * chunk, bytes);
            EXPECT_TRUE(chunk == 8192 || g.chunks < 1024);
            EXPECT_EQ(g.unit_shift, bytes >> 38 == 1 ? 7U : bytes >> 36 == 1 ? 5U : 4U);
            EXPECT_EQ(g.largest_page(), chunk / fewest);
            EXPECT_LE(g.shards, 64U);
            EXPECT_EQ(g.shard_of(g.chunks - 1), g.shards - 1);
            for (std::uint32_t n = 1; n <= g.largest_page(); ++n) {
                const std::uint64_t page = std::uint64_t{1} << (g.class_of(n) + g.unit_shift);
                ASSERT_GE(page, n);
                ASSERT_TRUE(g.class_of(n) == 0 || page / 2 < n) << n;
            }
            for (std::uint32_t k = 0; k < g.classes; ++k) {
                EXPECT_EQ(std::uint64_t{g.pages(k)} << (k + g.unit_shift), chunk);
                const std::uint32_t unit = g.unit_of(g.chunks - 1, g.pages(k) - 1, k);
                EXPECT_EQ(g.chunk_of(unit), g.chunks - 1);
                EXPECT_EQ(g.page_of(unit, k), g.pages(k) - 1);
                // A stretch ends with the last page of its last chunk, and begins in the pool or,
                // if it has fewer chunks than it might, before it.
                EXPECT_EQ(g.unit_of_stretch(g.chunks - 1, g.stretch_pages(k) - 1, k), unit);
                EXPECT_EQ(g.unit_of_stretch(0, g.stretch_pages(k) - g.pages(k), k), 0U);
                EXPECT_LE(g.stretch_pages(k), std::max(32U, g.pages(k)));
                EXPECT_LE(g.stretch_of(k), 3U);
            }
            for (std::uint32_t m = 0; m < 200; ++m) EXPECT_LT(g.home_of(m), g.shards);
        }
    }
}

TEST(OuroborosCache, KeepsTheLastPagesOfEachClass) {
    CallerCache words{};
    const ouroboros::Cache cache(words);
    constexpr std::uint32_t kLast = 0xfffffff0U;  // unit, and 1
    EXPECT_EQ(cache.take(0), 0U);
    for (const std::uint32_t page : {8U, 1U, kLast, 10U}) EXPECT_EQ(cache.put(0, page), 0U);
    EXPECT_EQ(cache.put(6, 65), 0U);
    // The oldest leaves, the newest is given again first.
    EXPECT_EQ(cache.put(0, 12), 8U);
    EXPECT_EQ(cache.put(0, 13), 1U);
    EXPECT_EQ(cache.take(6), 65U);
    EXPECT_EQ(cache.take(6), 0U);
    for (const std::uint32_t page : {13U, 12U, 10U, kLast, 0U}) EXPECT_EQ(cache.take(0), page);
    EXPECT_TRUE(std::ranges::all_of(words.words, [](std::uint64_t w) { return w == 0; }));
}

TYPED_TEST(OuroborosTest, GivesPagesAgainFromTheCache) {
    TypeParam pool(PoolConfig{.bytes = 4 << 20, .callers = 16});
    const auto ref = pool.ref();
    CallerCache cache{};
    const Context context{0, 0, &cache};
    const auto allocated = [&] { return measure_pool(pool).allocated_bytes; };
    void* p = ref.allocate(context, 100);
    void* q = ref.allocate(context, 100);
    EXPECT_NE(p, q);
    ref.deallocate(context, p, 120);
    EXPECT_EQ(allocated(), 256U) << "it is the caller's";
    EXPECT_EQ(ref.allocate(context, 70), p);
    std::vector<void*> more{p, q};
    while (more.size() < 20) more.push_back(ref.allocate(context, 128));
    for (void* m : more) ref.deallocate(context, m, 128);
    EXPECT_EQ(allocated(), 4 * 128U) << "the others have left";
    ref.deallocate(context, ref.allocate(context, 4000), 4000);
    ref.flush(context);
    EXPECT_EQ(allocated(), 0U);
    EXPECT_TRUE(std::ranges::all_of(cache.words, [](std::uint64_t w) { return w == 0; }));
    // A request for all of the pool has its own cache flushed.
    ref.deallocate(context, ref.allocate(context, 100), 100);
    EXPECT_NE(ref.allocate(context, 4 << 20), nullptr);
}

TYPED_TEST(OuroborosTest, FindsAChunkWhosePagesAreInTheCallersCache) {
    std::vector<void*> all = this->fill(64);
    std::ranges::sort(all);
    CallerCache cache{};
    const Context context{0, 0, &cache};
    for (unsigned i = 0; i < 4; ++i) this->free(all[i], 64);
    EXPECT_EQ(this->ref_.allocate(context, 500), nullptr) << "half of the chunk is in use";
    for (unsigned i = 4; i < 8; ++i) this->ref_.deallocate(context, all[i], 64);
    EXPECT_NE(this->ref_.allocate(context, 500), nullptr);
}

}  // namespace

}  // namespace heapwood::tests
