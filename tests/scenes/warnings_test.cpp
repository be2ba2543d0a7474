/// @file
/// What is said of scenes that can be read.
#include "scenes/warnings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/scenes/temp_folder.h"

namespace heapwood::scenes {
namespace {

std::vector<std::string> said(const std::string& text) {
    const TempFolder folder;
    const std::string path = folder.write("a.obj", text);
    std::vector<std::string> all = warnings(load(path));
    for (std::string& one : all) {
        EXPECT_TRUE(one.starts_with(path + ": ")) << one;
        one.erase(0, path.size() + 2);
    }
    return all;
}

TEST(Warnings, SayNothingOfSoundScenes) {
    for (const std::string name : {"gen:sphere:1000", "gen:stadium:1000", "gen:coincident:10"}) {
        EXPECT_TRUE(warnings(load(name)).empty()) << name;
    }
    EXPECT_TRUE(said("v 0 0 0\nv 1e-30 0 0\nv 0 1e-30 0\nf 1 2 3\n").empty());
    EXPECT_TRUE(said("v -3e38 0 0\nv 3e38 0 0\nv 0 3e38 0\nf 1 2 3\n").empty());
    EXPECT_TRUE(said("v 100 100 100\nv 101 100 100\nv 100 101 100\nf 1 2 3\n").empty());
    EXPECT_TRUE(said("v 9e9 0 0\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 2 3 4\n").empty()) << "unused vertex";
}

TEST(Warnings, SayHowMuchPrecisionIsLostFarFromTheOrigin) {
    const std::vector<std::string> lost = said(
        "v 512345.10 5431234.10 300\nv 512345.30 5431234.10 300\nv 512345.20 5431234.16 300.05\n"
        "f 1 2 3\n");
    ASSERT_EQ(lost.size(), 1u);
    EXPECT_EQ(lost.front(),
              "far from the origin for its size: single precision rounds its coordinates to "
              "multiples of 0.5, more than its size; move the scene to the origin before it is "
              "saved");
    const std::vector<std::string> coarse =
        said("v 450000 5500000 200\nv 451000 5500000 200\nv 450000 5500500 200\nf 1 2 3\n");
    ASSERT_EQ(coarse.size(), 1u);
    EXPECT_NE(coarse.front().find("multiples of 0.5, 0.05 % of its size"), std::string::npos);
}

TEST(Warnings, SayThatNoTriangleHasAnArea) {
    const std::string area =
        "all triangles have zero area, and no ray meets them; correct the vertices";
    EXPECT_EQ(said("v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\nf 1 1 2\n"), std::vector{area});
    EXPECT_EQ(said("v 0 0 0\nf 1 1 1\n"), std::vector{area});
    const std::vector<std::string> point = said("v 7 7 7\nv 7 7 7\nv 7 7 7\nf 1 2 3\n");
    ASSERT_EQ(point.size(), 2u);
    EXPECT_EQ(point.back(), area);
}

TEST(PrecisionLoss, IsThatOfTheLargestCoordinate) {
    EXPECT_EQ(spacing({{0, 0, 0}, {1, 1, 1}}), 0x1p-23);
    EXPECT_EQ(spacing({{-16777216, 0, 0}, {1, 1, 1}}), 2);
    EXPECT_EQ(spacing({{0, 0, 0}, {0, 0, 1e-45F}}), 0x1p-149);
    EXPECT_EQ(spacing({{0, 0, 0}, {0, 0, 3e38F}}), 0x1p104);
    EXPECT_EQ(precision_loss({{0, 0, 0}, {0, 0, 0}}), 0);
    EXPECT_EQ(precision_loss({{4, 0, 0}, {4.25F, 0, 0}}), 0x1p-19);
    EXPECT_TRUE(std::isinf(precision_loss({{7, 7, 7}, {7, 7, 7}})));
}

}  // namespace
}  // namespace heapwood::scenes
