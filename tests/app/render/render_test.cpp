/// @file
/// Pictures of scenes of which every pixel is known.
#include "app/render/render.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "app/render/pictures/picture.h"
#include "tests/app/render/sample_pictures.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/distance/distance_oracle.h"

namespace heapwood::app {
namespace {

/// Sees x and y from -5 to 5 in the plane z = 0, a pixel for each unit if there are ten.
constexpr Camera kInFront{{0, 0, 5}, {0, 0, 0}, 90};

RenderSettings settings(Mode mode, unsigned side, std::uint32_t samples = 1) {
    return {.mode = mode, .width = side, .height = side, .samples = samples};
}

TEST(Render, TriangleCoversKnownPixels) {
    const Sample sample = one_leaf({{-2, -2, 0}, {2.5F, -2, 0}, {-2, 2.5F, 0}});
    const Rendering made = picture(sample, kInFront, settings(Mode::depth, 10));
    for (int y = 0; y < 10; ++y) {
        for (int x = 0; x < 10; ++x) {
            const double across = x - 4.5;
            const double above = 4.5 - y;
            const bool covered = across > -2 && above > -2 && across + above < 0.5;
            const Shade& pixel = made.film.pixels[static_cast<std::size_t>(10 * y + x)];
            EXPECT_EQ(pixel.weight, covered ? 1 : 0) << x << " " << y;
            if (covered) {
                EXPECT_NEAR(pixel.value.x, 5, 1e-5);
            }
        }
    }
    ASSERT_EQ(made.rays.size(), 1U);
    EXPECT_EQ(made.rays[0].rays, 100U);
}

TEST(Render, DepthOfASlopeIsThatAlongTheViewsDirection) {
    const Sample sample =
        one_leaf(quad({-50, -50, -25}, {50, -50, 25}, {50, 50, 25}, {-50, 50, -25}));  // z = x / 2
    const Rendering made = picture(sample, kInFront, settings(Mode::depth, 32));
    for (unsigned i = 0; i < 32 * 32; ++i) {
        const double u = (i % 32 + 0.5) / 16 - 1;
        ASSERT_EQ(made.film.pixels[i].weight, 1);
        ASSERT_NEAR(made.film.pixels[i].value.x, 5 / (1 + u / 2), 1e-4) << i;
    }
}

/// Where a ray from outside enters the unit box, by its three pairs of planes.
vec3 entered_side(const kdtree::Ray& ray, bool& enters) {
    double from = -1e9;
    double to = 1e9;
    vec3 side{0, 0, 0};
    for (int k = 0; k < 3; ++k) {
        const double a = (0 - double{ray.origin[k]}) / double{ray.direction[k]};
        const double b = (1 - double{ray.origin[k]}) / double{ray.direction[k]};
        if (std::min(a, b) > from) {
            from = std::min(a, b);
            side = {0, 0, 0};
            side[k] = ray.direction[k] > 0 ? -1.0F : 1.0F;
        }
        to = std::min(to, std::max(a, b));
    }
    enters = from < to;
    return side;
}

TEST(Render, NormalsOfABox) {
    const Sample sample = one_leaf(box({0, 0, 0}, {1, 1, 1}));
    const Camera camera{{3.1F, 2.3F, 4.7F}, {0.5F, 0.5F, 0.5F}, 30};
    const Rendering made = picture(sample, camera, settings(Mode::normal, 64));
    const View view = view_of(camera, 64, 64);
    unsigned seen = 0;
    for (unsigned i = 0; i < 64 * 64; ++i) {
        const kdtree::Ray ray =
            primary_ray(view, static_cast<float>(i % 64) + 0.5F, static_cast<float>(i / 64) + 0.5F);
        bool enters = false;
        const vec3 side = entered_side(ray, enters);
        const Shade& pixel = made.film.pixels[i];
        ASSERT_EQ(pixel.weight, enters ? 1 : 0);
        seen += enters;
        if (enters) {
            ASSERT_EQ(pixel.value, side);
        }
    }
    EXPECT_GT(seen, 500U);
    EXPECT_LT(seen, 3500U);
}

TEST(Render, NothingIsNearALonePlane) {
    const Sample sample = one_leaf(quad({-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}));
    auto wanted = settings(Mode::ambient_occlusion, 32, 16);
    wanted.occlusion_reach = 10;
    const Rendering made = picture(sample, kInFront, wanted);
    for (const Shade& pixel : made.film.pixels) {
        ASSERT_EQ(pixel.weight, 1);
        ASSERT_EQ(pixel.value.x, 1);
    }
}

TEST(Render, ABoxIsClosed) {
    const Sample sample = one_leaf(box({-1, -2, -3}, {4, 5, 6}));
    auto wanted = settings(Mode::ambient_occlusion, 32, 16);
    wanted.occlusion_reach = 10;
    const Camera inside{{0.1F, 0.2F, 0.3F}, {3, 3, 3}, 100};
    const Rendering made = picture(sample, inside, wanted);
    for (const Shade& pixel : made.film.pixels) {
        ASSERT_EQ(pixel.weight, 1);
        ASSERT_EQ(pixel.value.x, 0);
    }
}

/// A disc of radius R at height h above a surface covers R^2 / (R^2 + h^2) of its cosine-weighted
/// hemisphere.
TEST(Render, ADiscOverheadCoversAsMuchAsItShould) {
    constexpr int kCorners = 64;
    std::vector<vec3> corners = quad({-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0});
    const auto on_edge = [](int i) {
        const double angle = 2 * 3.14159265358979 * i / kCorners;
        return vec3{std::cos(angle), std::sin(angle), 1};
    };
    for (int i = 0; i < kCorners; ++i) {
        for (const vec3& corner : {vec3{0, 0, 1}, on_edge(i), on_edge(i + 1)}) {
            corners.push_back(corner);
        }
    }
    auto wanted = settings(Mode::ambient_occlusion, 1, 8192);
    wanted.occlusion_reach = 10;
    // From the side, below the disc, at the point under its middle.
    const Camera camera{{4, 0.01F, 0.5F}, {0, 0, 0}, 0.01F, {0, 0, 1}};
    const Rendering made = picture(one_leaf(corners), camera, wanted);
    EXPECT_EQ(made.film.pixels[0].weight, 1);
    EXPECT_NEAR(made.film.pixels[0].value.x, 0.5, 0.01);
    ASSERT_EQ(made.rays.size(), 2U);
    EXPECT_EQ(made.rays[1].kind, "ambient-occlusion");
    EXPECT_EQ(made.rays[1].rays, 8192U);
}

/// Two triangles side by side, each in a leaf, one of them deeper.
TEST(Render, LeavesAreThoseThatAreSeen) {
    Sample sample = one_leaf({{-4, -4, 0},
                              {-1, -4, 0},
                              {-1, 4, 0},  //
                              {1, -4, 0},
                              {4, -4, 0},
                              {1, 4, 0},
                              {1, -4, -1},
                              {4, -4, -1},
                              {1, 4, -1}});
    using kdtree::Node;
    sample.tree.nodes = {Node::inner(0, 0, 1), Node::leaf(0, 1), Node::inner(0, 5, 3),
                         Node::leaf(1, 2), Node::leaf(3, 0)};
    sample.tree.references = {0, 1, 2};
    sample.tree.bounds = {{-4, -4, -1}, {6, 4, 0}};
    const Film sizes = picture(sample, kInFront, settings(Mode::leaf_size, 20)).film;
    const Film depths = picture(sample, kInFront, settings(Mode::leaf_depth, 20)).film;
    unsigned seen = 0;
    for (std::size_t i = 0; i < 400; ++i) {
        ASSERT_EQ(sizes.pixels[i].weight, depths.pixels[i].weight);
        if (sizes.pixels[i].weight == 0) continue;
        ++seen;
        const bool left = i % 20 < 10;
        ASSERT_EQ(sizes.pixels[i].value.x, left ? 1 : 2);
        ASSERT_EQ(depths.pixels[i].value.x, left ? 1 : 2);
    }
    EXPECT_GT(seen, 50U);
    const Film costs = picture(sample, kInFront, settings(Mode::cost, 20)).film;
    for (std::size_t i = 0; i < 400; ++i) {
        const Shade& pixel = costs.pixels[i];
        ASSERT_EQ(pixel.weight, 1) << "rays that meet nothing cost something, too";
        if (sizes.pixels[i].weight == 0) continue;
        const bool left = i % 20 < 10;
        ASSERT_EQ(pixel.value.x, left ? 1 : 2);  // inner nodes
        ASSERT_EQ(pixel.value.y, 1);             // leaves
        ASSERT_EQ(pixel.value.z, left ? 1 : 2);  // tests
    }
}

/// Every pixel against every triangle, in the plane through the target: its points follow from the
/// camera by their places in the picture.
TEST(Render, DistancesAreThoseOfTheSliceThatFacesTheEye) {
    kdtree::tests::Dice dice;
    for (const char* name : {"gen:sphere:300", "gen:city:300", "gen:hair:100"}) {
        const Sample sample = built(scenes::load(name));
        const scenes::Bounds& box = sample.scene.bounds;
        const float size = length_of(sample.scene);
        const auto around = [&] {
            return box.lo + (box.hi - box.lo) * 0.5F + dice.point(-0.5F, 0.5F) * size;
        };
        const vec3 eye = around() + vec3{0, 0, 2} * size;
        const Camera camera{eye, around(), 40};
        const View view = view_of(camera, 24, 16);
        const Film film =
            picture(sample, camera, {.mode = Mode::distance, .width = 24, .height = 16}).film;
        using kdtree::tests::Exact;
        const Exact to_target = Exact(camera.target) - Exact(eye);
        const long double far = kdtree::tests::length(to_target);
        const long double unit = 2 * std::tan(20 * 3.14159265358979L / 180) * far / 24;
        for (unsigned i = 0; i < 24 * 16; ++i) {
            const Exact at = Exact(camera.target) + Exact(view.right) * (unit * (i % 24 - 11.5L)) +
                             Exact(view.up) * (unit * (7.5L - i / 24));
            const long double wanted = kdtree::tests::distance_by_force(sample.scene, at);
            ASSERT_EQ(film.pixels[i].weight, 1);
            ASSERT_LE(std::abs(film.pixels[i].value.x - wanted), 1e-5L * far) << name << " " << i;
        }
    }
}

TEST(Render, DistancesOfAPlaneHaveALegendFromZero) {
    const Sample sample = one_leaf(quad({0, -50, -50}, {0, 50, -50}, {0, 50, 50}, {0, -50, 50}));
    const Film film = picture(sample, kInFront, settings(Mode::distance, 100)).film;
    for (unsigned i = 0; i < 100 * 100; ++i) {
        ASSERT_NEAR(film.pixels[i].value.x, std::abs(i % 100 - 49.5) / 10, 1e-5) << i;
    }
    const Picture shown = picture_of(film, Mode::distance);
    ASSERT_TRUE(shown.scale);
    EXPECT_STREQ(shown.scale->title, "distance");
    EXPECT_EQ(shown.scale->least, 0);
    EXPECT_NEAR(shown.scale->most, 4.95, 1e-5);
}

TEST(Render, AShadowIsWhereTheLightIsHidden) {
    // A floor, and a plate between it and the light, which is above and to the left.
    std::vector<vec3> corners = quad({-9, 0, 9}, {9, 0, 9}, {9, 0, -9}, {-9, 0, -9});
    for (const vec3& corner : quad({-9, 6, 9}, {9, 6, 9}, {9, 6, -9}, {-9, 6, -9})) {
        corners.push_back(corner);
    }
    const Sample hidden = one_leaf(corners);
    const Sample open = one_leaf({corners.begin(), corners.begin() + 6});
    const Camera camera{{0, 5, 14}, {0, 0, 0}, 5};
    auto wanted = settings(Mode::path, 8, 64);
    wanted.bounces = 0;
    for (const Shade& pixel : picture(open, camera, wanted).film.pixels) {
        ASSERT_GT(pixel.value.x, 0);
    }
    for (const Shade& pixel : picture(hidden, camera, wanted).film.pixels) {
        ASSERT_EQ(pixel.value.x, 0);
    }
    wanted.bounces = 2;
    for (const Shade& pixel : picture(hidden, camera, wanted).film.pixels) {
        ASSERT_GT(pixel.value.x, 0) << "the sky is seen from below the plate";
    }
}

TEST(Render, LightThatHasBeenCountedIsNotCountedAgain) {
    // On the left a plate, from which light goes nowhere but to the sky; on the right a groove,
    // within which it goes on.
    std::vector<vec3> corners = quad({-9, -9, 0}, {-0.5F, -9, 0}, {-0.5F, 9, 0}, {-9, 9, 0});
    for (const vec3& corner : quad({0.5F, -9, 0}, {4, -9, -4}, {4, 9, -4}, {0.5F, 9, 0})) {
        corners.push_back(corner);
    }
    for (const vec3& corner : quad({4, -9, -4}, {9, -9, 0}, {9, 9, 0}, {4, 9, -4})) {
        corners.push_back(corner);
    }
    auto wanted = settings(Mode::path, 10, 64);
    wanted.bounces = 1;
    const Film once = picture(one_leaf(corners), kInFront, wanted).film;
    wanted.bounces = 4;
    const Film often = picture(one_leaf(corners), kInFront, wanted).film;
    for (std::size_t i = 0; i < 100; ++i) {
        if (i % 10 < 4) {
            EXPECT_EQ(once.pixels[i].value, often.pixels[i].value) << i;
        } else if (i % 10 > 6) {
            EXPECT_LT(once.pixels[i].value.x, often.pixels[i].value.x) << i;
        }
    }
}

/// Every mode of a model, in a size that no tile divides.
class RenderModels : public ::testing::TestWithParam<Mode> {};

TEST_P(RenderModels, PicturesAreFiniteAndDoNotDependOnThreads) {
    RenderSettings wanted{
        .mode = GetParam(), .width = 61, .height = 37, .samples = 3, .threads = 1};
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        if (entry.path().extension() != ".obj") continue;
        const Sample sample = built(scenes::load(entry.path().string()));
        const kdtree::RayTree rays(sample.tree, sample.scene);
        const Camera camera = camera_of(sample.scene, rays, wanted.width, wanted.height);
        wanted.threads = 1;
        const Rendering one = picture(sample, camera, wanted);
        wanted.threads = 3;
        const Rendering three = picture(sample, camera, wanted);
        EXPECT_TRUE(same_bits(one.film, three.film)) << entry.path();
        ASSERT_EQ(one.rays.size(), three.rays.size());
        for (std::size_t i = 0; i < one.rays.size(); ++i) {
            EXPECT_EQ(one.rays[i].rays, three.rays[i].rays);
            EXPECT_GT(one.rays[i].rays_per_second(), 0);
        }
        EXPECT_EQ(one.rays[0].rays, 61U * 37 * 3);
        unsigned shown = 0;
        for (const Shade& pixel : one.film.pixels) {
            ASSERT_TRUE(std::isfinite(pixel.value.x + pixel.value.y + pixel.value.z));
            ASSERT_GE(pixel.weight, 0);
            ASSERT_LE(pixel.weight, 1);
            shown += pixel.weight > 0;
        }
        EXPECT_GT(shown, 61U * 37 / 50) << entry.path();
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, RenderModels,
                         ::testing::Values(Mode::shaded, Mode::normal, Mode::depth,
                                           Mode::ambient_occlusion, Mode::path, Mode::cost,
                                           Mode::leaf_size, Mode::leaf_depth, Mode::distance),
                         mode_name);

TEST(Render, ScaleOfTheSceneDoesNotMatter) {
    for (const float scale : {1e-15F, 1e15F}) {
        std::vector<vec3> corners = box({0, 0, 0}, {1, 1, 1});
        for (vec3& corner : corners) corner = corner * scale;
        const Sample sample = one_leaf(corners);
        const kdtree::RayTree rays(sample.tree, sample.scene);
        RenderSettings wanted{.mode = Mode::path, .width = 16, .height = 16, .samples = 4};
        const Camera camera = camera_of(sample.scene, rays, 16, 16);
        for (const Shade& pixel : picture(sample, camera, wanted).film.pixels) {
            ASSERT_TRUE(std::isfinite(pixel.value.x)) << scale;
            ASSERT_GT(pixel.value.x, 0) << scale;
        }
    }
}

}  // namespace
}  // namespace heapwood::app
