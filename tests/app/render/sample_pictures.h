/// @file
/// Small scenes, their trees, and pictures of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "app/render/render.h"
#include "kdtree/levels/level_builder.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::app {

/// A scene with a tree.
struct Sample {
    scenes::Scene scene;
    kdtree::Tree tree;
};

/// With a tree of one leaf.
inline Sample one_leaf(std::vector<vec3> corners) {
    Sample sample{kdtree::tests::scene_of(std::move(corners)), {}};
    const auto count = static_cast<std::uint32_t>(sample.scene.triangles.size());
    sample.tree.nodes = {kdtree::Node::leaf(0, count)};
    sample.tree.references.resize(count);
    std::iota(sample.tree.references.begin(), sample.tree.references.end(), 0U);
    sample.tree.bounds = {sample.scene.bounds.lo, sample.scene.bounds.hi};
    return sample;
}

/// With a tree that was built.
inline Sample built(scenes::Scene scene) {
    kdtree::Tree tree = kdtree::build_by_levels_on_cpu(scene, {}, {}).tree;
    return {std::move(scene), std::move(tree)};
}

/// The corners of two triangles.
inline std::vector<vec3> quad(vec3 a, vec3 b, vec3 c, vec3 d) {
    return {a, b, c, a, c, d};
}

/// The corners of a box's twelve triangles.
inline std::vector<vec3> box(vec3 lo, vec3 hi) {
    const auto at = [&](unsigned corner) {
        return vec3{(corner & 1U) != 0 ? hi.x : lo.x, (corner & 2U) != 0 ? hi.y : lo.y,
                    (corner & 4U) != 0 ? hi.z : lo.z};
    };
    std::vector<vec3> all;
    for (const auto& [a, b, c, d] : std::vector<std::array<unsigned, 4>>{
             {0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}}) {
        for (const vec3& corner : quad(at(a), at(b), at(c), at(d))) all.push_back(corner);
    }
    return all;
}

inline Rendering picture(const Sample& sample, const Camera& camera, const RenderSettings& settings,
                         allocators::Place place = allocators::Place::host) {
    const kdtree::RayTree rays(sample.tree, sample.scene, place);
    return render(sample.scene, sample.tree, rays, camera, settings, [](double) {});
}

/// A mode's name in the name of a test.
inline std::string mode_name(const ::testing::TestParamInfo<Mode>& mode) {
    std::string name(facts_of(mode.param).name);
    std::erase(name, '-');
    return name;
}

inline bool same_bits(const Film& a, const Film& b) {
    return a.width == b.width && a.height == b.height && a.pixels.size() == b.pixels.size() &&
           std::memcmp(a.pixels.data(), b.pixels.data(), a.pixels.size() * sizeof(Shade)) == 0;
}

}  // namespace heapwood::app
