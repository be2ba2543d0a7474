/// @file
/// What only ScatterAlloc has: pages of three sizes, two levels of bit fields, slots and regions,
/// and a page's way from the list through many sizes and back; in one thread, step by step and with
/// calls that interrupt one another; then in many that are stalled where it hurts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocators/scatteralloc.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/interleaving.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

using allocators::Context;
using allocators::PoolConfig;
using allocators::Region;
using allocators::ScatterAlloc;

/// Pages of so many bytes.
allocators::Choices paged(std::uint64_t bytes) {
    return {{"page_bytes", std::to_string(bytes)}};
}

/// A policy whose threads now and then yield or sleep where that may hurt.
struct StallingScatter : allocators::ScatterPolicy {
    static void pause() {
        static std::atomic<std::uint64_t> threads{0};
        thread_local Dice dice{++threads};
        const std::uint64_t roll = dice.below(4096);
        if (roll < 128) std::this_thread::yield();
        if (roll == 4095) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
};
using StallingAlloc = allocators::BasicScatterAlloc<StallingScatter>;

/// A with larger pages.
template <class A, std::uint64_t kPageBytes>
class Paged : public A {
public:
    explicit Paged(PoolConfig config) : A((config.choices = paged(kPageBytes), config)) {}
};

[[maybe_unused]] const bool kEnlisted =
    enlist<Paged<ScatterAlloc, 8192>, SerialMachine>("scatteralloc_8192") &&
    enlist<Paged<StallingAlloc, 16384>, SerialMachine>("stalling_scatteralloc_16384") &&
    enlist<StallingAlloc, SerialMachine>("stalling_scatteralloc");

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

/// A policy whose calls interrupt one another.
struct InterruptedScatter : Interruptible {
    /// Whoever is interrupted stays so until the interrupting call returns.
    static constexpr std::uint32_t kPatience = 2;
};

using Interrupted = allocators::BasicScatterAlloc<InterruptedScatter>;

/// Runs `call`, and `scripts[n]` at its n-th point where others may come between, from 0.
void interrupt(const std::vector<std::function<void()>>& scripts,
               const std::function<void()>& call) {
    std::size_t point = 0;
    bool interrupted = false;
    Interruptible::hook = [&] {
        if (interrupted || point == scripts.size()) return;
        interrupted = true;
        scripts[point++]();
        interrupted = false;
    };
    call();
    Interruptible::hook = nullptr;
    ASSERT_EQ(point, scripts.size()) << "there are not so many points";
}
void go_on() {}

/// A request that learned of a page before it was closed sets a bit in vain, and somebody opens the
/// page before the bit is cleared.
TEST(ScatterInterruptions, ALateRequestTakesNobodysChunk) {
    constexpr std::uint64_t kPool = 32768;
    for (const std::uint64_t bytes : {64, 1024}) {
        Interrupted pool({.bytes = kPool});
        const auto ref = pool.ref();
        ref.deallocate({}, ref.allocate({}, bytes), bytes);
        std::vector<void*> blocks;
        const auto close = [&] {
            void* all = ref.allocate({}, kPool);
            ASSERT_NE(all, nullptr) << "the page is in the list";
            ref.deallocate({}, all, kPool);
        };
        const auto open = [&] {
            for (unsigned i = 0; i < 4; ++i) blocks.push_back(ref.allocate({}, bytes));
        };
        interrupt({close, open}, [&] { blocks.push_back(ref.allocate({}, bytes)); });
        // If a chunk's bit was lost or cleared, the chunk is given again.
        for (void* p = ref.allocate({}, bytes); p != nullptr; p = ref.allocate({}, bytes)) {
            blocks.push_back(p);
        }
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
        EXPECT_EQ(blocks.size(), kPool / bytes) << "no chunk is lost";
        for (void* p : blocks) ref.deallocate({}, p, bytes);
        EXPECT_NE(ref.allocate({}, kPool), nullptr);
    }
}

/// A page that has been left is entered before it is closed.
TEST(ScatterInterruptions, APageIsNotClosedUnderANewcomer) {
    constexpr std::uint64_t kPool = 32768;
    Interrupted pool({.bytes = kPool});
    const auto ref = pool.ref();
    // The slot's page is the second, and has room.
    std::vector<void*> blocks;
    for (unsigned i = 0; i < 3; ++i) blocks.push_back(ref.allocate({}, 2048));
    ref.deallocate({}, blocks[1], 2048);
    std::vector<void*> others;
    const auto enter = [&] {
        for (unsigned i = 0; i < 2; ++i) others.push_back(ref.allocate({}, 2048));
    };
    // Before it leaves, before it looks at the page, and before it closes it.
    interrupt({go_on, go_on, enter}, [&] { ref.deallocate({}, blocks[0], 2048); });
    const auto first_page = [&](const void* p) {
        const auto page = reinterpret_cast<std::uintptr_t>(blocks[0]) / 4096;
        return reinterpret_cast<std::uintptr_t>(p) / 4096 == page;
    };
    ASSERT_EQ(std::ranges::count_if(others, first_page), 1);
    for (void* p = ref.allocate({}, 4096); p != nullptr; p = ref.allocate({}, 4096)) {
        EXPECT_FALSE(first_page(p)) << "a page in use";
    }
}

TEST(ScatterInterruptions, HarmNobody) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
        const std::uint64_t page = 4096U << i % 3;
        const PoolConfig config{.bytes = page * (i % 2 == 0 ? 8 : 61),
                                .callers = static_cast<std::uint32_t>(1 + i % 5),
                                .choices = paged(page)};
        // Mostly chunks, now and then a run of pages.
        World<Interrupted, false> world(config, i % 4 == 0 ? 64 : page + page / 2, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        world.allocator().for_each_region(
            [&](const Region& r) { EXPECT_FALSE(r.allocated) << "world " << i; });
        EXPECT_NE(world.allocator().ref().allocate({}, config.bytes), nullptr)
            << "the pool does not become whole again; world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 10000U);
}

using ScatterStress = AllocatorTest<Subject<StallingAlloc, SerialMachine>>;

/// Small pools, in which pages are opened and closed all the time.
TEST_F(ScatterStress, TinyPools) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {32768U, 65536U, 262144U}) {
        for (const std::uint64_t largest : {64U, 2048U, 6000U}) {
            auto a = make(bytes);
            Array<Block> slots(kThreads * kSlots);
            Array<Tally> tally(kThreads);
            Machine::run(kWarps, ChurnBody<Ref>{a->ref(), slots.data(), kSlots, 2000, largest, seed,
                                                kMultiprocessors, tally.data(), nullptr});
            const Tally sum = expect_sound(tally);
            EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
            expect_pool_holds(*a, {slots.begin(), slots.end()});
            release_shuffled(*a, {slots.begin(), slots.end()}, seed);
            expect_empty(*a);
            EXPECT_NE(request(*a, {a->pool_bytes()})[0].data, nullptr);
        }
    }
}

}  // namespace

}  // namespace heapwood::tests
