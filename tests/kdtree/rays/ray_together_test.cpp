/// @file
/// Lanes that test large leaves together, as warps of 32 threads.
#include "kdtree/rays/ray_together.cuh"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "kdtree/rays/ray_tree.h"
#include "tests/allocators/platform/lockstep_warp.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/rays/traversal_tests.h"

namespace heapwood::kdtree::tests {
namespace {

using heapwood::tests::LockstepWarp;
using heapwood::tests::run_lockstep;

/// How often each reference was tested for each lane, and how often by another lane.
struct Tally {
    static constexpr std::uint32_t kReferences = 300;

    std::array<std::array<std::atomic<unsigned>, kReferences>, LockstepWarp::width> tests{};
    std::atomic<unsigned> by_others{0};
};

/// Finds nothing, and tells what it is asked to test.
struct TallyQuery {
    Tally* tally;
    unsigned asking;
    unsigned testing;

    static bool is_done() { return false; }
    void test(const RayTreeView&, std::uint32_t reference) const {
        ++tally->tests.at(asking).at(reference);
        if (asking != testing) ++tally->by_others;
    }
    TallyQuery helper(const LockstepWarp& warp, unsigned lane) const {
        return {tally, warp.shuffle(asking, lane), testing};
    }
    void take(const LockstepWarp&, const TallyQuery&, unsigned) const {}
};

/// Has the lanes visit leaves, of which none has references where a lane is at no leaf.
void expect_each_test_once(const std::array<RayNode, LockstepWarp::width>& leaves, Tally& tally) {
    run_lockstep(1, [&](const LockstepWarp& warp, unsigned) {
        TallyQuery query{&tally, warp.lane(), warp.lane()};
        const RayNode leaf = leaves.at(warp.lane());
        // What a lane that is elsewhere has as its node must not matter.
        const bool at = leaf.count() != 0;
        visit_together(warp, RayTreeView{}, at ? leaf : RayNode::leaf(5, 200), at, query);
    });
    for (unsigned lane = 0; lane < LockstepWarp::width; ++lane) {
        const RayNode leaf = leaves.at(lane);
        for (std::uint32_t i = 0; i < Tally::kReferences; ++i) {
            const bool wanted = i >= leaf.first() && i < leaf.first() + leaf.count();
            ASSERT_EQ(tally.tests.at(lane).at(i), wanted ? 1U : 0U)
                << "lane " << lane << ", reference " << i << " of a leaf with " << leaf.count();
        }
    }
}

TEST(Together, OneLargeLeafIsSharedOut) {
    for (const std::uint32_t count : {1U, 3U, 31U, 32U, 33U, 65U}) {
        std::array<RayNode, LockstepWarp::width> leaves{};
        leaves.fill(RayNode::leaf(0, 0));
        leaves[7] = RayNode::leaf(11, count);
        Tally tally;
        ASSERT_NO_FATAL_FAILURE(expect_each_test_once(leaves, tally));
        if (count >= 31) {
            EXPECT_GE(tally.by_others, count - (count + 31) / 32);
        }
    }
}

TEST(Together, EachLaneGetsItsOwnTriangles) {
    Dice dice;
    for (int round = 0; round < 6; ++round) {
        const unsigned some = round < 3 ? 6 : LockstepWarp::width;
        const unsigned most = round % 2 == 0 ? 5 : 40;
        std::array<RayNode, LockstepWarp::width> leaves{};
        for (RayNode& leaf : leaves) {
            const bool at = dice.below(LockstepWarp::width) < some;
            leaf = RayNode::leaf(dice.below(200), at ? 1 + dice.below(most) : 0);
        }
        Tally tally;
        ASSERT_NO_FATAL_FAILURE(expect_each_test_once(leaves, tally));
    }
}

/// A ray a lane, all of which visit leaves together. One that is not valid is no lane's.
template <class Query>
typename Query::Result answer_together(const LockstepWarp& warp, const RayTreeView& tree,
                                       const Ray& ray) {
    Query query(ray);
    OwnMemory::Storage storage;
    RayWalk<OwnMemory> walk{OwnMemory(storage)};
    if (ray.is_valid()) walk.restart(tree, ray);
    while (warp.any(!walk.has_ended())) {
        const bool at = walk.descend(tree, query.limit());
        visit_together(warp, tree, walk.leaf(), at, query);
        if (at) go_on(tree, query, walk);
    }
    return query.result(tree);
}

template <class Query>
std::vector<typename Query::Result> ask_together(const RayTree& tree,
                                                 const std::vector<Ray>& rays) {
    std::vector<typename Query::Result> results(rays.size());
    run_lockstep(1, [&](const LockstepWarp& warp, unsigned) {
        for (std::size_t first = 0; first < rays.size(); first += LockstepWarp::width) {
            const std::size_t i = first + warp.lane();
            const auto result =
                answer_together<Query>(warp, tree.view(), i < rays.size() ? rays[i] : Ray{});
            if (i < rays.size()) results[i] = result;
        }
    });
    return results;
}

TEST(Together, FindsWhatBruteForceFinds) {
    Dice dice;
    for (const char* kind : {"soup", "coincident"}) {
        const auto scene = random_scene(kind, 90, dice());
        const Tree tree = tree_of_large_leaves(scene);
        std::vector<Ray> rays;
        for (const char* way : {"any", "at_face", "at_corner"}) {
            for (unsigned i = 0; i < 11; ++i) rays.push_back(random_ray(way, scene, tree, dice));
        }
        rays[3].direction = {};
        const RayTree laid_out(tree, scene);
        const auto closest = ask_together<ClosestQuery<TriangleTest>>(laid_out, rays);
        const auto any = ask_together<AnyQuery<TriangleTest>>(laid_out, rays);
        for (std::size_t i = 0; i < rays.size(); ++i) {
            const std::vector<Hit> wanted = hits_by_force(scene, rays[i]);
            ASSERT_EQ(any[i], wanted.empty() ? 0U : 1U) << text(rays[i]);
            ASSERT_NO_FATAL_FAILURE(
                expect_same(closest[i], wanted.empty() ? Hit{} : wanted[0], text(rays[i])));
        }
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
