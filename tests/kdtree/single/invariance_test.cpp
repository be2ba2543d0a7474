/// @file
/// What must not matter: how large the scene is and where it lies.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kdtree/split/split_exact.cuh"
#include "kdtree/tree/verify.h"
#include "scenes/generators.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr unsigned kTriangles = kSlow ? 300 : 1000;

/// The scene with other positions.
template <class Map>
scenes::Scene mapped(scenes::Scene scene, const std::string& name, const Map& map) {
    for (glm::vec3& p : scene.positions) p = map(p);
    scene.path += name;
    scenes::finish(scene);
    return scene;
}

/// Positions rounded to multiples of 2^exponent, so that scaling or moving them is exact.
scenes::Scene rounded(const scenes::Scene& scene, int exponent) {
    const float unit = std::ldexp(1.0F, exponent);
    return mapped(scene, " rounded", [&](const glm::vec3& p) {
        // Adding 0 makes -0 a 0.
        return glm::vec3{std::round(p.x / unit) * unit + 0.0F, std::round(p.y / unit) * unit + 0.0F,
                         std::round(p.z / unit) * unit + 0.0F};
    });
}

scenes::Scene scaled(const scenes::Scene& scene, float factor) {
    return mapped(scene, " times " + std::to_string(std::log10(factor)) + " magnitudes",
                  [&](const glm::vec3& p) { return p * factor; });
}

/// Each generator's scene, and the awkward ones of ordinary size.
std::vector<scenes::Scene> ordinary_scenes(Dice& dice) {
    std::vector<scenes::Scene> result;
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        result.push_back(scenes::generate({std::string(info.name), kTriangles, dice()}));
    }
    for (const std::string& kind : scene_kinds()) {
        if (kind == "huge" || kind == "tiny") continue;
        for (const unsigned count : {5U, 300U}) {
            result.push_back(random_scene(kind, count, dice()));
        }
    }
    return result;
}

std::vector<BuildConfig> configs() {
    std::vector<BuildConfig> result(2);
    result[1].clip = false;
    result.push_back(paper_preset());
    result.push_back(pbrt_preset());
    return result;
}

void expect_correct(const scenes::Scene& scene, const BuildConfig& config, const Tree& tree) {
    const auto violation = verify(scene, tree, max_depth(config, scene.triangles.size()));
    EXPECT_FALSE(violation) << scene.path << ": " << *violation;
}

/// The same tree, but for the planes' positions, on which `map(position, axis)` tells.
template <class Map>
void expect_mapped(const Tree& tree, const Tree& other, const std::string& what, const Map& map) {
    ASSERT_EQ(tree.nodes.size(), other.nodes.size()) << what;
    ASSERT_EQ(tree.references, other.references) << what;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        const Node node = tree.nodes[i];
        ASSERT_EQ(node.tagged, other.nodes[i].tagged) << what << ", node " << i;
        if (node.is_leaf()) {
            ASSERT_EQ(node.payload, other.nodes[i].payload) << what << ", node " << i;
        } else {
            ASSERT_EQ(map(node.split(), node.axis()), other.nodes[i].split())
                << what << ", node " << i;
        }
    }
}

TEST(Invariance, PowersOfTwoScaleTheTree) {
    Dice dice;
    for (const scenes::Scene& any : ordinary_scenes(dice)) {
        const scenes::Scene scene = rounded(any, -20);
        for (const BuildConfig& config : configs()) {
            const Tree tree = plain_tree(scene, config);
            for (const int exponent : {-100, -1, 3, 100}) {
                const scenes::Scene other = scaled(scene, std::ldexp(1.0F, exponent));
                const Tree of_other = plain_tree(other, config);
                expect_mapped(tree, of_other, other.path, [&](float position, unsigned) {
                    return std::ldexp(position, exponent);
                });
                expect_correct(other, config, of_other);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(Invariance, ThirtyMagnitudesUpAndDown) {
    Dice dice;
    for (const scenes::Scene& scene : ordinary_scenes(dice)) {
        for (const BuildConfig& config : configs()) {
            for (const int exponent : {-100, 100}) {
                const scenes::Scene extreme = scaled(scene, exponent < 0 ? 1e-30F : 1e30F);
                const Tree tree = plain_tree(extreme, config);
                expect_correct(extreme, config, tree);
                // Multiplying has rounded each coordinate, which is another scene; brought back to
                // an ordinary size by a power of two, that one has the same tree.
                const scenes::Scene back = scaled(extreme, std::ldexp(1.0F, -exponent));
                expect_mapped(
                    plain_tree(back, config), tree, extreme.path,
                    [&](float position, unsigned) { return std::ldexp(position, exponent); });
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(Invariance, MovingASceneMovesItsTree) {
    // Where all planes are ends of references and all differences exact, nothing else changes.
    Dice dice;
    BuildConfig config;
    config.exact_limit = kExactMax;
    config.clip = false;
    for (unsigned i = 0; i < (kSlow ? 20U : 200U); ++i) {
        const std::string kind = i % 2 == 0 ? "soup" : "boxes";
        const scenes::Scene scene = rounded(random_scene(kind, 1 + dice.below(60), dice()), -8);
        const glm::vec3 by{dice.integer(-4000, 4000), dice.integer(-4000, 4000),
                           dice.integer(-4000, 4000)};
        const scenes::Scene other =
            mapped(scene, " moved", [&](const glm::vec3& p) { return p + by; });
        expect_mapped(
            plain_tree(scene, config), plain_tree(other, config), other.path,
            [&](float position, unsigned axis) { return position + component(by, axis); });
        if (HasFatalFailure()) return;
    }
}

TEST(Invariance, ScenesFarAwayAreCorrect) {
    Dice dice;
    for (const scenes::Scene& scene : ordinary_scenes(dice)) {
        for (const float distance : {1e3F, 1e6F}) {
            const glm::vec3 by = dice.point(-distance, distance);
            const scenes::Scene other =
                mapped(scene, " far away", [&](const glm::vec3& p) { return p + by; });
            for (const BuildConfig& config : configs()) {
                expect_correct(other, config, plain_tree(other, config));
            }
        }
    }
}

TEST(Invariance, ScenesOfAllMagnitudesAtOnceAreCorrect) {
    Dice dice;
    for (const int most : {20, 37}) {
        std::vector<glm::vec3> corners;
        for (unsigned i = 0; i < 900; ++i) {
            const auto coordinate = [&] {
                const float size = std::pow(10.0F, static_cast<float>(dice.integer(-38, most)));
                return size * dice.uniform(-1, 1) + 0.0F;
            };
            const float x = coordinate();
            const float y = coordinate();
            corners.emplace_back(x, y, coordinate());
        }
        const scenes::Scene scene = scene_of(corners, "all magnitudes");
        for (const BuildConfig& config : configs()) {
            expect_correct(scene, config, plain_tree(scene, config));
        }
    }
}

TEST(Invariance, AWallHasAFlatCell) {
    // Six triangles in the face z = 0 of a cube, one at the opposite face: oracle_builder_test
    // has the arithmetic.
    std::vector<glm::vec3> corners;
    for (int i = 0; i < 6; ++i) corners.insert(corners.end(), {{0, 0, 0}, {4, 0, 0}, {0, 4, 0}});
    corners.insert(corners.end(), {{0, 0, 4}, {4, 0, 4}, {0, 4, 4}});
    for (const float scale : {1e-30F, 1.0F, 1e30F}) {
        const Tree tree = plain_tree(scaled(scene_of(corners), scale), BuildConfig{});
        ASSERT_FALSE(tree.nodes[0].is_leaf());
        EXPECT_EQ(tree.nodes[0].axis(), 2U);
        EXPECT_EQ(tree.nodes[0].split(), 0.0F);
        EXPECT_TRUE(tree.nodes[1].is_leaf());
        EXPECT_EQ(tree.nodes[1].count(), 6U);
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
