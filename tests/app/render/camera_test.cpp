/// @file
/// Cameras that suit scenes.
#include "app/render/camera.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "app/base/exit_code.h"
#include "app/base/text.h"
#include "app/render/known_camera.h"
#include "tests/app/render/sample_pictures.h"

namespace heapwood::app {
namespace {

TEST(Camera, LooksAtWhatIsInTheMiddle) {
    const Camera camera{{1, 2, 3}, {4, 6, 3}, 90};
    const View view = view_of(camera, 20, 10);
    const kdtree::Ray middle = primary_ray(view, 10, 5);
    EXPECT_NEAR(middle.direction.x, 0.6, 1e-6);
    EXPECT_NEAR(middle.direction.y, 0.8, 1e-6);
    EXPECT_NEAR(middle.direction.z, 0, 1e-6);
    // 90 degrees from the left edge to the right one.
    const kdtree::Ray left = primary_ray(view, 0, 5);
    const kdtree::Ray right = primary_ray(view, 20, 5);
    EXPECT_NEAR(dot(left.direction, right.direction), 0, 1e-6);
    const kdtree::Ray top = primary_ray(view, 10, 0);
    EXPECT_GT(top.direction.y, middle.direction.y) << "what is above is above";
}

TEST(Camera, MustLookSomewhere) {
    EXPECT_THROW(view_of({{1, 2, 3}, {1, 2, 3}, 50}, 10, 10), UsageError);
    EXPECT_THROW(view_of({{0, 0, 0}, {0, 5, 0}, 50}, 10, 10), UsageError);
    EXPECT_THROW(view_of({{0, 0, 0}, {0, -5, 0}, 50, {0, 2, 0}}, 10, 10), UsageError);
    EXPECT_THROW(view_of({{0, 0, 0}, {1, 0, 0}, 50, {0, 0, 0}}, 10, 10), UsageError);
    EXPECT_NO_THROW(view_of({{0, 0, 0}, {0, 5, 0}, 50, {0, 0, 1}}, 10, 10));
}

/// Where a point is in the picture, from -1 to 1 across and above.
std::pair<double, double> place_of(const View& view, const vec3& point) {
    const glm::dvec3 from = glm::dvec3(point) - glm::dvec3(view.eye);
    const double ahead = dot(from, glm::dvec3(view.ahead));
    EXPECT_GT(ahead, 0);
    return {dot(from, glm::dvec3(view.right)) / ahead / double{view.half_width},
            dot(from, glm::dvec3(view.up)) / ahead / double{view.half_height}};
}

TEST(Camera, ShowsAllOfAnObjectAndFillsThePicture) {
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        if (entry.path().extension() != ".obj") continue;
        const Sample sample = built(scenes::load(entry.path().string()));
        const kdtree::RayTree rays(sample.tree, sample.scene);
        for (const auto& [width, height] : {std::pair(96U, 54U), {50U, 50U}, {20U, 90U}}) {
            const Camera camera = camera_of(sample.scene, rays, width, height);
            EXPECT_FALSE(is_inside(sample.scene.bounds, camera.eye)) << entry.path();
            const View view = view_of(camera, width, height);
            double most = 0;
            for (const vec3& point : sample.scene.positions) {
                const auto [across, above] = place_of(view, point);
                most = std::max({most, std::abs(across), std::abs(above)});
            }
            EXPECT_LT(most, 1) << entry.path();
            EXPECT_GT(most, 0.5) << entry.path();
        }
    }
}

TEST(Camera, LooksIntoARoomFromInside) {
    // A room with stools along two of its walls.
    std::vector<vec3> corners = box({0, 0, 0}, {6, 3, 4});
    for (int i = 0; i < 16; ++i) {
        const vec3 at{0.3F + 0.7F * static_cast<float>(i % 8), 0, i < 8 ? 0.2F : 3.4F};
        for (const vec3& corner : box(at, at + vec3{0.4F, 0.5F, 0.4F})) corners.push_back(corner);
    }
    const Sample room = built(kdtree::tests::scene_of(corners));
    const kdtree::RayTree rays(room.tree, room.scene);
    const Camera camera = camera_of(room.scene, rays, 96, 54);
    EXPECT_TRUE(is_inside(room.scene.bounds, camera.eye));
    EXPECT_GT(std::abs(camera.target.x - camera.eye.x), 2) << "along the room, not at a wall";
}

TEST(Camera, KnowsPublishedScenesByTheirDigests) {
    const auto json = nlohmann::json::parse(kCamerasText);
    EXPECT_EQ(json.at("cameras").size(), 12U);
    for (const auto& camera : json.at("cameras")) {
        const std::uint64_t digest = read_hex(camera.at("digest").get<std::string>());
        const Camera* known = known_camera(digest);
        ASSERT_NE(known, nullptr) << camera;
        EXPECT_EQ(known->field_of_view, camera.at("field_of_view").get<float>());
        EXPECT_EQ(known->eye.x, camera.at("eye").at(0).get<float>());
        EXPECT_EQ(known->up.z, camera.at("up").at(2).get<float>());
        EXPECT_NO_THROW(view_of(*known, 16, 9));
        EXPECT_EQ(known_camera(digest + 1), nullptr);
    }
}

TEST(Camera, IsNotThatOfAnotherSceneOfTheSameName) {
    const Sample sample = built(scenes::load("gen:sphere:50"));
    const kdtree::RayTree rays(sample.tree, sample.scene);
    const Camera camera = camera_of(sample.scene, rays, 96, 54);
    for (const char* path : {"bunny.obj", "x/sponza.obj.xz", "conference.kdt"}) {
        scenes::Scene scene = sample.scene;
        scene.path = path;
        EXPECT_EQ(camera_of(scene, rays, 96, 54).eye, camera.eye) << path;
    }
}

}  // namespace
}  // namespace heapwood::app
