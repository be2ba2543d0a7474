/// @file
/// The workloads against a journal of what they ask of an allocator, and against allocators that
/// hand memory out twice.
#include "allocators/measure/workload.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Blocks;
using allocators::Context;
using allocators::Counts;
using allocators::Stamps;
using allocators::Work;
using allocators::Workload;

/// What was asked of an allocator, in order.
struct Entry {
    bool take;
    void* block;
    std::size_t bytes;
    std::uint32_t caller;
};

/// An allocator that keeps a journal: every block is memory of its own.
struct Journal {
    std::vector<Entry> entries;
    std::map<void*, std::unique_ptr<std::uint32_t[]>> live;
    std::size_t refuse_after = ~std::size_t{0};  ///< live blocks
    std::size_t faults = 0;                      ///< frees of no block, or with another size
    std::map<void*, std::size_t> sizes;

    struct Ref {
        Journal* journal;

        void* allocate(const Context& context, std::size_t bytes) const {
            Journal& j = *journal;
            if (j.live.size() >= j.refuse_after) {
                j.entries.push_back({true, nullptr, bytes, context.warp});
                return nullptr;
            }
            auto memory = std::make_unique<std::uint32_t[]>((bytes + 3) / 4);
            void* block = memory.get();
            j.entries.push_back({true, block, bytes, context.warp});
            j.live[block] = std::move(memory);
            j.sizes[block] = bytes;
            return block;
        }
        void deallocate(const Context& context, void* block, std::size_t bytes) const {
            Journal& j = *journal;
            j.entries.push_back({false, block, bytes, context.warp});
            if (j.live.count(block) == 0 || j.sizes[block] != bytes) ++j.faults;
            j.live.erase(block);
        }
    };
};

/// A workload and all that it points to.
struct Case {
    explicit Case(std::uint32_t callers, std::uint32_t requests, std::uint32_t min_bytes = 4,
                  std::uint32_t max_bytes = 4, std::uint64_t slots = 0)
        : data(slots != 0 ? slots : std::size_t{callers} * requests) {
        workload.stamps = Stamps::whole;
        workload.count = true;
        workload.callers = callers;
        workload.requests = requests;
        workload.blocks = {data.data(), data.size(), min_bytes, max_bytes, 17};
        workload.counts = &counts;
        workload.next_slot = &next_slot;
        workload.refused = &refused;
    }
    Case(const Case&) = delete;
    Case& operator=(const Case&) = delete;

    /// One caller after the other, each as a warp of its own.
    template <class Ref>
    void run(Work work, const Ref& ref) {
        workload.work = work;
        for (std::uint32_t c = 0; c < workload.callers; ++c) run_caller(ref, {0, c}, workload, c);
    }
    void touch(bool write) {
        for (std::uint64_t t = 0; t < data.size() * allocators::kTouchers; ++t) {
            touch_blocks(allocators::Touch{write, workload.blocks, &counts}, t);
        }
    }

    std::vector<void*> data;
    Counts counts{};
    std::uint64_t next_slot = 0;
    std::uint32_t refused = 0;
    Workload workload{};
};

/// The entries of one caller.
std::vector<Entry> of_caller(const Journal& journal, std::uint32_t caller) {
    std::vector<Entry> entries;
    for (const Entry& e : journal.entries) {
        if (e.caller == caller) entries.push_back(e);
    }
    return entries;
}

TEST(Workload, SizesAreMultiplesOfFourAndSpreadOverTheRange) {
    const Blocks blocks{nullptr, 100000, 4, 64, test_seed()};
    std::map<std::uint64_t, unsigned> seen;
    for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) ++seen[blocks.bytes(slot)];
    ASSERT_EQ(seen.size(), 16U);
    for (const auto& [bytes, times] : seen) {
        EXPECT_EQ(bytes % 4, 0U);
        EXPECT_GE(bytes, 4U);
        EXPECT_LE(bytes, 64U);
        EXPECT_NEAR(times, 6250, 625) << bytes;  // eight deviations
    }
    const Blocks one_size{nullptr, 100, 48, 48, 3};
    for (std::uint64_t slot = 0; slot < 100; ++slot) EXPECT_EQ(one_size.bytes(slot), 48U);
}

TEST(Workload, SizesMayBeAnyNumberOfMultiplesOfFour) {
    // 2^32 of them, one more and one fewer, and many more.
    for (const std::uint64_t choices :
         {(1ULL << 32) - 1, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 40}) {
        const Blocks blocks{nullptr, 1000, 8, 8 + 4 * (choices - 1), test_seed()};
        unsigned high = 0;
        for (std::uint64_t slot = 0; slot < blocks.slots; ++slot) {
            const std::uint64_t bytes = blocks.bytes(slot);
            ASSERT_EQ(bytes % 4, 0U) << choices;
            ASSERT_GE(bytes, blocks.min_bytes) << choices;
            ASSERT_LE(bytes, blocks.max_bytes) << choices;
            high += bytes > blocks.max_bytes / 2 ? 1 : 0;
        }
        EXPECT_NEAR(high, 500, 130) << choices;  // eight deviations
    }
}

TEST(Workload, AllocatesForEverySlotAndFreesTheSameBlocks) {
    Journal journal;
    Case c(5, 3, 4, 256);
    c.run(Work::allocate, Journal::Ref{&journal});
    EXPECT_EQ(c.counts, (Counts{15, 0, 0, 0}));
    ASSERT_EQ(journal.entries.size(), 15U);
    EXPECT_EQ(std::set<void*>(c.data.begin(), c.data.end()).size(), 15U);
    for (std::uint64_t slot = 0; slot < 15; ++slot) {
        EXPECT_EQ(journal.sizes.at(c.data[slot]), c.workload.blocks.bytes(slot));
    }
    for (std::uint32_t caller = 0; caller < 5; ++caller) {
        EXPECT_EQ(of_caller(journal, caller).size(), 3U);
    }
    c.run(Work::deallocate, Journal::Ref{&journal});
    EXPECT_EQ(c.counts, (Counts{15, 15, 0, 0}));
    EXPECT_TRUE(journal.live.empty());
    EXPECT_EQ(journal.faults, 0U);
}

TEST(Workload, PairsHoldOneBlockAtATime) {
    Journal journal;
    Case c(4, 3, 16, 16, 4);
    c.run(Work::pairs, Journal::Ref{&journal});
    EXPECT_EQ(c.counts, (Counts{12, 12, 0, 0}));
    ASSERT_EQ(journal.entries.size(), 24U);
    for (std::size_t i = 0; i < 24; i += 2) {
        EXPECT_TRUE(journal.entries[i].take);
        EXPECT_FALSE(journal.entries[i + 1].take);
        EXPECT_EQ(journal.entries[i].block, journal.entries[i + 1].block);
    }
    EXPECT_EQ(journal.faults, 0U);
}

TEST(Workload, ACycleAllocatesAllBeforeItFreesInTheSameOrder) {
    Journal journal;
    Case c(3, 8, 4, 64);
    c.run(Work::cycle, Journal::Ref{&journal});
    EXPECT_EQ(c.counts, (Counts{24, 24, 0, 0}));
    for (std::uint32_t caller = 0; caller < 3; ++caller) {
        const std::vector<Entry> entries = of_caller(journal, caller);
        ASSERT_EQ(entries.size(), 16U);
        for (std::size_t i = 0; i < 8; ++i) {
            EXPECT_TRUE(entries[i].take);
            EXPECT_FALSE(entries[8 + i].take);
            EXPECT_EQ(entries[i].block, entries[8 + i].block);
        }
    }
    EXPECT_TRUE(journal.live.empty());
    EXPECT_EQ(journal.faults, 0U);
}

TEST(Workload, ProbabilityActsAsOftenAsItsThresholdSays) {
    Journal journal;
    Case c(500, 1);
    c.workload.threshold = 0.75F;
    c.workload.blocks.seed = test_seed();
    for (std::uint32_t round = 0; round < 32; ++round) {
        c.workload.round = round;
        c.run(Work::probability, Journal::Ref{&journal});
        const auto held = std::count_if(c.data.begin(), c.data.end(),
                                        [](const void* block) { return block != nullptr; });
        EXPECT_EQ(static_cast<std::size_t>(held), journal.live.size());
        EXPECT_EQ(c.counts.requests - c.counts.frees, journal.live.size());
    }
    // A quarter of 16000 steps, with a deviation of 55.
    EXPECT_NEAR(static_cast<double>(journal.entries.size()), 4000, 440);
    for (std::uint32_t caller = 0; caller < 500; ++caller) {
        bool take = true;
        for (const Entry& e : of_caller(journal, caller)) {
            EXPECT_EQ(e.take, take) << "allocations and frees take turns";
            take = !take;
        }
    }
    EXPECT_EQ(journal.faults, 0U);
    EXPECT_EQ(c.counts.corrupt, 0U);
}

TEST(Workload, FillEndsAtTheFirstRefusalOrAtEverybodysOwn) {
    Journal journal;
    journal.refuse_after = 20;
    Case c(4, 1, 16, 16, 40);
    c.workload.stop_at_refusal = true;
    c.run(Work::fill, Journal::Ref{&journal});
    // One caller runs after the other: the first takes all, and the others do not begin.
    EXPECT_EQ(c.counts, (Counts{21, 0, 1, 0}));
    EXPECT_EQ(c.next_slot, 21U);
    c.workload.stop_at_refusal = false;
    c.run(Work::fill, Journal::Ref{&journal});
    EXPECT_EQ(c.counts, (Counts{25, 0, 5, 0}));
    EXPECT_EQ(std::count(c.data.begin(), c.data.end(), nullptr), 20);
}

TEST(Workload, FillNoticesMoreBlocksThanThereIsRoomFor) {
    Journal journal;
    Case c(1, 1, 16, 16, 10);
    c.run(Work::fill, Journal::Ref{&journal});
    EXPECT_EQ(c.counts.corrupt, 1U);
    EXPECT_EQ(c.counts.requests, 10U);
}

TEST(Workload, CountsRefusals) {
    for (const bool count : {true, false}) {
        Journal journal;
        journal.refuse_after = 7;
        Case c(5, 2);
        c.workload.count = count;
        c.run(Work::allocate, Journal::Ref{&journal});
        c.run(Work::deallocate, Journal::Ref{&journal});
        EXPECT_EQ(c.counts.failed, 3U);
        EXPECT_EQ(c.counts.requests, count ? 10U : 0U);
        EXPECT_EQ(c.counts.frees, count ? 7U : 0U);
        EXPECT_EQ(journal.faults, 0U);
    }
}

TEST(Workload, AStampThatChangedIsNoticed) {
    Journal journal;
    const std::uint32_t bytes = 40;
    Case c(3, 1, bytes, bytes);
    c.workload.stamps = Stamps::none;
    c.run(Work::allocate, Journal::Ref{&journal});
    c.touch(true);
    c.touch(false);
    EXPECT_EQ(c.counts.corrupt, 0U);
    auto* words = static_cast<std::uint32_t*>(c.data[1]);
    for (std::uint32_t i = 0; i < bytes / 4; ++i) {
        const bool end = i == 0 || i + 1 == bytes / 4;
        words[i] ^= 0x10000;
        EXPECT_FALSE(has_stamp(c.workload.blocks, 1, words, Stamps::whole)) << i;
        EXPECT_EQ(has_stamp(c.workload.blocks, 1, words, Stamps::ends), !end) << i;
        EXPECT_TRUE(has_stamp(c.workload.blocks, 1, words, Stamps::none)) << i;
        c.counts = {};
        c.touch(false);
        EXPECT_EQ(c.counts.corrupt, 1U) << i;
        words[i] ^= 0x10000;
    }
    for (const Stamps stamps : {Stamps::ends, Stamps::whole}) {
        words[0] = words[bytes / 4 - 1] = 0;
        write_stamp(c.workload.blocks, 1, words, stamps);
        EXPECT_TRUE(has_stamp(c.workload.blocks, 1, words, stamps));
    }
}

/// Gives every block `step` bytes behind the last, whatever its size.
struct Overlapping {
    char* memory;
    std::uint64_t* given;
    std::uint64_t step;

    void* allocate(const Context&, std::size_t) const { return memory + step * (*given)++; }
    void deallocate(const Context&, void*, std::size_t) const {}
};

TEST(Workload, BlocksThatOverlapAreNoticed) {
    alignas(16) static char memory[4096];
    for (const std::uint64_t step : {0, 16, 48, 60, 64}) {
        std::uint64_t given = 0;
        Case cycle(2, 4, 64, 64);
        cycle.run(Work::cycle, Overlapping{memory, &given, step});
        EXPECT_EQ(cycle.counts.corrupt != 0, step < 64) << "by " << step << " bytes";
        given = 0;
        Case held(2, 4, 64, 64);
        held.workload.stamps = Stamps::none;
        held.run(Work::allocate, Overlapping{memory, &given, step});
        held.touch(true);
        held.touch(false);
        EXPECT_EQ(held.counts.corrupt != 0, step < 64) << "by " << step << " bytes";
    }
}

}  // namespace
}  // namespace heapwood::tests
