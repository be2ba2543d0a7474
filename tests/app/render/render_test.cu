/// @file
/// A GPU's pictures are the CPU's, byte by byte.
#include <gtest/gtest.h>

#include "allocators/platform/device.h"
#include "app/render/pictures/picture.h"
#include "tests/app/render/sample_pictures.h"

namespace heapwood::app {
namespace {

class RenderOnGpu : public ::testing::TestWithParam<Mode> {};

TEST_P(RenderOnGpu, PicturesAreTheCpus) {
    if (!platform::device_available()) GTEST_SKIP() << platform::device_absence();
    const RenderSettings wanted{.mode = GetParam(), .width = 333, .height = 217, .samples = 5};
    for (const char* name : {"gen:sphere:20000", "gen:city:20000", "gen:hair:5000",
                             "gen:stadium:10000", "gen:slivers:3000"}) {
        const Sample sample = built(scenes::load(name));
        const kdtree::RayTree rays(sample.tree, sample.scene);
        const Camera camera = camera_of(sample.scene, rays, wanted.width, wanted.height);
        const Rendering here = picture(sample, camera, wanted);
        const Rendering there = picture(sample, camera, wanted, allocators::Place::device);
        EXPECT_TRUE(same_bits(here.film, there.film)) << name;
        EXPECT_EQ(picture_of(here.film, wanted.mode).pixels,
                  picture_of(there.film, wanted.mode).pixels)
            << name;
        ASSERT_EQ(here.rays.size(), there.rays.size());
        for (std::size_t i = 0; i < here.rays.size(); ++i) {
            EXPECT_EQ(here.rays[i].rays, there.rays[i].rays) << name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, RenderOnGpu,
                         ::testing::Values(Mode::shaded, Mode::normal, Mode::depth,
                                           Mode::ambient_occlusion, Mode::path, Mode::cost,
                                           Mode::leaf_size, Mode::leaf_depth, Mode::distance),
                         mode_name);

}  // namespace
}  // namespace heapwood::app
