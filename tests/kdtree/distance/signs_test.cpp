/// @file
/// On which side of models points are: beside all their edges and corners, and anywhere.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kdtree/distance/distance_tests.h"

namespace heapwood::kdtree::tests {
namespace {

std::vector<scenes::Scene> closed_models() {
    std::vector<scenes::Scene> models;
    for (const char* name : {"geodesic_sphere", "trefoil"}) {
        models.push_back(scenes::load(std::string(HEAPWOOD_MODELS_DIR "/") + name + ".obj"));
    }
    models.push_back(box_scene({-1, -2, -3}, {3, 2, 1}));
    models.push_back(lopsided_scene(30));
    for (const float sharpness : {0.1F, 0.5F, 2.0F, 20.0F}) {
        models.push_back(star_scene(sharpness));
    }
    return models;
}

float size_of(const scenes::Scene& scene) {
    const glm::vec3 size = scene.bounds.hi - scene.bounds.lo;
    return std::max({size.x, size.y, size.z});
}

/// Points must have the signs that the winding number tells.
void expect_signs(const scenes::Scene& scene, const std::vector<glm::vec3>& points) {
    const RayTree rays(oracle_tree(scene, {}), scene);
    const SignTable signs(scene);
    ASSERT_EQ(signs.open_edges(), 0U) << scene.path;
    for (const glm::vec3& p : points) {
        const double winding = winding_number(scene, p);
        const bool inside = std::abs(winding) > 0.5;
        const float by_normals = signed_distance(rays.view(), signs.view(), p);
        if (by_normals == 0) continue;
        EXPECT_EQ(by_normals < 0, inside) << scene.path << ": " << text(p) << ", " << winding;
        EXPECT_EQ(contains(rays.view(), signs.view(), p), inside) << scene.path << ": " << text(p);
        // Rays do not tell what is nearer to a surface.
        if (size(by_normals) < 0x1p-19F * size_of(scene)) continue;
        EXPECT_EQ(signed_distance(rays.view(), SignView{nullptr}, p) < 0, inside)
            << scene.path << ": " << text(p) << ", by crossings";
        EXPECT_EQ(contains(rays.view(), SignView{nullptr}, p), inside)
            << scene.path << ": " << text(p) << ", by crossings";
    }
}

TEST(Signs, DoNotFlipAlongEdgesAndCorners) {
    Dice dice;
    for (const scenes::Scene& scene : closed_models()) {
        std::vector<glm::vec3> points;
        const float reach = 1e-3F * size_of(scene);
        for (const glm::uvec3& t : scene.triangles) {
            for (int k = 0; k < 3; ++k) {
                const glm::vec3 a = scene.positions[t[k]];
                const glm::vec3 b = scene.positions[t[(k + 1) % 3]];
                const glm::vec3 at[]{a, a + (b - a) * dice.uniform(0, 1)};
                for (const glm::vec3& on : at) {
                    glm::vec3 way = dice.point(-1, 1);
                    way *= reach / std::max(size(way.x), std::max(size(way.y), size(way.z)));
                    points.push_back(on + way);
                    points.push_back(on - way);
                }
            }
        }
        expect_signs(scene, points);
    }
}

TEST(Signs, AreThoseOfWindingNumbers) {
    Dice dice;
    for (const scenes::Scene& scene : closed_models()) {
        std::vector<glm::vec3> points;
        for (unsigned i = 0; i < 600; ++i) {
            points.push_back(random_point(i % 3 == 0 ? "near" : "around", scene, dice));
        }
        expect_signs(scene, points);
    }
}

TEST(Signs, OfAnOpenSurfaceAreThoseOfItsNearestPart) {
    const auto scene = scene_of({{0, 0, 0}, {4, 0, 0}, {0, 4, 0}});
    const RayTree rays(oracle_tree(scene, {}), scene);
    const SignTable signs(scene);
    EXPECT_EQ(signs.open_edges(), 3U);
    EXPECT_EQ(signs.bytes(), 72U);
    const auto at = [&](const glm::vec3& p) {
        return signed_distance(rays.view(), signs.view(), p);
    };
    EXPECT_EQ(at({1, 1, 2}), 2);
    EXPECT_EQ(at({1, 1, -2}), -2);
    EXPECT_EQ(at({1, -4, 3}), 5) << "beyond a border, as if it went on";
    EXPECT_EQ(at({1, -4, -3}), -5);
    EXPECT_EQ(at({1, -4, 0}), 4) << "in its plane: outside";
    EXPECT_EQ(at({1, 1, 0}), 0);
    EXPECT_TRUE(contains(rays.view(), signs.view(), {1, 1, 0})) << "on the surface";
    EXPECT_TRUE(contains(rays.view(), SignView{nullptr}, {1, 1, 0})) << "on the surface";
    EXPECT_FALSE(contains(rays.view(), signs.view(), {1, -4, 0}));
}

TEST(Signs, CountEdgesThatAreNotClosed) {
    const auto box = box_scene({0, 0, 0}, {1, 1, 1});
    EXPECT_EQ(SignTable(box).open_edges(), 0U);
    scenes::Scene open = box;
    open.triangles.pop_back();
    EXPECT_EQ(SignTable(open).open_edges(), 3U);
    scenes::Scene turned = box;
    std::swap(turned.triangles[0].x, turned.triangles[0].y);
    EXPECT_EQ(SignTable(turned).open_edges(), 3U);
    scenes::Scene twice = box;
    twice.triangles.push_back(box.triangles[0]);
    EXPECT_EQ(SignTable(twice).open_edges(), 3U);
}

TEST(Signs, ByCrossingsAreRightThoughARayMeetsACorner) {
    // The corner where the first ray from the middle of an octahedron leaves it has four triangles.
    const glm::vec3 way{0.43952F, 0.63418F, 0.63609F};
    const glm::vec3 ends[3][2]{
        {way * 8.0F, way * -8.0F}, {{-8, 6, 0}, {8, -6, 0}}, {{-3, -4, 6}, {3, 4, -6}}};
    std::vector<glm::vec3> corners;
    for (unsigned i = 0; i < 8; ++i) {
        corners.insert(corners.end(), {ends[0][i & 1U], ends[1][i >> 1U & 1U], ends[2][i >> 2U]});
    }
    const auto scene = scene_of(corners);
    const RayTree rays(oracle_tree(scene, {}), scene);
    const Ray first{{0, 0, 0}, way, 0, kNowhere};
    ASSERT_EQ(OrderedHits<>(rays.view(), first).count() % 2, 0U);
    EXPECT_TRUE(contains(rays.view(), SignView{nullptr}, {0, 0, 0}));
    EXPECT_FALSE(contains(rays.view(), SignView{nullptr}, way * 9.0F));
}

TEST(Signs, ByCrossingsNeedNoWinding) {
    Dice dice;
    const auto scene = closed_surface(6, 9, dice);  // wound alternately
    const RayTree rays(oracle_tree(scene, {}), scene);
    EXPECT_GT(SignTable(scene).open_edges(), 0U);
    for (unsigned i = 0; i < 500; ++i) {
        const glm::vec3 p = dice.point(-1, 1);
        const float far = std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z);
        if (far > 0.7F && far < 1) continue;
        EXPECT_EQ(contains(rays.view(), SignView{nullptr}, p), far < 1) << text(p);
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
