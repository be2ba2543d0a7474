/// @file
/// Rays through a tree that is divided among parts have the hits of the whole tree, bit for bit.
#include "kdtree/distributed/ray_parts.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "kdtree/rays/ray_batch.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/rays/rays.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

/// All parts of a tree, and the hops that rays took between them.
struct DividedTree {
    std::vector<RayPart> parts;
    std::uint64_t hops = 0;

    DividedTree(const Tree& tree, const scenes::Scene& scene, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i) parts.emplace_back(tree, scene, count, i);
    }

    /// By ray: where it hits. They begin at `first`, whatever part they need.
    std::vector<Hit> trace(const std::vector<Ray>& rays, RayQuestion question,
                           std::uint32_t first) {
        std::vector<Hit> hits(rays.size());
        std::vector<std::vector<PassingRay>> waiting(parts.size());
        for (std::uint32_t i = 0; i < rays.size(); ++i) {
            waiting[first].push_back({.ray = rays[i], .hit = {}, .number = i});
        }
        for (bool any = true; any;) {
            any = false;
            for (std::uint32_t p = 0; p < parts.size(); ++p) {
                std::vector<PassingRay> some;
                some.swap(waiting[p]);
                std::vector<std::uint32_t> next(some.size());
                parts[p].go_on(some, question, next, p == 0 ? 2 : 1);
                for (std::size_t i = 0; i < some.size(); ++i) {
                    EXPECT_NE(next[i], p) << "a ray stays that is not done";
                    if (next[i] == RayPart::kNone) {
                        hits[some[i].number] = some[i].hit;
                    } else {
                        waiting.at(next[i]).push_back(some[i]);
                        ++hops;
                        any = true;
                    }
                }
            }
        }
        return hits;
    }
};

std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// Asks 1, 2, 3 and 8 parts about some rays, and compares with the whole tree.
void compare(const scenes::Scene& scene, const Tree& tree, const std::vector<Ray>& rays,
             const std::string& kind) {
    const RayTree whole(tree, scene);
    std::vector<Hit> wanted(rays.size());
    std::vector<std::uint32_t> met(rays.size());
    closest_hits(whole, rays.data(), rays.size(), wanted.data());
    any_hits(whole, rays.data(), rays.size(), met.data());
    for (const std::uint32_t count : {1U, 2U, 3U, 8U}) {
        DividedTree divided(tree, scene, count);
        const auto hits = divided.trace(rays, RayQuestion::closest, count / 2);
        const auto found = divided.trace(rays, RayQuestion::any, 0);
        for (std::size_t i = 0; i < rays.size(); ++i) {
            SCOPED_TRACE(kind + " in " + scene.path + ", ray " + std::to_string(i) + ", " +
                         std::to_string(count) + " parts");
            ASSERT_EQ(found[i].found(), met[i] != 0);
            ASSERT_EQ(hits[i].triangle, wanted[i].triangle);
            if (!hits[i].found()) continue;
            ASSERT_EQ(bits(hits[i].t), bits(wanted[i].t));
            ASSERT_EQ(bits(hits[i].u), bits(wanted[i].u));
            ASSERT_EQ(bits(hits[i].v), bits(wanted[i].v));
        }
    }
}

/// Rays of all kinds; the same up to what they met, and from just behind it; none that is valid.
void compare_all_kinds(const scenes::Scene& scene, const Tree& tree, unsigned count, Dice& dice) {
    const RayTree whole(tree, scene);
    for (const std::string& kind : ray_kinds()) {
        std::vector<Ray> rays;
        for (unsigned i = 0; i < count; ++i) {
            const Ray ray = random_ray(kind, scene, tree, dice);
            rays.push_back(ray);
            Hit hit;
            closest_hits(whole, &ray, 1, &hit);
            if (!hit.found()) continue;
            rays.push_back(ray);
            rays.back().t_max = hit.t;
            rays.push_back(ray);
            rays.back().t_min = std::nextafter(hit.t, std::numeric_limits<float>::infinity());
        }
        rays.push_back({.origin = {0, 0, 0}, .direction = {0, 0, 0}, .t_min = 0, .t_max = 1});
        ASSERT_NO_FATAL_FAILURE(compare(scene, tree, rays, kind));
    }
}

TEST(RayParts, HaveTheHitsOfTheWholeTree) {
    Dice dice;
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : {1U, 10U, 150U}) {
            const auto scene = random_scene(kind, count, dice());
            BuildConfig config;
            config.leaf_limit = 1;
            config.traversal_cost = 0.1F;
            const Tree tree = oracle_tree(scene, config);
            ASSERT_NO_FATAL_FAILURE(compare_all_kinds(scene, tree, 40, dice));
        }
    }
}

TEST(RayParts, HaveTheHitsOfTheWholeTreeInGeneratedScenes) {
    Dice dice;
    for (const std::string name : {"sphere", "terrain", "city", "soup", "hair", "stadium",
                                   "slivers", "plane", "coincident"}) {
        const auto scene = scenes::load("gen:" + name + ":400:" + std::to_string(dice.below(1000)));
        ASSERT_NO_FATAL_FAILURE(
            compare_all_kinds(scene, oracle_tree(scene, BuildConfig{}), 40, dice));
    }
}

TEST(RayParts, HaveTheHitsOfTheWholeTreeByManyThreads) {
    Dice dice;
    const auto scene = scenes::load("gen:city:400");
    const Tree tree = oracle_tree(scene, BuildConfig{});
    std::vector<Ray> rays;
    for (unsigned i = 0; i < 5000; ++i) rays.push_back(random_ray("any", scene, tree, dice));
    compare(scene, tree, rays, "many");
}

/// Plates across the x axis at 0.5, 1.5, ... 7.5, each in a leaf of its own.
struct Row {
    scenes::Scene scene;
    Tree tree;

    Row() {
        std::vector<glm::vec3> corners;
        for (unsigned i = 0; i < 8; ++i) {
            const float x = static_cast<float>(i) + 0.5F;
            corners.insert(corners.end(), {{x, 0, 0}, {x, 4, 0}, {x, 0, 4}});
        }
        scene = scene_of(corners, "a row");
        tree.bounds = {scene.bounds.lo, scene.bounds.hi};
        tree.nodes = {Node::inner(0, 4, 1),  Node::inner(0, 2, 3), Node::inner(0, 6, 9),
                      Node::inner(0, 1, 5),  Node::inner(0, 3, 7), Node::leaf(0, 1),
                      Node::leaf(1, 1),      Node::leaf(2, 1),     Node::leaf(3, 1),
                      Node::inner(0, 5, 11), Node::inner(0, 7, 13)};
        for (unsigned i = 4; i < 8; ++i) tree.nodes.push_back(Node::leaf(i, 1));
        for (unsigned i = 0; i < 8; ++i) tree.references.push_back(i);
    }
};

TEST(RayParts, RaysGoNoFurtherThanTheirHit) {
    const Row row;
    const auto hops = [&](RayQuestion question, float from, float direction, float t_min,
                          float t_max) {
        DividedTree divided(row.tree, row.scene, 8);
        const Ray ray{
            .origin = {from, 1, 1}, .direction = {direction, 0, 0}, .t_min = t_min, .t_max = t_max};
        divided.trace({ray}, question, 0);
        return divided.hops;
    };
    constexpr auto kClosest = RayQuestion::closest;
    EXPECT_EQ(hops(kClosest, -1, 1, 0, 100), 0);      // Met in the first part.
    EXPECT_EQ(hops(kClosest, 0.75F, 1, 0, 100), 1);   // The first part's plate is behind it.
    EXPECT_EQ(hops(kClosest, 9, -1, 0, 100), 1);      // There from the far end, and no further.
    EXPECT_EQ(hops(kClosest, 0.75F, 1, 0, 0.5F), 1);  // Ends in front of the second plate,
    EXPECT_EQ(hops(kClosest, 0.55F, 1, 0, 0.3F), 0);  // and in front of the second cell.
    EXPECT_EQ(hops(kClosest, 9, 1, -100, 100), 0);    // Begins behind its origin.
    EXPECT_EQ(hops(RayQuestion::any, 9, 1, -100, 100), 0);
}

TEST(RayParts, EachKeepsItsCellsAlone) {
    const Row row;
    const RayTree whole(row.tree, row.scene);
    const RayCells cells = ray_cells(row.tree, 4);
    EXPECT_EQ(cells.parts, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2, 3, 3}));
    for (std::uint32_t cell = 0; cell < 8; ++cell) {
        EXPECT_EQ(tree_with_cell(row.tree, cells, cell).references, std::vector{cell});
    }
    EXPECT_THROW(RayPart(row.tree, row.scene, 4, 4), std::invalid_argument);
    EXPECT_THROW(ray_cells(row.tree, 0), std::invalid_argument);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
