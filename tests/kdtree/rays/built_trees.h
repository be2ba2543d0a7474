/// @file
/// Trees that are laid out for rays where they were built have the hits of trees that the host has
/// laid out, bit for bit, on a CPU and a GPU.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kdtree/built_tree.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/rays/ray_machines.h"
#include "tests/kdtree/rays/rays.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {

inline bool same(const Hit& a, const Hit& b) {
    return a.triangle == b.triangle && (!a.found() || (a.t == b.t && a.u == b.u && a.v == b.v));
}

/// Rays of all kinds.
inline std::vector<Ray> all_kinds(const scenes::Scene& scene, const Tree& tree, unsigned each,
                                  Dice& dice) {
    std::vector<Ray> rays;
    for (const std::string& kind : ray_kinds()) {
        for (unsigned i = 0; i < each; ++i) rays.push_back(random_ray(kind, scene, tree, dice));
    }
    return rays;
}

/// All answers of the tree are those of RayTree(canonical tree, scene) in the same place.
inline void expect_hits_of(const RayTree& rays, const Tree& tree, const scenes::Scene& scene,
                           Dice& dice) {
    const std::vector<Ray> some = all_kinds(scene, tree, 20, dice);
    const RayTree canonical(tree, scene, rays.place());
    for (const bool coherent : {false, true}) {
        const Answers found = ask_batch(rays, some, {.coherent = coherent});
        const Answers wanted = ask_batch(canonical, some, {.coherent = coherent});
        for (std::size_t i = 0; i < some.size(); ++i) {
            ASSERT_TRUE(same(found.closest[i], wanted.closest[i])) << scene.path << ", ray " << i;
            ASSERT_EQ(found.any[i], wanted.any[i]) << scene.path << ", ray " << i;
            ASSERT_EQ(found.counts[i], wanted.counts[i]) << scene.path << ", ray " << i;
            ASSERT_EQ(found.all[i].size(), wanted.all[i].size()) << scene.path << ", ray " << i;
            for (std::size_t k = 0; k < found.all[i].size(); ++k) {
                ASSERT_TRUE(same(found.all[i][k], wanted.all[i][k])) << scene.path << ", ray " << i;
            }
        }
    }
}

/// No ray meets anything.
inline void expect_nothing(const RayTree& rays, const scenes::Scene& scene, Dice& dice) {
    const Answers found = ask_batch(rays, all_kinds(scene, oracle_tree(scene, {}), 5, dice), {});
    for (const Hit& hit : found.closest) ASSERT_FALSE(hit.found());
    for (const std::uint32_t count : found.counts) ASSERT_EQ(count, 0U);
}

/// The positions and triangles of a scene where trees of `Where` are built, without a box.
class FrameThere {
public:
    FrameThere(const scenes::Scene& scene, Place place)
        : positions_(place, scene.positions.size() * sizeof(glm::vec3)),
          triangles_(place, scene.triangles.size() * sizeof(glm::uvec3)),
          frame_{.positions = positions_.as<glm::vec3>(),
                 .position_count = static_cast<std::uint32_t>(scene.positions.size()),
                 .triangles = triangles_.as<glm::uvec3>(),
                 .triangle_count = static_cast<std::uint32_t>(scene.triangles.size()),
                 .bounds = {}} {
        positions_.write(0, scene.positions.data(), positions_.size());
        triangles_.write(0, scene.triangles.data(), triangles_.size());
    }
    const Frame& frame() const { return frame_; }

private:
    Buffer positions_;
    Buffer triangles_;
    Frame frame_;
};

template <class Where>
void test_scenes_and_frames(Place place) {
    Dice dice;
    BuildConfig config;
    config.exact_limit = 32;
    config.large_limit = 64;
    config.chunk = 32;
    auto tree = build<Where>(random_scene("soup", 100, dice()), config);
    EXPECT_EQ(tree.result().pool_bytes / (1 << 20), 1U);
    for (const std::string& kind : scene_kinds()) {
        scenes::Scene scene = random_scene(kind, 1 + dice.below(400), dice());
        if (dice.below(2) == 0) {
            // A tree's planes are scaled then.
            for (glm::vec3& position : scene.positions) position *= 0x1p-20F;
            finish(scene);
        }
        ASSERT_NO_FATAL_FAILURE(tree.rebuild(scene)) << scene.path;
        const Tree wanted = tree.to_host();
        ASSERT_NO_FATAL_FAILURE(expect_hits_of(tree.rays(), wanted, scene, dice));
        // In place, whose box is found there.
        const FrameThere there(scene, place);
        tree.rebuild(there.frame());
        ASSERT_EQ(digest(tree.to_host()), digest(wanted)) << scene.path;
        ASSERT_NO_FATAL_FAILURE(expect_hits_of(tree.rays(), wanted, scene, dice));
    }
}

template <class Where>
void test_failures(Place place) {
    Dice dice;
    const scenes::Scene scene = random_scene("soup", 300, dice());
    const FrameThere there(scene, place);
    BuildConfig config;
    config.max_nodes = 3;
    config.max_duplication = 0;
    config.leaf_limit = 1;
    BuiltTree<allocators::Cambium, decltype(Where::template machine<allocators::Cambium>({}, {}))>
        tree(Where::template machine<allocators::Cambium>(config, {}), scene.triangles.size(),
             config);
    expect_nothing(tree.rays(), scene, dice);
    EXPECT_THROW(tree.rebuild(scene), BuildError);
    expect_nothing(tree.rays(), scene, dice);
    EXPECT_THROW(tree.rebuild(there.frame()), BuildError);
    expect_nothing(tree.rays(), scene, dice);
    Frame frame = there.frame();
    EXPECT_THROW(tree.enqueue(frame), std::invalid_argument) << "it has no box";
    frame.bounds = scene.bounds;
    tree.enqueue(frame);
    expect_nothing(tree.rays(), scene, dice);
    EXPECT_THROW(tree.finish(), BuildError);

    // What only the end of a build tells: that its tree has too many references.
    const scenes::Scene crowded = fan(100);
    BuildConfig little;
    little.max_duplication = 2;
    auto searched = build<Where>(crowded, little);
    EXPECT_TRUE(searched.result().depth_limit.has_value());
    const FrameThere crowd(crowded, place);
    Frame boxed = crowd.frame();
    boxed.bounds = crowded.bounds;
    searched.enqueue(boxed);
    EXPECT_THROW(searched.finish(), BuildError);
    expect_nothing(searched.rays(), crowded, dice);
    searched.rebuild(boxed);
    expect_hits_of(searched.rays(), searched.to_host(), crowded, dice);

    // A frame that has a corner that is not finite, and one that has none that is.
    scenes::Scene bad = scene;
    bad.positions.front().y = std::numeric_limits<float>::quiet_NaN();
    auto sound = build<Where>(scene);
    const FrameThere faulty(bad, place);
    EXPECT_THROW(sound.rebuild(faulty.frame()), std::invalid_argument);
    Frame within = faulty.frame();
    within.bounds = scene.bounds;
    sound.enqueue(within);
    expect_nothing(sound.rays(), scene, dice);
    EXPECT_THROW(sound.finish(), std::invalid_argument);
    for (glm::vec3& position : bad.positions) position.x = std::numeric_limits<float>::infinity();
    EXPECT_THROW(sound.rebuild(FrameThere(bad, place).frame()), std::invalid_argument);
    sound.rebuild(there.frame());
    expect_hits_of(sound.rays(), sound.to_host(), scene, dice);
}

}  // namespace heapwood::kdtree::tests
