/// @file
/// measure_peak against a pool that is walked when a program without a freeze is at its peak.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "allocators/circular.cuh"
#include "allocators/cudamalloc.cuh"
#include "allocators/hybrid.cuh"
#include "app/backends/build_runs.h"
#include "tests/allocators/internal_fragmentation.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::app {
namespace {

using kdtree::tests::Dice;

using allocators::AtomicMalloc;
using allocators::CMalloc;
using allocators::Counting;
using allocators::CudaMalloc;
using allocators::Hybrid;
using allocators::PeakUse;

/// A request of `bytes` bytes or, if that is 0, the end of the block of request number `block`.
struct Step {
    std::uint64_t bytes;
    std::size_t block;
};
using Program = std::vector<Step>;

struct Block {
    void* data;
    std::uint64_t bytes;
};

/// Runs the first `steps` steps with one thread. @return the blocks in use after them.
template <class Ref>
std::vector<Block> execute(const Program& program, std::size_t steps, const Ref& ref,
                           allocators::CallerCache& cache) {
    const allocators::Context context{.multiprocessor = 0, .warp = 0, .cache = &cache};
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < steps; ++i) {
        if (program[i].bytes != 0) {
            blocks.push_back({ref.allocate(context, program[i].bytes), program[i].bytes});
        } else {
            Block& b = blocks[program[i].block];
            ref.deallocate(context, b.data, b.bytes);
            b.data = nullptr;
        }
    }
    std::erase_if(blocks, [](const Block& b) { return b.data == nullptr; });
    return blocks;
}

/// A machine whose builds are programs: the first run is the first of them, and so on; the last
/// one stays.
class ProgramMachine {
public:
    explicit ProgramMachine(std::vector<Program> programs) : programs_(std::move(programs)) {}

    template <class A>
    kdtree::EndedBuild launch(const kdtree::Problem&, const typename A::Ref& ref) const {
        const Program& program = programs_[std::min(runs_, programs_.size() - 1)];
        ++runs_;
        allocators::CallerCache cache{};
        execute(program, program.size(), ref, cache);
        allocators::flush(ref, {.multiprocessor = 0, .warp = 0, .cache = &cache});
        return kdtree::EndedBuild(0);
    }
    std::size_t runs() const { return runs_; }

private:
    std::vector<Program> programs_;
    mutable std::size_t runs_ = 0;
};

allocators::PoolConfig pool() {
    return {.place = allocators::Place::host, .bytes = 1 << 20, .multiprocessors = 1, .callers = 1};
}

/// What measure_peak says after the machine's first run.
template <class A>
std::optional<PeakUse> measured(const ProgramMachine& machine,
                                std::vector<allocators::Region>* regions = nullptr) {
    allocators::ArrayPool array_pool(allocators::Place::host);
    kdtree::BuildMemory memory(array_pool, kdtree::tests::random_scene("soup", 1, 1), {}, 1);
    Counting<A> allocator(pool());
    machine.launch<Counting<A>>(memory.problem(), allocator.ref());
    return measure_peak(machine, memory, allocator, regions);
}

/// Blocks come and go at random, more and more and then fewer and fewer.
Program random_program(Dice& dice, bool frees) {
    Program program;
    std::vector<std::size_t> live;
    std::size_t requests = 0;
    constexpr unsigned kSteps = 400;
    for (unsigned i = 0; i < kSteps; ++i) {
        const unsigned chance = i < kSteps / 2 ? 70 : 30;
        if (live.empty() || dice.below(100) < chance) {
            program.push_back({1 + dice.below(dice.below(4) == 0 ? 5000 : 200), 0});
            live.push_back(requests++);
        } else if (frees) {
            std::swap(live[dice.below(live.size())], live.back());
            program.push_back({0, live.back()});
            live.pop_back();
        }
    }
    return program;
}

/// How many steps it takes until most is live, and how much that is.
struct Peak {
    std::size_t steps = 0;
    std::uint64_t bytes = 0;
};
Peak peak_of(const Program& program) {
    Peak peak;
    std::uint64_t live = 0;
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < program.size(); ++i) {
        if (program[i].bytes != 0) {
            sizes.push_back(program[i].bytes);
            live += program[i].bytes;
        } else {
            live -= sizes[program[i].block];
        }
        if (live > peak.bytes) peak = {i + 1, live};
    }
    return peak;
}

template <class A>
class PeakTest : public ::testing::Test {};
using Allocators = ::testing::Types<AtomicMalloc, CMalloc, Hybrid>;
TYPED_TEST_SUITE(PeakTest, Allocators);

TYPED_TEST(PeakTest, IsAPoolAtItsPeak) {
    Dice dice;
    for (int i = 0; i < 20; ++i) {
        const Program program = random_program(dice, TypeParam::traits().frees_individually);
        const Peak peak = peak_of(program);
        TypeParam plain(pool());
        allocators::CallerCache cache{};
        const std::vector<Block> live = execute(program, peak.steps, plain.ref(), cache);
        heapwood::tests::InternalFragmentation internal;
        for (const Block& b : live) {
            internal.add(plain.ref().granted_bytes(b.data, b.bytes), b.bytes);
        }
        const allocators::PoolUse use = allocators::measure_pool(plain);

        const ProgramMachine machine({program});
        std::vector<allocators::Region> regions;
        const auto found = measured<TypeParam>(machine, &regions);
        ASSERT_TRUE(found);
        EXPECT_EQ(regions, allocators::regions_of(plain));
        EXPECT_EQ(machine.runs(), 2U);
        EXPECT_EQ(found->live_bytes, peak.bytes);
        EXPECT_EQ(found->allocated_bytes, use.allocated_bytes);
        EXPECT_DOUBLE_EQ(found->external_fragmentation, allocators::external_fragmentation(use));
        EXPECT_NEAR(found->internal_fragmentation, internal.mean(), 1e-9);
    }
}

TEST(Peak, IsLookedForLowerWhereOtherSchedulesHaveLess) {
    const auto blocks_of = [](std::uint64_t bytes) { return Program(10, Step{bytes, 0}); };
    // Not reached: 10000, then 98 % of 8000. Then 90 % of 7500.
    const ProgramMachine machine(
        {blocks_of(1000), blocks_of(800), blocks_of(750), blocks_of(690), blocks_of(1)});
    const auto found = measured<CMalloc>(machine);
    ASSERT_TRUE(found);
    EXPECT_EQ(machine.runs(), 4U);
    EXPECT_EQ(found->live_bytes, 6900U);  // the first multiple of 690 from 6750 on
}

TEST(Peak, IsUnknownWhereSchedulesDifferTooMuch) {
    const ProgramMachine machine({{{1000, 0}}, {{800, 0}}, {{600, 0}}, {{500, 0}}, {{300, 0}}});
    EXPECT_FALSE(measured<CMalloc>(machine));
    EXPECT_EQ(machine.runs(), 5U);
}

TEST(Peak, IsUnknownWhereThePoolCannotBeWalked) {
    const ProgramMachine machine({{{1000, 0}, {0, 0}}});
    EXPECT_FALSE(measured<CudaMalloc>(machine));
    EXPECT_EQ(machine.runs(), 1U);
}

}  // namespace
}  // namespace heapwood::app
