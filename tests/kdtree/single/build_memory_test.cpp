/// @file
/// The single kernel's arrays: where they come from, what they add up to, and that none is a limit
/// that nobody hears of.
#include <gtest/gtest.h>

#include <string>

#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::ArrayPool;
using allocators::AtomicMalloc;
using allocators::Place;

/// Much overlap, so that there are more large nodes than anybody expects.
scenes::Scene crowd() {
    return random_scene("slivers", 1000, 1);
}
BuildConfig crowded() {
    BuildConfig config;
    config.exact_limit = 32;
    config.large_limit = 32;
    config.chunk = 32;
    config.leaf_limit = 1;
    config.traversal_cost = 0;
    config.depth_base = 14;
    config.clip = false;
    config.max_nodes = 1 << 20;
    config.max_references = 1 << 22;
    return config;
}

TEST(BuildMemory, PartsAddUpToWhatIsLive) {
    ArrayPool pool(Place::host);
    const BuildMemory memory(pool, crowd(), crowded(), 2);
    const MemoryUse use = memory.use();
    EXPECT_EQ(use.triangles, 1000 * sizeof(Triangle));
    EXPECT_EQ(use.nodes, sizeof(Node) << 20);
    EXPECT_EQ(use.references, sizeof(std::uint32_t) << 22);
    EXPECT_EQ(use.jobs, memory.problem().job_capacity * sizeof(Job));
    EXPECT_EQ(use.stacks, 2 * kStackSize * sizeof(Task));
    EXPECT_EQ(use.queue,
              (sizeof(TaskSlot<Task>) << memory.problem().slot_bits) + sizeof(BuildState));
    EXPECT_EQ(use.pool + use.side_tables + use.levels, 0U);
    EXPECT_EQ(use.total(), pool.statistics().slab_bytes);
    EXPECT_LT(use.total() - use.spare, pool.statistics().live_bytes);
    EXPECT_GT(use.total() - use.spare + 7 * ArrayPool::kChunk, pool.statistics().live_bytes);
    EXPECT_LE(use.spare, 14 * ArrayPool::kChunk) << "one slab, made to measure";
}

TEST(BuildMemory, TheNextBuildIsServedByTheSameSlab) {
    ArrayPool pool(Place::host);
    { const BuildMemory memory(pool, crowd(), crowded(), 2); }
    const std::uint64_t bytes = pool.statistics().slab_bytes;
    EXPECT_EQ(pool.statistics().live_bytes, 0U);
    { const BuildMemory memory(pool, crowd(), crowded(), 2); }
    EXPECT_EQ(pool.statistics().slab_bytes, bytes);
    EXPECT_EQ(pool.statistics().grown, 0U);
    EXPECT_EQ(pool.free_blocks(), 1U);
}

TEST(BuildMemory, WithoutAPoolNothingIsKept) {
    ArrayPool pool(Place::host, ArrayPool::Keep::nothing);
    {
        const BuildMemory memory(pool, crowd(), crowded(), 2);
        EXPECT_EQ(pool.statistics().requests, 7U);
        EXPECT_EQ(pool.statistics().slab_bytes, pool.statistics().live_bytes);
    }
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
}

TEST(BuildMemory, TooFewJobsAreMoreTheNextTime) {
    const scenes::Scene scene = crowd();
    const BuildConfig config = crowded();
    const CpuMachine machine(4);
    ArrayPool pool(Place::host);
    BuildMemory memory(pool, scene, config, machine.warps());
    AtomicMalloc allocator({.place = Place::host,
                            .bytes = std::uint64_t{1} << 30,
                            .multiprocessors = machine.multiprocessors()});
    const auto build = [&] {
        memory.reset();
        allocator.reset();
        machine.launch<AtomicMalloc>(memory.problem(), allocator.ref());
        const BuildState state = memory.state();
        EXPECT_EQ(state.status.value, 0U);
        return state;
    };
    const std::uint32_t capacity = memory.problem().job_capacity;
    const BuildState first = build();
    ASSERT_GT(first.jobs.value, capacity) << "the scene is too easy";
    const std::uint64_t wanted = digest(memory.tree());
    memory.enlarge_jobs(first);
    EXPECT_GE(memory.problem().job_capacity, first.jobs.value);
    EXPECT_EQ(memory.use().jobs, memory.problem().job_capacity * sizeof(Job));
    const BuildState second = build();
    EXPECT_LE(second.jobs.value, memory.problem().job_capacity);
    EXPECT_EQ(digest(memory.tree()), wanted);
    const std::uint32_t enough = memory.problem().job_capacity;
    BuildState few{};
    few.jobs.value = 1;
    memory.enlarge_jobs(few);
    EXPECT_EQ(memory.problem().job_capacity, enough);
}

TEST(BuildMemory, AnAllocatorsPoolThatCannotBeHadIsNamed) {
    try {
        make_allocator<AtomicMalloc>({.place = Place::host, .bytes = std::uint64_t{1} << 60});
        FAIL() << "2^60 bytes were had";
    } catch (const allocators::BufferError& error) {
        const std::string what = error.what();
        EXPECT_NE(what.find("the allocator's pool of 1152921504606846976 bytes"), what.npos)
            << what;
    }
}

TEST(BuildMemory, ResultsSayWhatWasTaken) {
    BuildOptions options;
    options.pool_bytes = std::uint64_t{1} << 30;
    options.threads = 2;
    BuildConfig config = crowded();
    config.max_nodes = 0;
    config.max_references = 0;
    const BuildResult result = build_on_cpu<AtomicMalloc>(crowd(), config, options);
    ASSERT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(result.memory.pool, options.pool_bytes);
    EXPECT_EQ(result.memory.side_tables, result.overhead_bytes);
    EXPECT_GE(result.memory.nodes, result.tree.nodes.size() * sizeof(Node));
    EXPECT_GE(result.memory.references, result.tree.references.size() * sizeof(std::uint32_t));
    // The arrays have grown, for they started with 8 for each triangle.
    EXPECT_GT(result.memory.references, 10 * 1000 * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
