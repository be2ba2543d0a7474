/// @file
/// The budget of references: scenes whose triangles overlap in one plane, fans and needles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "allocators/hybrid.cuh"
#include "kdtree/builder.h"
#include "kdtree/levels/level_builder.h"
#include "kdtree/tree/verify.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

/// Large triangles that overlap in one plane.
scenes::Scene overlaps(unsigned count) {
    Dice dice(1);
    std::vector<glm::vec3> corners;
    for (unsigned i = 0; i < 3 * count; ++i) {
        corners.push_back(dice.point(-1, 1));
        corners.back().z = 0;
    }
    return scene_of(corners, std::to_string(count) + " overlaps");
}

/// A polygon of `count` triangles that share a corner.
scenes::Scene fan(unsigned count) {
    std::vector<glm::vec3> corners;
    const auto corner = [&](unsigned i) {
        const float angle = 6.283F * static_cast<float>(i) / static_cast<float>(count + 2);
        return glm::vec3{std::cos(angle), std::sin(angle), 0};
    };
    for (unsigned i = 1; i <= count; ++i) {
        corners.insert(corners.end(), {corner(0), corner(i), corner(i + 1)});
    }
    return scene_of(corners, "fan");
}

BuildConfig limited(std::uint32_t duplication) {
    BuildConfig config;
    config.max_duplication = duplication;
    return config;
}

template <class A>
BuildResult build(const scenes::Scene& scene, const BuildConfig& config, unsigned threads) {
    BuildOptions options;
    options.pool_bytes = std::uint64_t{256} << 20;
    options.threads = threads;
    return build_on_cpu<A>(scene, config, options);
}

/// The most that splits multiply references by on a way from the root, found from the leaves.
double largest_growth(const Tree& tree) {
    std::vector<std::vector<std::uint32_t>> below(tree.nodes.size());
    for (std::size_t i = tree.nodes.size(); i-- > 0;) {
        const Node node = tree.nodes[i];
        if (node.is_leaf()) {
            const auto first = tree.references.begin() + node.first();
            below[i].assign(first, first + node.count());
        } else {
            std::ranges::set_union(below[node.child()], below[node.child() + 1],
                                   std::back_inserter(below[i]));
        }
    }
    std::vector<double> growth(tree.nodes.size(), 1);
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        const Node node = tree.nodes[i];
        if (node.is_leaf() || below[i].empty()) continue;
        const std::uint32_t child = node.child();
        const auto parts = static_cast<double>(below[child].size() + below[child + 1].size());
        growth[child] = growth[child + 1] =
            growth[i] * parts / static_cast<double>(below[i].size());
    }
    return *std::ranges::max_element(growth);
}

TEST(Budget, OverlapsAreWithinItAndTheSameEverywhere) {
    const BuildConfig config = limited(8);
    for (const unsigned count :
         kSlow ? std::vector<unsigned>{300} : std::vector<unsigned>{300, 1000, 3000}) {
        const scenes::Scene scene = overlaps(count);
        const BuildResult one = build<allocators::AtomicMalloc>(scene, config, 1);
        ASSERT_EQ(one.status, Status::done) << one.message;
        EXPECT_TRUE(one.budget_reached);
        EXPECT_LE(one.tree.references.size(), 8 * count);
        EXPECT_GT(one.tree.references.size(), 2 * count) << "and it is used";
        EXPECT_LE(largest_growth(one.tree), 8.0);
        const auto wrong = verify(scene, one.tree, max_depth(config, count));
        EXPECT_FALSE(wrong) << scene.path << ": " << *wrong;
        const std::uint64_t wanted = digest(one.tree);
        for (const unsigned threads : {2U, 7U}) {
            const BuildResult other = build<allocators::Hybrid>(scene, config, threads);
            ASSERT_EQ(other.status, Status::done) << other.message;
            EXPECT_EQ(digest(other.tree), wanted) << scene.path << ", threads " << threads;
        }
        const BuildResult levels = build_by_levels_on_cpu(scene, config, {});
        EXPECT_EQ(digest(levels.tree), wanted) << scene.path;
        EXPECT_TRUE(levels.budget_reached);
    }
}

TEST(Budget, FansAndNeedlesAreWithinIt) {
    for (const std::uint32_t most : {1U, 2U, 3U}) {
        for (const scenes::Scene& scene : {fan(2000), random_scene("slivers", 1000, 1)}) {
            const BuildConfig config = limited(most);
            const BuildResult result = build<allocators::AtomicMalloc>(scene, config, 2);
            ASSERT_EQ(result.status, Status::done) << result.message;
            EXPECT_LE(result.tree.references.size(), most * scene.triangles.size()) << scene.path;
            const auto wrong = verify(scene, result.tree, max_depth(config, 2000));
            EXPECT_FALSE(wrong) << scene.path << ": " << *wrong;
            EXPECT_EQ(digest(build_by_levels_on_cpu(scene, config, {}).tree), digest(result.tree));
        }
    }
}

TEST(Budget, ATreeWithinItIsTheTreeWithoutIt) {
    const scenes::Scene scene = random_scene("slivers", 300, 1);
    const BuildResult free = build<allocators::AtomicMalloc>(scene, limited(0), 2);
    EXPECT_FALSE(free.budget_reached);
    const auto enough = static_cast<std::uint32_t>((free.tree.references.size() + 299) / 300);
    const BuildResult fits = build<allocators::AtomicMalloc>(scene, limited(enough), 2);
    EXPECT_FALSE(fits.budget_reached);
    EXPECT_EQ(digest(fits.tree), digest(free.tree));
    EXPECT_GT(largest_growth(fits.tree), enough) << "some nodes have more than their share";
    const BuildResult less = build<allocators::AtomicMalloc>(scene, limited(enough - 1), 2);
    EXPECT_TRUE(less.budget_reached);
    EXPECT_LE(less.tree.references.size(), 300 * (enough - 1));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
