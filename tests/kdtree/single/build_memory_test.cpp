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

/// What a problem's arrays of large nodes take.
std::uint64_t large_bytes(const Problem& problem) {
    return problem.large_capacity * sizeof(LargeNode) +
           (problem.work_capacity + problem.warps) * sizeof(std::uint64_t) +
           (problem.large_capacity + 1 + problem.warps) * sizeof(std::uint64_t) +
           (problem.large_capacity + 1) * sizeof(Piece);
}

TEST(BuildMemory, PartsAddUpToWhatIsLive) {
    ArrayPool pool(Place::host);
    const BuildMemory memory(pool, crowd(), crowded(), 2);
    const MemoryUse use = memory.use();
    EXPECT_EQ(use.triangles, 1000 * sizeof(Triangle));
    EXPECT_EQ(use.nodes, sizeof(Node) << 20);
    EXPECT_EQ(use.references, sizeof(std::uint32_t) << 22);
    EXPECT_EQ(use.large_nodes, large_bytes(memory.problem()));
    EXPECT_EQ(use.stacks, 2 * kStackSize * sizeof(Piece));
    EXPECT_EQ(use.queue,
              (sizeof(TaskSlot<Piece>) << memory.problem().slot_bits) + sizeof(BuildState));
    EXPECT_EQ(use.pool + use.side_tables + use.levels, 0U);
    EXPECT_EQ(use.total(), pool.statistics().slab_bytes);
    EXPECT_LT(use.total() - use.spare, pool.statistics().live_bytes);
    EXPECT_GT(use.total() - use.spare + 9 * ArrayPool::kChunk, pool.statistics().live_bytes);
    EXPECT_LE(use.spare, 18 * ArrayPool::kChunk) << "one slab, made to measure";
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
        EXPECT_EQ(pool.statistics().requests, 9U);
        EXPECT_EQ(pool.statistics().slab_bytes, pool.statistics().live_bytes);
    }
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
}

/// Builds a scene that has more large nodes than there is room for.
class CrowdedBuild : public ::testing::Test {
protected:
    BuildState build(BuildMemory& memory) {
        memory.reset();
        allocator_.reset();
        machine_.launch<AtomicMalloc>(memory.problem(), allocator_.ref());
        const BuildState state = memory.state();
        EXPECT_EQ(state.status.value, 0U);
        return state;
    }

    static std::uint32_t large_nodes(const BuildState& state) {
        return static_cast<std::uint32_t>(state.large >> 32);
    }

    const scenes::Scene scene_ = crowd();
    const CpuMachine machine_{4};
    ArrayPool pool_{Place::host};
    AtomicMalloc allocator_{{.place = Place::host,
                             .bytes = std::uint64_t{1} << 30,
                             .multiprocessors = machine_.multiprocessors()}};
};

TEST_F(CrowdedBuild, TooFewLargeNodesAreMoreTheNextTime) {
    BuildMemory memory(pool_, scene_, crowded(), machine_.warps());
    const std::uint32_t capacity = memory.problem().large_capacity;
    const BuildState first = build(memory);
    ASSERT_GT(large_nodes(first), capacity) << "the scene is too easy";
    const std::uint64_t wanted = digest(memory.tree());
    // Those that were left to one warp had no large children, so once may not be enough.
    BuildState last = first;
    for (int i = 0; i < 20 && memory.enlarge_large_arrays(last); ++i) {
        EXPECT_GE(memory.problem().large_capacity, large_nodes(last));
        EXPECT_GE(memory.problem().work_capacity, static_cast<std::uint32_t>(last.large));
        EXPECT_EQ(memory.use().large_nodes, large_bytes(memory.problem()));
        last = build(memory);
        EXPECT_EQ(digest(memory.tree()), wanted);
    }
    EXPECT_LE(large_nodes(last), memory.problem().large_capacity);
    EXPECT_FALSE(memory.enlarge_large_arrays(last));
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
    RunConfig run;
    run.pool_bytes = std::uint64_t{1} << 30;
    run.threads = 2;
    BuildConfig config = crowded();
    config.max_nodes = 0;
    config.max_references = 0;
    const BuildResult result = build_on_cpu<AtomicMalloc>(crowd(), config, run);
    ASSERT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(result.memory.pool, run.pool_bytes);
    EXPECT_EQ(result.memory.side_tables, result.overhead_bytes);
    EXPECT_GE(result.memory.nodes, result.tree.nodes.size() * sizeof(Node));
    EXPECT_GE(result.memory.references, result.tree.references.size() * sizeof(std::uint32_t));
    // The arrays have grown, for they started with 8 for each triangle.
    EXPECT_GT(result.memory.references, 10 * 1000 * sizeof(std::uint32_t));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
