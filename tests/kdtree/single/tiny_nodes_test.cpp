/// @file
/// Tiny nodes that are left to the third stage, by warps of 32 threads each.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "allocators/atomicmalloc.cuh"
#include "allocators/hybrid.cuh"
#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/plain_tree.h"

namespace heapwood::kdtree::tests {
namespace {

/// A build of which the list of tiny nodes has room for so many, or for as many as there are.
template <class A>
class TinyNodesTest : public ::testing::Test {
protected:
    using Lockstep = LockstepWarps<2>;
    /// As many on a slow machine, for it is their tiny nodes that count.
    static constexpr std::uint64_t kTriangles = 80;

    void build(std::uint32_t room) {
        BuildConfig config;
        config.large_limit = 64;
        config.exact_limit = 24;
        const auto scene = scenes::generate({"sphere", kTriangles, 1});
        const auto machine = Lockstep::make<A>(config);
        allocators::ArrayPool arrays(allocators::Place::host);
        BuildMemory memory(arrays, scene, config, machine.warps(), machine.lanes());
        A allocator({.place = allocators::Place::host,
                     .bytes = std::uint64_t{16} << 20,
                     .largest_request = root_array_bytes(scene.triangles.size()),
                     .multiprocessors = machine.multiprocessors()});
        memory.reset();
        Problem problem = memory.problem();
        if (room < problem.tiny_capacity) problem.tiny_capacity = room;
        if (room == 0) problem.tiny_limit = 0;
        machine.template launch<A>(problem, allocator.ref()).ms();
        state = memory.state();
        ASSERT_EQ(static_cast<Status>(state.status.value), Status::done);
        EXPECT_EQ(digest(memory.tree()), digest(plain_tree(scene, config)));
        std::uint64_t leaked = 0;
        allocator.for_each_region([&](const allocators::Region& region) {
            if (region.allocated) leaked += region.size;
        });
        if (A::traits().frees_individually) {
            EXPECT_EQ(leaked, 0U);
        }
    }

    BuildState state{};
};

using Allocators = ::testing::Types<allocators::AtomicMalloc, allocators::Hybrid>;
TYPED_TEST_SUITE(TinyNodesTest, Allocators);

TYPED_TEST(TinyNodesTest, AreMadeInTheThirdStage) {
    this->build(~0U);
    EXPECT_GT(this->state.tiny_pieces.value, 10U);
    EXPECT_GE(this->state.tiny_taken.value, this->state.tiny_pieces.value);
}

TYPED_TEST(TinyNodesTest, AreMadeInTheSecondStageWithoutAList) {
    this->build(0);
    EXPECT_EQ(this->state.tiny_pieces.value, 0U);
}

TYPED_TEST(TinyNodesTest, AreMadeWhereverTheListEnds) {
    for (const std::uint32_t room : {1U, 3U, 8U, 13U}) {
        this->build(room);
        EXPECT_GT(this->state.tiny_pieces.value, room) << "the list was not full";
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
