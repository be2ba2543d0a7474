/// @file
/// What sets FlatterScatter apart: pages that are claimed while they are idle, whatever they were,
/// access blocks that remember vain searches, and runs of pages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "allocators/flatterscatter.cuh"
#include "tests/allocators/pool_checks.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::FlatterScatter;
using allocators::PoolConfig;
using allocators::Region;

TEST(FlatterWords, AChunkIsAtMostTwiceTheRequest) {
    using allocators::flatter::chunk_for;
    for (std::uint32_t bytes = 1; bytes <= 1U << 17; ++bytes) {
        const std::uint64_t chunk = std::uint64_t{1} << chunk_for(bytes);
        ASSERT_GE(chunk, bytes);
        ASSERT_LT(chunk, std::max(2 * bytes, 17U));
    }
}

/// A pool of 256 pages of 1 KiB, and two homes.
class FlatterTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kPage = 1024;
    static constexpr std::uint64_t kPages = 256;
    static constexpr std::uint64_t kPool = kPages * kPage;
    static constexpr std::uint64_t kChunks = kPage / 64;

    /// The regions of the walk.
    std::vector<Region> regions() const {
        std::vector<Region> all;
        std::uint64_t end = 0;
        pool_.for_each_region([&](const Region& r) {
            EXPECT_EQ(r.offset, end);
            end += r.size;
            all.push_back(r);
        });
        EXPECT_EQ(end, pool_.pool_bytes());
        return all;
    }
    char* take(std::uint64_t bytes, std::uint32_t as = 0) {
        return static_cast<char*>(ref_.allocate({as, as}, bytes));
    }
    std::vector<char*> take_chunks(std::uint64_t count, std::uint32_t as = 0) {
        std::vector<char*> chunks;
        for (std::uint64_t i = 0; i < count; ++i) {
            chunks.push_back(take(64, as));
            EXPECT_NE(chunks.back(), nullptr);
        }
        return chunks;
    }
    /// All that there is to be had.
    std::vector<char*> take_all(std::uint64_t bytes) {
        std::vector<char*> blocks;
        while (char* p = take(bytes)) blocks.push_back(p);
        std::ranges::sort(blocks);
        return blocks;
    }
    void free(void* p, std::uint64_t bytes = 64, std::uint32_t as = 0) {
        ref_.deallocate({as, as}, p, bytes);
    }
    void expect_whole() {
        EXPECT_EQ(regions(), (std::vector<Region>{{0, kPool, false}}));
        void* all = take(kPool);
        EXPECT_NE(all, nullptr) << "the pool is not whole";
        free(all, kPool);
    }

    FlatterScatter pool_{PoolConfig{.bytes = kPool, .multiprocessors = 2}};
    FlatterScatter::Ref ref_ = pool_.ref();
};

TEST_F(FlatterTest, HandsAPageOutInTheOrderOfItsCount) {
    const auto chunks = take_chunks(kChunks);
    for (std::uint64_t i = 0; i < kChunks; ++i) EXPECT_EQ(chunks[i], chunks[0] + 64 * i);
    char* next = take_chunks(1)[0];
    EXPECT_TRUE(next < chunks[0] || next >= chunks[0] + kPage);
    free(next);
    for (char* p : chunks) free(p);
    expect_whole();
}

TEST_F(FlatterTest, FindsEveryFreeChunkOfItsPage) {
    auto chunks = take_chunks(kChunks);
    std::shuffle(chunks.begin(), chunks.end(), std::mt19937_64(test_seed()));
    for (std::size_t freed = 1; freed <= kChunks; ++freed) {
        for (std::size_t i = 0; i < freed; ++i) free(chunks[i]);
        const auto again = take_chunks(freed);
        EXPECT_EQ(std::set(again.begin(), again.end()),
                  std::set(chunks.begin(), chunks.begin() + static_cast<std::ptrdiff_t>(freed)));
    }
}

TEST_F(FlatterTest, SpreadsHomesOverPages) {
    char* a = take(64, 0);
    char* b = take(64, 1);
    char* c = take(64, 2);
    EXPECT_EQ(c, a + 64);
    EXPECT_TRUE(b + 64 <= a || b >= a + kPage);
    for (char* p : {a, b, c}) free(p);
    expect_whole();
}

TEST_F(FlatterTest, AnIdlePageServesAnySize) {
    const auto blocks = take_all(64);
    ASSERT_EQ(blocks.size(), kPool / 64) << "bit fields lie beside the pool";
    char* const first = blocks[7 * kChunks];
    for (std::size_t i = 0; i + 1 < kChunks; ++i) free(blocks[7 * kChunks + i]);
    EXPECT_EQ(take(16), nullptr) << "a chunk of the page is in use";
    EXPECT_EQ(take(kPage), nullptr);
    free(blocks[8 * kChunks - 1]);
    for (const std::uint64_t bytes : {16U, 1024U, 512U, 100U}) {
        EXPECT_EQ(take(bytes), first) << bytes;
        free(first, bytes);
    }
    for (std::size_t i = 8 * kChunks; i < 9 * kChunks; ++i) free(blocks[i]);
    EXPECT_EQ(take(kPage + 1), first) << "two idle pages are a run";
    free(first, kPage + 1);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i / kChunks != 7 && i / kChunks != 8) free(blocks[i]);
    }
    expect_whole();
}

TEST_F(FlatterTest, AHintReturnsToAPageThatGotRoom) {
    const auto first = take_chunks(kChunks);
    const auto others = take_chunks(3 * kChunks);
    free(first[5], 64, 1);
    EXPECT_NE(take_chunks(1)[0], first[5]) << "the hint of another home";
    EXPECT_EQ(take_chunks(1, 1)[0], first[5]);
    free(first[3]);
    EXPECT_EQ(take_chunks(1)[0], first[3]);
}

TEST_F(FlatterTest, UsesTheLastChunkBeforeItRefuses) {
    auto chunks = take_all(64);
    ASSERT_EQ(chunks.size(), kPool / 64);
    std::shuffle(chunks.begin(), chunks.end(), std::mt19937_64(test_seed()));
    for (std::uint32_t round = 0; round < 50; ++round) {
        const std::set<char*> freed(chunks.end() - 3, chunks.end());
        for (char* p : freed) free(p);
        for (std::size_t i = chunks.size() - 3; i < chunks.size(); ++i) {
            chunks[i] = take_chunks(1, round)[0];
            ASSERT_TRUE(freed.contains(chunks[i]));
        }
        ASSERT_EQ(take(64, round), nullptr);
        ASSERT_EQ(take(16, round), nullptr);
        std::shuffle(chunks.begin(), chunks.end(), std::mt19937_64(round));
    }
    for (char* p : chunks) free(p);
    expect_whole();
}

TEST_F(FlatterTest, RunsComeFromTheEnd) {
    char* const pool = take(kPool);
    free(pool, kPool);
    char* a = take(3 * kPage);
    char* b = take(2 * kPage - 1);
    EXPECT_EQ(a, pool + kPool - 3 * kPage);
    EXPECT_EQ(b, a - 2 * kPage);
    EXPECT_LT(take(64), pool + kPool / 4) << "chunks come from the first quarter";
    free(a, 3 * kPage);
    EXPECT_EQ(take(3 * kPage), a);
    free(b, 2 * kPage);
    EXPECT_EQ(take(2 * kPage), b);
    // Below the last run there is nothing left: it is looked for once more from the end.
    const auto rest = take_all(2 * kPage);
    free(a, 3 * kPage);
    free(rest[0], 2 * kPage);
    EXPECT_EQ(take(3 * kPage), a);
    EXPECT_EQ(take(2 * kPage), rest[0]);
}

TEST_F(FlatterTest, ARunGrowsOnlyOverIdlePages) {
    const auto pages = take_all(kPage);
    ASSERT_EQ(pages.size(), kPages);
    for (const std::size_t i : {10U, 11U, 13U, 14U, 15U}) free(pages[i], kPage);
    EXPECT_EQ(take(4 * kPage), nullptr);
    EXPECT_EQ(take(3 * kPage), pages[13]);
    EXPECT_EQ(take(3 * kPage), nullptr);
    EXPECT_EQ(take(2 * kPage), pages[10]);
    EXPECT_EQ(take(2 * kPage), nullptr);
    free(pages[12], kPage);
    EXPECT_EQ(take(1), pages[12]) << "all of the pool is in use but for this page";
}

TEST_F(FlatterTest, WalksChunksAndRuns) {
    char* a = take(100);
    char* b = take(100);
    char* c = take(100);
    char* run = take(3 * kPage);
    char* next = take(2 * kPage);
    EXPECT_EQ(ref_.granted_bytes(a, 100), 128U);
    EXPECT_EQ(ref_.granted_bytes(run, 2 * kPage + 1), 3 * kPage);
    free(b, 100);
    const auto offset =
        static_cast<std::uint64_t>(kPool - static_cast<std::uint64_t>(run - a)) - 3 * kPage;
    EXPECT_EQ(regions(), (std::vector<Region>{{0, offset, false},
                                              {offset, 128, true},
                                              {offset + 128, 128, false},
                                              {offset + 256, 128, true},
                                              {offset + 384, kPage - 384, false},
                                              {offset + kPage, kPool - 6 * kPage - offset, false},
                                              {kPool - 5 * kPage, 2 * kPage, true},
                                              {kPool - 3 * kPage, 3 * kPage, true}}));
    free(a, 100);
    free(c, 100);
    free(run, 3 * kPage);
    free(next, 2 * kPage);
    expect_whole();
}

TEST(Flatter, SizesPagesByThePool) {
    // Of a page and a byte two pages are granted.
    const auto page = [](std::uint64_t bytes) {
        const FlatterScatter pool(PoolConfig{.bytes = bytes});
        std::uint64_t size = 1024;
        while (pool.ref().granted_bytes(&pool, size + 1) < 2 * size ||
               pool.ref().granted_bytes(&pool, 2 * size + 1) == 4 * size) {
            size *= 2;
        }
        return size;
    };
    EXPECT_EQ(page(std::uint64_t{1} << 30), 128U << 10) << "the published page";
    EXPECT_EQ(page(64 << 20), 64U << 10) << "1024 pages";
    EXPECT_EQ(page(16384), 1024U);
    EXPECT_THROW(FlatterScatter(PoolConfig{.bytes = 16383}), std::invalid_argument);
}

/// A pool of 8 pages of 1 KiB, pages of which have become idle so often. No search has been in
/// vain.
class CountedPool {
public:
    using Policy = allocators::FlatterScatterPolicy;

    explicit CountedPool(std::uint64_t idled) { block_.idled = idled; }

    allocators::flatter::Core<Policy> ref() {
        return {{pool_, table_, bits_, &block_, &state_, kPages, 10}, hints_, 1};
    }
    allocators::flatter::Block& block() { return block_; }
    allocators::flatter::State& state() { return state_; }

private:
    static constexpr std::uint32_t kPages = 8;

    alignas(16) char pool_[kPages * 1024]{};
    std::uint32_t table_[kPages]{};
    std::uint32_t bits_[kPages * 2]{};
    allocators::flatter::Block block_{};
    allocators::flatter::State state_{};
    std::uint32_t hints_[16]{};
};

TEST(Flatter, RefusesNothingHoweverOftenPagesHaveBecomeIdle) {
    for (const std::uint64_t idled :
         {0ULL, 0xfffffffeULL, 0xffffffffULL, 1ULL << 32, (1ULL << 40) - 1, 1ULL << 40}) {
        CountedPool pool(idled);
        const auto ref = pool.ref();
        void* run = ref.allocate({}, 8192);
        ASSERT_NE(run, nullptr) << "a run after " << idled;
        // Now it is full, and remembers so until the run is freed.
        EXPECT_EQ(ref.allocate({}, 64), nullptr) << idled;
        EXPECT_EQ(ref.allocate({}, 64), nullptr) << idled;
        EXPECT_EQ(ref.allocate({}, 2048), nullptr) << idled;
        EXPECT_EQ(ref.allocate({}, 2048), nullptr) << idled;
        ref.deallocate({}, run, 8192);
        EXPECT_NE(ref.allocate({}, 64), nullptr) << "a chunk after " << idled;
        EXPECT_NE(ref.allocate({}, 2048), nullptr) << "a shorter run after " << idled;
    }
}

/// What a search found 2^32 times ago says nothing.
TEST(Flatter, ForgetsSearchesInVain) {
    CountedPool pool((1ULL << 32) + 5);
    for (auto& none : pool.block().none) none = 6;
    pool.state().no_run = allocators::flatter::no_run_of(1, 5);
    EXPECT_NE(pool.ref().allocate({}, 64), nullptr);
    EXPECT_NE(pool.ref().allocate({}, 2048), nullptr);
}

TEST(Flatter, ALongerRunThanOneThatWasNotFoundIsNotLookedFor) {
    using allocators::flatter::no_run_of;
    using allocators::flatter::says;
    EXPECT_TRUE(says(no_run_of(7, 3), no_run_of(7, 3)));
    EXPECT_TRUE(says(no_run_of(7, 3), no_run_of(8, 3)));
    EXPECT_FALSE(says(no_run_of(7, 3), no_run_of(6, 3)));
    EXPECT_FALSE(says(no_run_of(7, 3), no_run_of(7, 4)));
}

/// A pool may have kMostPages pages. No search has failed in it before the first.
TEST(Flatter, ARunOfThePagesOfTheLargestPoolIsLookedFor) {
    using allocators::flatter::kMostPages;
    using allocators::flatter::no_run_of;
    using allocators::flatter::says;
    for (const std::uint32_t length : {1U, kMostPages - 1, kMostPages}) {
        EXPECT_FALSE(says(0, no_run_of(length, 0))) << length;
        EXPECT_TRUE(says(no_run_of(length, 0), no_run_of(kMostPages, 0))) << length;
        EXPECT_FALSE(says(no_run_of(length, 0), no_run_of(kMostPages, 1))) << length;
        EXPECT_EQ(no_run_of(length, 5) >> allocators::flatter::kLengthBits, 5U) << length;
    }
    EXPECT_FALSE(says(no_run_of(kMostPages, 0), no_run_of(kMostPages - 1, 0)));
    for (const std::uint64_t bytes : {std::uint64_t{2} << 40, std::uint64_t{3} << 40}) {
        EXPECT_THROW(FlatterScatter(PoolConfig{.bytes = bytes}), std::invalid_argument) << bytes;
    }
}

TEST(Flatter, ItsTablesAreAHundredthOfThePool) {
    for (const std::uint64_t bytes : {1U << 20, 64U << 20, 1U << 30}) {
        const FlatterScatter pool(PoolConfig{.bytes = bytes, .multiprocessors = 132});
        EXPECT_LE(pool.overhead_bytes(), bytes / 75) << bytes;
    }
}

}  // namespace

}  // namespace heapwood::tests
