/// @file
/// What only ScatterAlloc has: pages of three sizes, two levels of bit fields, slots and regions,
/// and a page's way from the list through many sizes and back; in one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/scatteralloc.cuh"
#include "tests/allocators/paged.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::Context;
using allocators::PoolConfig;
using allocators::Region;
using allocators::ScatterAlloc;

class ScatterTest : public ::testing::TestWithParam<std::uint64_t> {
protected:
    static Context caller(std::uint32_t i) { return {0, i, nullptr}; }

    void make(std::uint64_t pages, std::uint32_t callers = 1) {
        pool_ = std::make_unique<ScatterAlloc>(
            PoolConfig{.bytes = pages * kPage, .callers = callers, .choices = paged(kPage)});
        ref_ = pool_->ref();
        void* all = ref_.allocate(caller(0), pages * kPage);
        ASSERT_NE(all, nullptr);
        begin_ = static_cast<const char*>(all);
        ref_.deallocate(caller(0), all, pages * kPage);
    }
    void* get(std::uint64_t bytes, std::uint32_t i = 0) { return ref_.allocate(caller(i), bytes); }
    std::vector<void*> get(std::uint64_t count, std::uint64_t bytes, std::uint32_t i) {
        std::vector<void*> blocks;
        while (blocks.size() < count) blocks.push_back(get(bytes, i));
        return blocks;
    }
    void free(void* p, std::uint64_t bytes, std::uint32_t i = 0) {
        ref_.deallocate(caller(i), p, bytes);
    }
    void free(const std::vector<void*>& blocks, std::uint64_t bytes) {
        for (void* p : blocks) free(p, bytes);
    }
    std::uint64_t offset(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - begin_);
    }
    std::uint64_t page_of(const void* p) const { return offset(p) / kPage; }
    std::set<std::uint64_t> pages_of(const std::vector<void*>& blocks) const {
        std::set<std::uint64_t> pages;
        for (const void* p : blocks) pages.insert(page_of(p));
        return pages;
    }
    /// {offset, size} of what the walk calls allocated.
    std::map<std::uint64_t, std::uint64_t> allocated() const {
        std::map<std::uint64_t, std::uint64_t> all;
        std::uint64_t end = 0;
        pool_->for_each_region([&](const Region& r) {
            EXPECT_EQ(r.offset, end);
            end += r.size;
            if (r.allocated) all.emplace(r.offset, r.size);
        });
        EXPECT_EQ(end, pool_->pool_bytes());
        return all;
    }
    void expect_whole() {
        EXPECT_TRUE(allocated().empty());
        void* all = get(pool_->pool_bytes());
        EXPECT_NE(all, nullptr) << "the pool is not whole";
        free(all, pool_->pool_bytes());
    }

    const std::uint64_t kPage = GetParam();
    std::unique_ptr<ScatterAlloc> pool_;
    ScatterAlloc::Ref ref_;
    const char* begin_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Pages, ScatterTest, ::testing::Values(4096, 8192, 16384),
                         ::testing::PrintToStringParamName());

TEST_P(ScatterTest, FillsPagesWithChunksOfOneSize) {
    for (std::uint64_t chunk = 16; chunk < kPage; chunk *= 2) {
        make(64);
        const std::uint64_t count = kPage / chunk;
        // The largest request that has such a chunk, and the smallest.
        for (const std::uint64_t bytes : {chunk, chunk == 16 ? 1 : chunk / 2 + 1}) {
            const std::vector<void*> blocks = get(2 * count, bytes, 0);
            ASSERT_EQ(pages_of(blocks).size(), 2U) << bytes << " bytes";
            std::map<std::uint64_t, std::uint64_t> expected;
            for (const void* p : blocks) {
                EXPECT_EQ(ref_.granted_bytes(p, bytes), chunk);
                expected.emplace(offset(p), chunk);
            }
            EXPECT_EQ(expected.size(), 2 * count) << "a chunk was given twice";
            EXPECT_EQ(allocated(), expected);
            free(blocks, bytes);
        }
        expect_whole();
    }
}

TEST_P(ScatterTest, GivesRunsOfPagesAboveHalfAPage) {
    make(64);
    for (const std::uint64_t pages : {1, 2, 3, 7}) {
        const std::uint64_t bytes = pages * kPage - kPage / 2 + 1;
        void* p = get(bytes);
        EXPECT_EQ(ref_.granted_bytes(p, bytes), pages * kPage);
        EXPECT_EQ(allocated(), (std::map{std::pair{offset(p), pages * kPage}}));
        free(p, bytes);
    }
    expect_whole();
}

TEST_P(ScatterTest, UsesAChunkAgain) {
    make(64);
    const std::vector<void*> blocks = get(kPage / 256, 256, 0);
    EXPECT_EQ(pages_of(blocks).size(), 1U);
    free(blocks[5], 256);
    EXPECT_EQ(get(200), blocks[5]) << "the only chunk of the page that is left";
    EXPECT_NE(page_of(get(200)), page_of(blocks[0]));
}

TEST_P(ScatterTest, FindsRoomInTheRegionOfAFullPage) {
    make(64);
    const std::uint64_t count = kPage / 1024;
    std::vector<void*> blocks = get(3 * count, 1024, 0);
    ASSERT_EQ(pages_of(blocks).size(), 3U);
    // The first page has been left behind when it was full, and is in the same region.
    ASSERT_LT(page_of(blocks.back()), 16U);
    free(blocks[1], 1024);
    EXPECT_EQ(get(1024), blocks[1]);
    free(blocks[0], 1024);
    free(blocks[2], 1024);
    const std::vector<void*> again = get(2, 1024, 0);
    EXPECT_EQ((std::set<void*>{again[0], again[1]}), (std::set<void*>{blocks[0], blocks[2]}));
    free(blocks, 1024);
    expect_whole();
}

TEST_P(ScatterTest, KeepsCallersApart) {
    make(1024, 4);
    std::set<std::uint64_t> pages;
    for (std::uint32_t i = 0; i < 4; ++i) pages.insert(page_of(get(256, i)));
    EXPECT_EQ(pages.size(), 4U);
    EXPECT_EQ(page_of(get(256, 4)), page_of(get(256, 0))) << "there are four homes";
}

TEST_P(ScatterTest, KeepsAnEmptyPageForItsCallerAndReturnsASecond) {
    make(64);
    const std::uint64_t count = kPage / 512;
    const std::vector<void*> first = get(count, 512, 0);
    const std::vector<void*> second = get(count, 512, 0);
    free(first, 512);
    // The slot's page was full, so this one has taken its place. The list would give first what it
    // got last.
    EXPECT_NE(page_of(get(kPage)), page_of(first[0]));
    void* again = get(512);
    EXPECT_EQ(page_of(again), page_of(first[0]));
    free(second, 512);
    void* run = get(kPage);
    EXPECT_EQ(page_of(run), page_of(second[0])) << "the slot's page had room";
    pool_->reset();
    free(get(512), 512);
    EXPECT_TRUE(allocated().empty());
    // But for one page, everything is in the list.
    std::uint64_t pages = 0;
    for (void* p = get(kPage); p != nullptr && pages < 63; p = get(kPage)) ++pages;
    EXPECT_EQ(pages, 63U);
}

TEST_P(ScatterTest, APageServesEverySizeInTurn) {
    make(8);
    for (unsigned round = 0; round < 3; ++round) {
        for (std::uint64_t chunk = 16; chunk < kPage; chunk *= 2) {
            // Nearly all of the pool; slots of other sizes may have a page each, but not for long.
            const std::vector<void*> blocks = get(kPage / chunk * 8, chunk, 0);
            EXPECT_EQ(std::ranges::count(blocks, nullptr), 0) << chunk << " bytes";
            EXPECT_EQ(get(chunk), nullptr) << "the pool is full";
            free(blocks, chunk);
        }
        expect_whole();
    }
}

TEST_P(ScatterTest, FindsTheLastChunkAnywhere) {
    // All regions are looked at, since there are not more than kMostRegions.
    make(256, 4);
    const std::uint64_t chunk = kPage / 4;
    std::vector<void*> blocks;
    for (void* p = get(chunk); p != nullptr; p = get(chunk)) blocks.push_back(p);
    EXPECT_EQ(blocks.size(), 1024U);
    for (const std::size_t i : {3, 500, 1000}) {
        free(blocks[i], chunk);
        EXPECT_EQ(get(chunk, 3), blocks[i]) << "for a caller who has no page at all";
        EXPECT_EQ(get(chunk), nullptr);
    }
    free(blocks[7], chunk);
    EXPECT_EQ(get(chunk / 2), nullptr) << "the page has chunks of another size";
    // Something that has been returned to the list is found again.
    const std::uint64_t page = page_of(blocks[40]);
    for (void* p : blocks) {
        if (page_of(p) == page) free(p, chunk, 1);
    }
    void* small = get(16, 2);
    EXPECT_EQ(page_of(small), page);
}

/// Blocks that are freed here and there are found again, although each field is in use all the
/// time and there are many more regions than kMostRegions.
TEST_P(ScatterTest, FindsChunksThatAreFreedAtRandom) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t chunk : {16, 64, 1024}) {
        make(1024);
        std::vector<void*> blocks;
        for (void* p = get(chunk); p != nullptr; p = get(chunk)) blocks.push_back(p);
        EXPECT_EQ(blocks.size(), 1024 * kPage / chunk) << "the pool is not used in full";
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(seed));
        blocks.resize(500);
        free(blocks, chunk);
        std::set<void*> freed(blocks.begin(), blocks.end());
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            EXPECT_EQ(freed.erase(get(chunk)), 1U) << i << " of " << chunk << " bytes";
        }
        EXPECT_EQ(get(chunk), nullptr);
    }
}

TEST_P(ScatterTest, TakesBackWhatIsHeldButNotUsed) {
    make(1024, 16);
    for (std::uint32_t i = 0; i < 16; ++i) {
        for (std::uint64_t chunk = 16; chunk < kPage; chunk *= 2) free(get(chunk, i), chunk, i);
    }
    expect_whole();
    // What is used stays, and what it lies in.
    void* small = get(16, 3);
    void* large = get(kPage / 2, 5);
    EXPECT_EQ(get(1024 * kPage), nullptr);
    EXPECT_EQ(allocated(), (std::map{std::pair{offset(small), std::uint64_t{16}},
                                     std::pair{offset(large), kPage / 2}}));
    free(small, 16);
    free(large, kPage / 2);
    expect_whole();
}

/// A policy that counts steps.
struct CountingScatter : allocators::ScatterPolicy {
    static inline std::uint64_t steps = 0;
    static void pause() { ++steps; }
};

TEST(Scatter, RefusesQuicklyOnceThePoolIsFull) {
    constexpr std::uint64_t kPages = 4096;
    allocators::BasicScatterAlloc<CountingScatter> pool(
        PoolConfig{.bytes = kPages * 4096, .callers = 16});
    const auto ref = pool.ref();
    std::vector<void*> pages;
    for (void* p = ref.allocate({}, 4096); p != nullptr; p = ref.allocate({}, 4096)) {
        pages.push_back(p);
    }
    ASSERT_EQ(pages.size(), kPages);
    const auto steps_of_request = [&](void*& p) {
        CountingScatter::steps = 0;
        p = ref.allocate({}, 100);
        return CountingScatter::steps;
    };
    void* p = nullptr;
    EXPECT_GT(steps_of_request(p), kPages) << "the list is searched once";
    EXPECT_EQ(p, nullptr);
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_LT(steps_of_request(p), 100U);
        EXPECT_EQ(p, nullptr);
    }
    // What is returned is found.
    for (const std::size_t i : {100, 4000, 2000}) {
        ref.deallocate({}, pages[i], 4096);
        steps_of_request(p);
        ASSERT_EQ(p, pages[i]);
        ref.deallocate({}, p, 100);
        ASSERT_EQ(ref.allocate({}, 4096), pages[i]);
    }
}

TEST(Scatter, SearchesAllFieldsOnce) {
    constexpr std::uint64_t kPages = 4096;
    allocators::BasicScatterAlloc<CountingScatter> pool(PoolConfig{.bytes = kPages * 4096});
    const auto ref = pool.ref();
    std::vector<void*> chunks;
    const auto steps_of_request = [&] {
        CountingScatter::steps = 0;
        void* p = ref.allocate({}, 1024);
        if (p != nullptr) chunks.push_back(p);
        return CountingScatter::steps;
    };
    std::uint64_t steps = 0;
    for (std::size_t i = 0; i <= 4 * kPages; ++i) steps = steps_of_request();
    ASSERT_EQ(chunks.size(), 4 * kPages);
    EXPECT_GT(steps, kPages / 16) << "all regions are searched once";
    for (unsigned i = 0; i < 10; ++i) EXPECT_LT(steps_of_request(), 100U);
    ASSERT_EQ(chunks.size(), 4 * kPages);
    // What is freed is found, by a search that begins there.
    for (const std::size_t i : {100, 16000, 8000}) {
        ref.deallocate({}, chunks[i], 1024);
        EXPECT_LT(steps_of_request(), 100U);
        EXPECT_EQ(chunks.back(), chunks[i]);
    }
}

TEST_P(ScatterTest, ForgetsPagesOnReset) {
    make(64);
    get(16);
    get(1000);
    pool_->reset();
    expect_whole();
}

TEST_P(ScatterTest, HasSmallerPagesWhereThereAreFewerThanEight) {
    const std::uint64_t bytes = kPage + 1;
    make(8);
    EXPECT_EQ(ref_.granted_bytes(get(bytes), bytes), 2 * kPage);
    const PoolConfig config{.bytes = 8 * kPage - 1, .choices = paged(kPage)};
    if (kPage == 4096) {
        EXPECT_THROW(ScatterAlloc{config}, std::invalid_argument);
        return;
    }
    const ScatterAlloc pool(config);
    const auto ref = pool.ref();
    EXPECT_EQ(ref.granted_bytes(ref.allocate({}, bytes), bytes), kPage + kPage / 2);
}

TEST(Scatter, RefusesPagesOfOtherSizes) {
    for (const std::uint64_t bytes : {0, 1, 2048, 4095, 5000, 32768}) {
        EXPECT_THROW(ScatterAlloc({.bytes = 1 << 20, .choices = paged(bytes)}),
                     std::invalid_argument);
    }
}

/// Counts that no search in vain has written down yet, however large they are.
TEST(Scatter, RefusesNothingHoweverOftenRoomWasMade) {
    using Policy = allocators::ScatterPolicy;
    using ListPolicy = allocators::ScatterListPolicy<Policy>;
    constexpr std::uint32_t kShift = 12;
    for (const std::uint64_t count : {0ULL, 0xfffffffeULL, 0xffffffffULL, 1ULL << 32}) {
        const allocators::circular::CircularMalloc<ListPolicy> list({.bytes = 8U << kShift},
                                                                    kShift);
        const allocators::scatter::Layout layout{8, kShift};
        std::vector<allocators::scatter::Word> words(layout.words());
        std::vector<std::uint32_t> slots(1U << allocators::scatter::kHomeShift);
        allocators::scatter::State state{};
        state.returned = count;
        for (auto& room : state.rooms) room.made = count;
        const allocators::scatter::Fields<Policy, ListPolicy> fields(
            list.ref(), layout, words.data(), slots.data(), &state, 1);
        EXPECT_FALSE(fields.has_no_room(6)) << count;
        EXPECT_NE(allocators::scatter::Core(fields).allocate({}, 64), nullptr) << count;
        // What a search found 2^32 times ago says nothing.
        state.rooms[6].made = count;
        state.rooms[6].none = count + 1;
        EXPECT_TRUE(fields.has_no_room(6)) << count;
        state.rooms[6].made = count + (1ULL << 32);
        EXPECT_FALSE(fields.has_no_room(6)) << count;
    }
}

TEST(Scatter, RefusesPoolsOfATebibyte) {
    // The last field's number and 1 would be the mark of a slot that is being refilled.
    EXPECT_THROW(ScatterAlloc({.bytes = std::uint64_t{1} << 40}), std::invalid_argument);
}

}  // namespace

}  // namespace heapwood::tests
