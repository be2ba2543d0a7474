/// @file
/// Builders of animated scenes: whatever came before, a frame's tree is the one that an ordinary
/// build makes of it, and a build like the last takes no memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "allocators/circular.cuh"
#include "allocators/hybrid.cuh"
#include "kdtree/builder.h"
#include "kdtree/tree/canonical.h"
#include "kdtree/tree/verify.h"
#include "scenes/generators.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::ArrayPool;
using allocators::AtomicMalloc;
using allocators::Hybrid;
using allocators::Place;

constexpr std::uint64_t kPool = std::uint64_t{64} << 20;

/// Every corner moves by up to `reach`.
scenes::Scene shaken(scenes::Scene scene, Dice& dice, float reach) {
    for (glm::vec3& position : scene.positions) position += dice.point(-reach, reach);
    finish(scene);
    return scene;
}

Frame frame_of(const scenes::Scene& scene) {
    return {.positions = scene.positions.data(),
            .position_count = static_cast<std::uint32_t>(scene.positions.size()),
            .triangles = scene.triangles.data(),
            .triangle_count = static_cast<std::uint32_t>(scene.triangles.size()),
            .bounds = scene.bounds};
}

/// Nodes are large, medium and small even in small scenes.
BuildConfig busy() {
    BuildConfig config;
    config.exact_limit = 32;
    config.large_limit = 64;
    config.chunk = 32;
    return config;
}

/// Far more references and nodes than are estimated.
BuildConfig crowded() {
    BuildConfig config = busy();
    config.leaf_limit = 1;
    config.traversal_cost = 0;
    config.depth_base = 14;
    config.clip = false;
    config.max_duplication = 0;
    return config;
}

template <class A = AtomicMalloc>
using CpuBuilder = Builder<A, CpuMachine>;

/// Builds a scene in one of the ways that there are; with enough room, result().enlarged is false.
template <class A>
bool build_somehow(CpuBuilder<A>& builder, const scenes::Scene& scene, Dice& dice) {
    switch (dice.below(3)) {
        case 0:
            return builder.rebuild(scene);
        case 1:
            return builder.rebuild(frame_of(scene));
        default:
            do {
                builder.enqueue(frame_of(scene));
            } while (!builder.finish() && builder.result().enlarged);
            return builder.result().status == Status::done;
    }
}

template <class A>
class Rebuild : public ::testing::Test {};
using Allocators = ::testing::Types<AtomicMalloc, allocators::CMalloc, Hybrid>;
TYPED_TEST_SUITE(Rebuild, Allocators);

TYPED_TEST(Rebuild, FramesHaveTheTreesOfOrdinaryBuilds) {
    Dice dice;
    const unsigned n = kSlow ? 200 : 2000;
    for (const unsigned threads : {1U, 3U}) {
        CpuBuilder<TypeParam> builder(CpuMachine(threads), n, busy(), {.pool_bytes = kPool});
        for (int i = 0; i < (kSlow ? 3 : 12); ++i) {
            const std::string& kind = scene_kinds().at(dice.below(scene_kinds().size()));
            const scenes::Scene scene = random_scene(kind, 1 + dice.below(n), dice());
            const bool done = builder.rebuild(scene);
            ASSERT_TRUE(done) << kind << ": " << builder.result().message;
            ASSERT_EQ(digest(builder.tree()), digest(plain_tree(scene, busy()))) << kind;
            const BuildResult report = builder.report();
            EXPECT_EQ(digest(report.tree), digest(builder.tree()));
            if (TypeParam::traits().full) {
                EXPECT_EQ(report.leaked_bytes, 0U);
            }
        }
    }
}

TYPED_TEST(Rebuild, AShakenSceneIsBuiltInAnyWay) {
    Dice dice;
    const scenes::Scene scene = random_scene("soup", kSlow ? 200 : 1500, dice());
    CpuBuilder<TypeParam> builder(CpuMachine(2), scene.triangles.size(), busy(),
                                  {.pool_bytes = kPool});
    for (int i = 0; i < (kSlow ? 3 : 10); ++i) {
        const scenes::Scene frame = shaken(scene, dice, dice.uniform(0, 0.5F));
        ASSERT_TRUE(build_somehow(builder, frame, dice)) << builder.result().message;
        const Tree tree = builder.tree();
        ASSERT_EQ(digest(tree), digest(plain_tree(frame, busy())));
        const auto wrong = verify(frame, tree, max_depth(busy(), frame.triangles.size()));
        ASSERT_FALSE(wrong) << *wrong;
    }
}

TEST(Builder, AFurtherBuildTakesNoMemory) {
    Dice dice;
    ArrayPool arrays(Place::host);
    const scenes::Scene scene = scenes::generate({"sphere", 1000, 1});
    CpuBuilder<Hybrid> builder(CpuMachine(2), scene.triangles.size(), busy(),
                               {.pool_bytes = kPool, .array_pool = &arrays});
    ASSERT_TRUE(builder.rebuild(scene));
    ASSERT_FALSE(builder.result().enlarged);
    const ArrayPool::Statistics before = arrays.statistics();
    const TreeInPlace first = builder.tree_in_place();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(build_somehow(builder, shaken(scene, dice, 0.01F), dice));
        EXPECT_FALSE(builder.result().enlarged);
    }
    const ArrayPool::Statistics after = arrays.statistics();
    EXPECT_EQ(after.requests, before.requests);
    EXPECT_EQ(after.grown, before.grown);
    EXPECT_EQ(after.live_bytes, before.live_bytes);
    EXPECT_EQ(builder.tree_in_place().nodes, first.nodes);
    EXPECT_EQ(builder.tree_in_place().references, first.references);
}

TEST(Builder, EachBuildHasTheWholePool) {
    constexpr int kBuilds = 20;
    const scenes::Scene scene = scenes::generate({"sphere", 1000, 1});
    CpuBuilder<> builder(CpuMachine(1), scene.triangles.size(), busy(), {.pool_bytes = 4 << 20});
    Dice dice;
    for (int i = 0; i < kBuilds; ++i) {
        ASSERT_TRUE(build_somehow(builder, shaken(scene, dice, 0.01F), dice)) << "build " << i;
    }
    // AtomicMalloc frees nothing but by its reset.
    EXPECT_GT(builder.report().leaked_bytes * kBuilds, 2 * builder.result().pool_bytes)
        << "the pool would have been enough without";
}

TEST(Builder, ArraysThatAreTooSmallGrowOnce) {
    Dice dice;
    const scenes::Scene scene = random_scene("slivers", 500, dice());
    const std::uint64_t wanted = digest(plain_tree(scene, crowded()));
    ArrayPool arrays(Place::host);
    CpuBuilder<> builder(CpuMachine(1), 500, crowded(),
                         {.pool_bytes = std::uint64_t{1} << 30, .array_pool = &arrays});
    ASSERT_TRUE(builder.rebuild(scene)) << builder.result().message;
    EXPECT_TRUE(builder.result().enlarged) << "the scene is too easy";
    EXPECT_EQ(digest(builder.tree()), wanted);
    const std::uint64_t requests = arrays.statistics().requests;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(builder.rebuild(scene));
        EXPECT_FALSE(builder.result().enlarged);
        EXPECT_EQ(digest(builder.tree()), wanted);
    }
    EXPECT_EQ(arrays.statistics().requests, requests);
}

TEST(Builder, SaysThatABuildThatWasBegunNeedsLargerArrays) {
    Dice dice;
    const scenes::Scene scene = random_scene("slivers", 500, dice());
    CpuBuilder<> builder(CpuMachine(1), 500, crowded(), {.pool_bytes = std::uint64_t{1} << 30});
    unsigned begun = 0;
    bool done = false;
    while (!done && ++begun < 9) {
        builder.enqueue(frame_of(scene));
        done = builder.finish();
        if (done) break;
        EXPECT_TRUE(builder.result().enlarged);
        EXPECT_NE(builder.result().message.find("enlarged: enqueue the frame anew"),
                  std::string::npos)
            << builder.result().message;
    }
    EXPECT_TRUE(done);
    EXPECT_GT(begun, 1U) << "the scene is too easy";
    EXPECT_EQ(builder.result().message, "");
    EXPECT_EQ(digest(builder.tree()), digest(plain_tree(scene, crowded())));
}

TEST(Builder, AFrameOfMoreTrianglesMakesRoom) {
    Dice dice;
    CpuBuilder<Hybrid> builder(CpuMachine(2), 10, busy(), {.pool_bytes = kPool});
    std::size_t most = 10;
    for (int i = 0; i < (kSlow ? 5 : 20); ++i) {
        const auto scene = scenes::generate({"sphere", 20 + dice.below(kSlow ? 200 : 1000), 1});
        const bool grows = scene.triangles.size() > most;
        most = std::max(most, scene.triangles.size());
        if (grows) {
            EXPECT_THROW(builder.enqueue(frame_of(scene)), std::invalid_argument);
        }
        ASSERT_TRUE(dice.below(2) == 0 ? builder.rebuild(scene) : builder.rebuild(frame_of(scene)));
        EXPECT_EQ(builder.result().enlarged, grows);
        EXPECT_EQ(builder.result().root_bytes, root_array_bytes(scene.triangles.size()));
        ASSERT_EQ(digest(builder.tree()), digest(plain_tree(scene, busy())));
    }
}

TEST(Builder, WorksAfterBuildsThatFailed) {
    Dice dice;
    const scenes::Scene large = random_scene("soup", 2000, dice());
    // Room for the small scenes, and not for the root's array and its children's of the large one.
    CpuBuilder<allocators::CMalloc> builder(CpuMachine(2), 2000, busy(),
                                            {.pool_bytes = root_array_bytes(2000) * 3 / 2});
    for (int i = 0; i < 4; ++i) {
        EXPECT_FALSE(build_somehow(builder, large, dice));
        EXPECT_EQ(builder.result().status, Status::pool_exhausted);
        EXPECT_NE(builder.result().message.find("has no room for a request"), std::string::npos);
        EXPECT_EQ(builder.report().leaked_bytes, 0U);
        const scenes::Scene small = random_scene("soup", 100, dice());
        ASSERT_TRUE(build_somehow(builder, small, dice)) << builder.result().message;
        EXPECT_EQ(builder.result().message, "");
        EXPECT_EQ(digest(builder.tree()), digest(plain_tree(small, busy())));
    }
}

TEST(Builder, FindsTheDepthOfEachFrame) {
    const scenes::Scene fans = fan(kSlow ? 200 : 600);
    const scenes::Scene other = random_scene("soup", 600, 1);
    CpuBuilder<> builder(CpuMachine(2), 600, BuildConfig{}, {.pool_bytes = std::uint64_t{1} << 30});
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(builder.rebuild(fans));
        EXPECT_TRUE(builder.result().depth_limit) << "the scene is too easy";
        EXPECT_EQ(digest(builder.tree()), digest(plain_tree(fans, {})));
        ASSERT_TRUE(builder.rebuild(other));
        EXPECT_FALSE(builder.result().depth_limit);
        EXPECT_EQ(digest(builder.tree()), digest(plain_tree(other, {})));
    }
    builder.enqueue(frame_of(fans));
    EXPECT_FALSE(builder.finish());
    while (builder.result().enlarged) {
        builder.enqueue(frame_of(fans));
        EXPECT_FALSE(builder.finish());
    }
    for (int i = 0; i < 2; ++i) {  // as after a second launch of a graph
        EXPECT_EQ(builder.result().status, Status::over_budget);
        EXPECT_NE(builder.result().message.find("too many references"), std::string::npos);
        EXPECT_FALSE(builder.finish());
    }
}

TEST(Builder, TreesInPlaceAreThoseOfTheHost) {
    Dice dice;
    const scenes::Scene scene = random_scene("huge", 300, dice());
    CpuBuilder<> builder(CpuMachine(2), 300, busy(), {.pool_bytes = kPool});
    ASSERT_TRUE(builder.rebuild(scene));
    const TreeInPlace made = builder.tree_in_place();
    const std::vector<Node> nodes(made.nodes, made.nodes + made.node_end);
    const std::vector<std::uint32_t> references(made.references,
                                                made.references + made.reference_end);
    Tree tree = canonical(nodes, references, made.bounds);
    denormalise(tree.nodes, made.scale);
    EXPECT_EQ(digest(tree), digest(plain_tree(scene, busy())));
}

TEST(FrameInPlace, MayHaveABoxAroundAWholeAnimation) {
    Dice dice;
    scenes::Scene scene = random_scene("soup", 500, dice());
    const scenes::Bounds around = scene.bounds;
    CpuBuilder<> builder(CpuMachine(2), 500, busy(), {.pool_bytes = kPool});
    for (int i = 0; i < 5; ++i) {
        scene.bounds = {around.lo - dice.point(0, 50), around.hi + dice.point(0, 50)};
        builder.enqueue(frame_of(scene));
        ASSERT_TRUE(builder.finish());
        EXPECT_EQ(digest(builder.tree()), digest(plain_tree(scene, busy())));
    }
}

TEST(FrameInPlace, MinusZeroIsZero) {
    const std::vector<glm::vec3> positions{{-0.0F, 1, 0}, {1, -0.0F, 2}, {3, 4, -0.0F}};
    const glm::uvec3 corners(0, 1, 2);
    const Frame frame{.positions = positions.data(),
                      .position_count = 3,
                      .triangles = &corners,
                      .triangle_count = 1,
                      .bounds = {glm::vec3(-1), glm::vec3(4)}};
    std::uint32_t faults = 0;
    const Triangle t = frame_triangle(frame, 0.5F, 0, faults);
    EXPECT_EQ(faults, 0U);
    EXPECT_EQ(t.b, glm::vec3(0.5F, 0, 1));
    for (const float zero : {t.a.x, t.a.z, t.b.y, t.c.z}) {
        EXPECT_EQ(zero, 0);
        EXPECT_FALSE(std::signbit(zero));
    }
}

TEST(FrameInPlace, FaultsAreTold) {
    Dice dice;
    const scenes::Scene scene = random_scene("soup", 500, dice());
    CpuBuilder<> builder(CpuMachine(2), 500, busy(), {.pool_bytes = kPool});
    const auto expect_fault = [&](const scenes::Scene& wrong, const std::string& words) {
        for (const bool begin : {false, true}) {
            try {
                if (begin) {
                    builder.enqueue(frame_of(wrong));
                    builder.finish();
                } else {
                    builder.rebuild(frame_of(wrong));
                }
                ADD_FAILURE() << "no fault: " << words;
            } catch (const std::invalid_argument& error) {
                EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
            }
        }
        ASSERT_TRUE(builder.rebuild(frame_of(scene)));
        EXPECT_EQ(digest(builder.tree()), digest(plain_tree(scene, busy())));
    };
    const auto somewhere = [&](const scenes::Scene& s) { return dice.below(s.triangles.size()); };
    for (const float x : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), scene.bounds.hi.y + 1}) {
        scenes::Scene wrong = scene;
        wrong.positions[wrong.triangles[somewhere(wrong)].z].y = x;
        expect_fault(wrong, "outside its bounds: give it a box");
    }
    for (const std::size_t corner : {scene.positions.size(), std::size_t{UINT32_MAX}}) {
        scenes::Scene wrong = scene;
        wrong.triangles[somewhere(wrong)].y = static_cast<std::uint32_t>(corner);
        expect_fault(wrong, "not among its positions");
    }
    scenes::Scene fine = scene;
    fine.bounds = {glm::vec3(-1e30F), glm::vec3(1e30F)};
    fine.positions[fine.triangles[somewhere(fine)].x].x = 1e-30F;
    expect_fault(fine, "too many magnitudes");
    scenes::Scene empty = scene;
    empty.bounds = {};
    EXPECT_THROW(builder.enqueue(frame_of(empty)), std::invalid_argument);
    ASSERT_TRUE(builder.rebuild(frame_of(empty))) << "its box is found";
    EXPECT_EQ(digest(builder.tree()), digest(plain_tree(scene, busy())));
    empty.bounds = {glm::vec3(-std::numeric_limits<float>::infinity()), glm::vec3(1)};
    expect_fault(empty, "finite bounds that hold all");
    empty.triangles.clear();
    empty.bounds = scene.bounds;
    expect_fault(empty, "between 1 and 2^30 - 1 triangles, not 0");
}

}  // namespace
}  // namespace heapwood::kdtree::tests
