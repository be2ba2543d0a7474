/// @file
/// Whether the trees that the builder makes are right, by oracles that share no code with it:
/// verify, the check of all choices, and rays. builder_test.cpp shows that all
/// other machines and allocators make these same trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "kdtree/rays/ray_tree.h"
#include "kdtree/rays/traversal.cuh"
#include "kdtree/split/split_exact.cuh"
#include "kdtree/tree/quality.h"
#include "kdtree/tree/verify.h"
#include "scenes/generators.h"
#include "tests/kdtree/brute_force.h"
#include "tests/kdtree/choice_checker.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/random_rules.h"
#include "tests/kdtree/rays/rays.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr unsigned kRaysOfAKind = kSlow ? 5 : 40;

/// All scenes of this file: each generator's, our models, and the awkward kinds.
std::vector<scenes::Scene> all_scenes(Dice& dice, std::uint64_t triangles) {
    std::vector<scenes::Scene> result;
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        result.push_back(scenes::generate({std::string(info.name), triangles, dice()}));
    }
    for (const std::string& kind : scene_kinds()) {
        for (const unsigned count : {1U, 5U, 70U, 300U}) {
            result.push_back(random_scene(kind, count, dice()));
        }
    }
    return result;
}

std::vector<scenes::Scene> models() {
    std::vector<scenes::Scene> result;
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        result.push_back(scenes::load(entry.path().string()));
    }
    EXPECT_FALSE(result.empty());
    return result;
}

/// The default, and what changes the way a node is worked on.
std::vector<BuildConfig> all_configs() {
    std::vector<BuildConfig> configs(12);
    configs[1].clip = false;
    configs[2].exact_limit = 0;
    configs[2].large_limit = 32;
    configs[3].leaf_limit = 0;
    configs[3].exact_limit = 8;
    configs[4].traversal_cost = 0;
    configs[4].leaf_limit = 1;
    configs[5].empty_bonus = 0.2F;
    configs[5].exact_limit = 33;
    configs[6] = paper_preset();
    configs[7] = pbrt_preset();
    configs[8].exact_limit = 4;
    configs[8].snap_limit = 0;
    configs[8].planes = 7;
    configs[8].empty_rule = EmptyRule::whole;
    configs[9].exact_limit = 4;
    configs[9].tight_cuts = false;
    configs[9].leaf_area = 1;
    configs[10].bad_split_ratio = 0.7F;
    configs[10].bad_splits = 1;
    configs[10].bad_splits_per_level = 0.1F;
    configs[10].hopeless_ratio = 0.9F;
    configs[10].empty_rule = EmptyRule::tests;
    configs[11].exact_limit = 64;
    configs[11].leaf_limit = 4;
    configs[11].leaf_area = 0;
    return configs;
}

void expect_correct(const scenes::Scene& scene, const BuildConfig& config) {
    const Tree tree = plain_tree(scene, config);
    const auto violation = verify(scene, tree, max_depth(config, scene.triangles.size()));
    EXPECT_FALSE(violation) << scene.path << ": " << *violation;
}

TEST(TreeCorrectness, VerifyFindsNothing) {
    Dice dice;
    for (const scenes::Scene& scene : all_scenes(dice, kSlow ? 400 : 2000)) {
        for (const BuildConfig& config : all_configs()) expect_correct(scene, config);
    }
    for (const scenes::Scene& scene : models()) {
        for (const BuildConfig& config : all_configs()) expect_correct(scene, config);
    }
}

TEST(TreeCorrectness, EveryExactLimit) {
    Dice dice;
    for (std::uint32_t exact = 0; exact <= kExactMax; exact += kSlow ? 16 : 1) {
        BuildConfig config;
        config.exact_limit = exact;
        expect_correct(random_scene("grid", 150, dice()), config);
        expect_correct(random_scene("soup", 150, dice()), config);
    }
}

TEST(TreeCorrectness, ChoicesAreTheBest) {
    Dice dice;
    auto scenes = all_scenes(dice, kSlow ? 100 : 300);
    for (const scenes::Scene& scene : scenes) {
        for (BuildConfig config : all_configs()) {
            config.clip = false;
            config.max_duplication = 0;  // it makes leaves whatever they cost
            const Tree tree = plain_tree(scene, config);
            const auto wrong = wrong_choice(scene, tree, config);
            EXPECT_FALSE(wrong) << scene.path << ": " << *wrong;
        }
    }
}

TEST(TreeCorrectness, ChoicesAreTheBestByRandomRules) {
    for_random_rules(40, 150, [](Dice&, const scenes::Scene& scene, BuildConfig config) {
        config.clip = false;
        config.max_duplication = 0;  // it makes leaves whatever they cost
        config.depth_base = std::min(config.depth_base, 12.0F);
        config.depth_factor = std::min(config.depth_factor, 0.0F);
        // The oracle has no overflow and no small numbers of less precision.
        for (float* cost : {&config.traversal_cost, &config.intersection_cost,
                            &config.bad_split_ratio, &config.hopeless_ratio}) {
            if (*cost > 0) *cost = std::clamp(*cost, 1e-6F, 1e6F);
        }
        config.empty_bonus = std::max(config.empty_bonus, 1e-20F);
        const Tree tree = plain_tree(scene, config);
        const auto wrong = wrong_choice(scene, tree, config);
        EXPECT_FALSE(wrong) << *wrong;
    });
}

/// Trees of larger nodes, built by one configuration and checked by another.
template <class Change>
void expect_rule_noticed(Dice& dice, const std::string& rule, const Change& change) {
    unsigned different = 0;
    unsigned noticed = 0;
    BuildConfig config;
    config.clip = false;
    config.exact_limit = 4;
    config.leaf_limit = 4;
    config.leaf_area = 0;
    BuildConfig other = config;
    change(other);
    for (int i = 0; i < 10; ++i) {
        const auto scene = random_scene("soup", 100, dice());
        const Tree tree = plain_tree(scene, config);
        const Tree changed = plain_tree(scene, other);
        if (digest(changed) == digest(tree)) continue;
        different += 2;
        noticed += wrong_choice(scene, changed, config).has_value();
        noticed += wrong_choice(scene, tree, other).has_value();
    }
    EXPECT_GT(different, 10U) << rule;
    EXPECT_GE(noticed * 4, different * 3) << rule << ": " << noticed << " of " << different;
}

TEST(TreeCorrectness, OtherRulesForLargeNodesAreNoticed) {
    Dice dice;
    const auto noticed = [&](const std::string& rule, auto change) {
        expect_rule_noticed(dice, rule, change);
    };
    noticed("planes 32", [](BuildConfig& c) { c.planes = 32; });
    noticed("planes 92", [](BuildConfig& c) { c.planes = 92; });
    noticed("tight_cuts off", [](BuildConfig& c) { c.tight_cuts = false; });
    noticed("snap_limit 0", [](BuildConfig& c) { c.snap_limit = 0; });
    noticed("snap_limit 50", [](BuildConfig& c) { c.snap_limit = 50; });
}

TEST(TreeCorrectness, SnappingMakesTreesBetter) {
    double with = 0;
    double without = 0;
    for (const char* name : {"sphere", "soup", "city", "plane"}) {
        const auto scene = scenes::generate({name, 2000, 1});
        BuildConfig config;
        with += std::log(quality(plain_tree(scene, config), 2000).sah(1, 1.5));
        config.snap_limit = 0;
        without += std::log(quality(plain_tree(scene, config), 2000).sah(1, 1.5));
    }
    EXPECT_LT(with, without - 0.01);
}

TEST(TreeCorrectness, ClippingMakesTreesBetter) {
    double with = 0;
    double without = 0;
    for (const char* name : {"sphere", "soup", "slivers", "hair"}) {
        const auto scene = scenes::generate({name, 2000, 1});
        BuildConfig config;
        with += std::log(quality(plain_tree(scene, config), 2000).sah(1, 1.5));
        config.clip = false;
        without += std::log(quality(plain_tree(scene, config), 2000).sah(1, 1.5));
    }
    EXPECT_LT(with, without - 0.1);
}

void expect_same_hits(const scenes::Scene& scene, Dice& dice) {
    const Tree tree = plain_tree(scene, BuildConfig{});
    const RayTree seen(tree, scene);
    for (const std::string& kind : ray_kinds()) {
        for (unsigned i = 0; i < kRaysOfAKind; ++i) {
            const Ray ray = random_ray(kind, scene, tree, dice);
            const Hit wanted = closest_hit_by_force(scene, ray);
            const Hit hit = closest_hit(seen.view(), ray);
            ASSERT_EQ(hit.triangle, wanted.triangle) << scene.path << ", ray " << kind << " " << i;
            ASSERT_EQ(any_hit(seen.view(), ray), wanted.found()) << scene.path << ", ray " << kind;
            if (wanted.found()) {
                ASSERT_EQ(hit.t, wanted.t) << scene.path << ", ray " << kind;
            }
        }
    }
}

TEST(TreeCorrectness, RaysHitWhatTheyHitWithoutATree) {
    Dice dice;
    for (const scenes::Scene& scene : all_scenes(dice, 1000)) {
        // The rays' parameters are not made for coordinates of 1e30 and 1e-30.
        const bool extreme = scene.path.starts_with("huge") || scene.path.starts_with("tiny");
        if (!extreme) expect_same_hits(scene, dice);
    }
    for (const scenes::Scene& scene : models()) expect_same_hits(scene, dice);
}

TEST(TreeCorrectness, OneTriangleIsOneLeaf) {
    const auto scene = scene_of({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}});
    const Tree tree = plain_tree(scene, BuildConfig{});
    ASSERT_EQ(tree.nodes.size(), 1U);
    EXPECT_EQ(tree.references, std::vector<std::uint32_t>{0});
}

TEST(TreeCorrectness, EqualTrianglesStayTogether) {
    const Tree tree = plain_tree(random_scene("coincident", 1000, 1), BuildConfig{});
    std::uint32_t largest = 0;
    for (const Node& node : tree.nodes) {
        if (node.is_leaf()) largest = std::max(largest, node.count());
    }
    EXPECT_EQ(largest, 1000U) << "no plane can part them";
}

TEST(TreeCorrectness, APointIsALeaf) {
    const std::vector<glm::vec3> corners(300, {1, 2, 3});
    for (const std::uint32_t exact : {0U, 64U}) {
        BuildConfig config;
        config.exact_limit = exact;
        const Tree tree = plain_tree(scene_of(corners), config);
        ASSERT_EQ(tree.nodes.size(), 1U);
        EXPECT_EQ(tree.references.size(), 100U);
    }
}

TEST(TreeCorrectness, LineWithoutAreaIsDivided) {
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 300; ++i) {
        const auto x = static_cast<float>(i);
        corners.insert(corners.end(), {{x, 0, 0}, {x + 0.5F, 0, 0}, {x + 0.25F, 0, 0}});
    }
    const auto scene = scene_of(corners);
    expect_correct(scene, BuildConfig{});
    EXPECT_GT(plain_tree(scene, BuildConfig{}).nodes.size(), 50U);
}

TEST(TreeCorrectness, NoLeafIsTooDeep) {
    const auto scene = scenes::generate({"soup", 1000, 1});
    for (const float depth : {0.0F, 1.0F, 3.0F, 7.0F, 100.0F}) {
        BuildConfig config;
        config.depth_base = depth;
        config.depth_factor = 0;
        config.traversal_cost = 0;
        config.leaf_limit = 0;
        const Tree tree = plain_tree(scene, config);
        const std::uint32_t deepest = quality(tree, 1000).max_depth;
        EXPECT_LE(deepest, std::min(depth, 60.0F));
        if (depth < 10) {
            EXPECT_EQ(deepest, depth);
        }
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
