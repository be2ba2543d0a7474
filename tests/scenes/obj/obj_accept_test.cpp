/// @file
/// What the OBJ loader must read, compared with triangles written down by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "scenes/scene.h"
#include "tests/scenes/temp_folder.h"

namespace heapwood::scenes {
namespace {

using Triangles = std::vector<glm::uvec3>;

const std::string kThree = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
const std::string kFive = kThree + "v 1 1 0\nv 2 2 2\n";

Scene load_text(const std::string& text) {
    const TempFolder folder;
    return load(folder.write("good.obj", text));
}

struct Good {
    const char* name;
    std::string text;
    Triangles triangles;
    std::size_t vertices = 3;
};

void PrintTo(const Good& good, std::ostream* out) {
    *out << good.name;
}

class ObjAccept : public testing::TestWithParam<Good> {};

TEST_P(ObjAccept, ReadsTheTriangles) {
    const Scene scene = load_text(GetParam().text);
    EXPECT_EQ(scene.triangles, GetParam().triangles);
    EXPECT_EQ(scene.positions.size(), GetParam().vertices);
    EXPECT_EQ(scene.positions.at(1), glm::vec3(1, 0, 0));
    EXPECT_EQ(scene.positions.at(2), glm::vec3(0, 1, 0));
}

INSTANTIATE_TEST_SUITE_P(
    Faces, ObjAccept,
    testing::Values(
        Good{"Triangle", kThree + "f 1 2 3\n", {{0, 1, 2}}},
        Good{"Quad", kFive + "f 1 2 4 3\n", {{0, 1, 3}, {0, 3, 2}}, 5},
        Good{"Pentagon", kFive + "f 5 4 3 2 1\n", {{4, 3, 2}, {4, 2, 1}, {4, 1, 0}}, 5},
        Good{"Negative", kThree + "f -3 -2 -1\n", {{0, 1, 2}}},
        Good{"NegativeCountsFromTheFace",
             kThree + "f -3 -2 -1\nv 5 5 5\nf -3 -2 -1\n",
             {{0, 1, 2}, {1, 2, 3}},
             4},
        Good{"BothSigns", kThree + "f 1 -2 +3\n", {{0, 1, 2}}},
        Good{"BeforeItsVertices", "f 3 2 1\n" + kThree, {{2, 1, 0}}},
        Good{"Texture", kThree + "vt 0 0\nf 1/1 2/1 3/1\n", {{0, 1, 2}}},
        Good{"Normal", kThree + "vn 0 0 1\nf 1//1 2//1 3//1\n", {{0, 1, 2}}},
        Good{"TextureAndNormal", kThree + "vt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1\n", {{0, 1, 2}}},
        Good{"NegativeTriples", kThree + "f -3/-1/-1 -2/-1/-1 -1/-1/-1\n", {{0, 1, 2}}},
        Good{"EmptyTextureAndNormal", kThree + "f 1/ 2// 3//\n", {{0, 1, 2}}},
        Good{"TextureIndicesAreNotLookedUp", kThree + "f 1/99 2/99 3/0\n", {{0, 1, 2}}},
        Good{"LeadingZeros", kThree + "f 001 000000000002 3\n", {{0, 1, 2}}},
        Good{"Obsolete", kThree + "fo 1 2 3\nfo 3//1 2//1 1//1\n", {{0, 1, 2}, {2, 1, 0}}},
        Good{"RepeatedVertex", kThree + "f 1 1 2\n", {{0, 0, 1}}},
        Good{"SameTriangleTwice", kThree + "f 1 2 3\nf 1 2 3\n", {{0, 1, 2}, {0, 1, 2}}}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Text, ObjAccept,
    testing::Values(
        Good{"Crlf", "# c\r\nv 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 3\r\n", {{0, 1, 2}}},
        Good{"Cr", "# c\rv 0 0 0\rv 1 0 0\rv 0 1 0\rf 1 2 3\r", {{0, 1, 2}}},
        Good{"MixedLineEnds", "v 0 0 0\r\nv 1 0 0\rv 0 1 0\nf 1 2 3\r\r\n", {{0, 1, 2}}},
        Good{"NoFinalNewline", kThree + "f 1 2 3", {{0, 1, 2}}},
        Good{"Tabs", "v\t0\t0 0\n\tv 1 0\t0\nv\t 0 1 0 \t\n \tf\t1 2\t3\t\n", {{0, 1, 2}}},
        Good{"ByteOrderMark", "\xEF\xBB\xBF" + kThree + "f 1 2 3\n", {{0, 1, 2}}},
        Good{"Comments", "# v 9 9 9\n" + kThree + "f 1 2 3 # 4\n#f 1 2 3\n", {{0, 1, 2}}},
        Good{"CommentBehindVertex", "v 0 0 0 # x\nv 1 0 0 #\nv 0 1 0 #5\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"Continued", kThree + "f 1 \\\n2 \\\n3\n", {{0, 1, 2}}},
        Good{"ContinuedCrlf", kThree + "f 1 2\\\r\n3\r\n", {{0, 1, 2}}},
        Good{"ContinuedVertex", "v 0 0 0\nv 1 \\\n0 0\nv 0 1 \\\n0\nf 1 2 3\n", {{0, 1, 2}}},
        Good{
            "ContinuedOverAnEmptyLine", "v 0 0 0\nv 1 0 \\\n\n 0\nv 0 1 0\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"ContinuedOverBlankLines",
             kThree + "f 1 \\\r\n\r\n \t\r\n2\\\n\n\n-1\r\n",
             {{0, 1, 2}}},
        Good{"ContinuedOverTheEnd", kThree + "f 1 2 3 \\\n\n \n", {{0, 1, 2}}},
        Good{
            "ContinuedByAComment", kThree + "f 1 2 3 \\\n\n# 4\nf 3 2 1\n", {{0, 1, 2}, {2, 1, 0}}},
        Good{"ContinuedByNothing", kThree + "f 1 2 3 \\\n\nf 3 2 1\n", {{0, 1, 2}, {2, 1, 0}}},
        Good{"ContinuedAtTheEnd", kThree + "f 1 2 3 \\", {{0, 1, 2}}},
        Good{"ContinuedOther", "g a \\\n f 1 2 3\n" + kThree + "f 1 2 3\n", {{0, 1, 2}}},
        Good{"BackslashAlone", "\\\n" + kThree + "\\\n\\\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"CommentIsNotContinued", "# C:\\models\\\n" + kThree + "f 1 2 3\n", {{0, 1, 2}}},
        Good{"Groups",
             "o a\ng\ng a b\ns off\ns 1\n" + kThree + "g empty\ng x\nf 1 2 3\ng\n",
             {{0, 1, 2}}},
        Good{"MissingMaterials",
             "mtllib no such.mtl\nusemtl x\n" + kThree + "usemtl\nf 1 2 3\n",
             {{0, 1, 2}}},
        Good{"LinesAndPoints", kThree + "l 1 2\np 1\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"CurvesAreLeftOut",
             kThree + "vp 0.5\ncstype bezier\ncurv 0 1 1 2\nend\nf 1 2 3\n",
             {{0, 1, 2}}},
        Good{"UnknownKeyword", "frob 1\n" + kThree + "f 1 2 3\n", {{0, 1, 2}}},
        Good{"Weight", "v 0 0 0 1\nv 1 0 0 1\nv 0 1 0 0.5\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"Colours", "v 0 0 0 1 0 0\nv 1 0 0 .5 .5 .5\nv 0 1 0 0 0 1 1\nf 1 2 3\n", {{0, 1, 2}}},
        Good{"ColoursThatAreNotFinite",
             "v 0 0 0 nan nan nan\nv 1 0 0 inf -Infinity 1e999\nv 0 1 0 1.#QNAN -nan(ind) 0 NaN\n"
             "f 1 2 3\n",
             {{0, 1, 2}}},
        Good{"WeightsThatAreNotFinite",
             "v 0 0 0 nan\nv 1 0 0 -inf\nv 0 1 0 1e9999999999\nf 1 2 3\n",
             {{0, 1, 2}}},
        Good{"OtherNumbersThatAreNotFinite",
             kThree + "vt nan inf\nvn nan nan nan\nvp inf\nparm u nan\nf 1/1/1 2/1/1 3/1/1\n",
             {{0, 1, 2}}},
        Good{"NumberForms",
             "v 0. +0 -.0\nv 1e0 0E5 0e-999\nv .0e+2 10.0e-1 0e00000000000000\nf 1 2 3\n",
             {{0, 1, 2}}},
        Good{"UnreferencedVertices", kFive + "f 1 2 3\n", {{0, 1, 2}}, 5},
        Good{"UnreferencedVerticesThatAreNotFinite",
             kThree + "v nan 0 0\nv 0 -inf 0\nv 0 0 1e999\nf 1 2 3\nv 1.#IND 0 0 1\n",
             {{0, 1, 2}},
             7}),
    [](const auto& test) { return test.param.name; });

TEST(ObjLoader, ReadsVerticesOfNoFaceAsFinite) {
    const Scene scene = load_text("v 9 nan 9\nv 1 1 1\nv 2 1 1\nv 1 2 1\nv 7 7 1e39\nf 2 3 4\n");
    EXPECT_EQ(scene.positions.front(), glm::vec3(0));
    EXPECT_EQ(scene.positions.back(), glm::vec3(0));
    EXPECT_EQ(scene.bounds.lo, glm::vec3(1));
    EXPECT_EQ(scene.bounds.hi, glm::vec3(2, 2, 1));
}

TEST(ObjLoader, ReadsNumbers) {
    const Scene scene =
        load_text("v -1.5 2.25e2 -3E-1\nv 16777217 0.1 3.4028235e38\nv 1e-45 1e-400 +7\nf 1 2 3\n");
    EXPECT_EQ(scene.positions[0], glm::vec3(-1.5f, 225.0f, -0.3f));
    EXPECT_EQ(scene.positions[1], glm::vec3(16777216.0f, 0.1f, 3.4028235e38f));
    EXPECT_EQ(scene.positions[2], glm::vec3(1e-45f, 0.0f, 7.0f));
}

TEST(ObjLoader, KeepsAndCountsTrianglesWithoutArea) {
    const Scene scene = load_text(kFive + "v 2 0 0\nf 1 2 3\nf 1 1 2\nf 1 2 6\nf 4 4 4\n");
    EXPECT_EQ(scene.triangles.size(), 4u);
    EXPECT_EQ(scene.degenerate, 3u);
}

TEST(ObjLoader, HasNoMinusZero) {
    const Scene scene = load_text("v -0 -0.0 -0e5\nv 1 0 -1e-60\nv 0 1 0\nf 1 2 3\n");
    for (const glm::vec3& p : scene.positions) {
        for (int axis = 0; axis != 3; ++axis) EXPECT_FALSE(std::signbit(p[axis]));
    }
}

TEST(ObjLoader, BoundsAreThoseOfTheFaces) {
    const Scene scene = load_text("v -9 -9 -9\nv 1 2 3\nv 4 0 3\nv 2 7 5\nv 99 9 9\nf 2 3 4\n");
    EXPECT_EQ(scene.bounds.lo, glm::vec3(1, 0, 3));
    EXPECT_EQ(scene.bounds.hi, glm::vec3(4, 7, 5));
}

TEST(ObjLoader, KeepsTheNameThatTheUserGave) {
    const TempFolder folder;
    const std::string path = folder.write("x.obj", kThree + "f 1 2 3\n");
    EXPECT_EQ(load(path).path, path);
}

TEST(ObjLoader, ReadsAPolygonLongerThanAnyBlock) {
    constexpr std::uint32_t kCorners = 200'000;
    std::string text, face = "f";
    for (std::uint32_t i = 0; i != kCorners; ++i) {
        text += "v " + std::to_string(i) + " 0 1\n";
        face += ' ';
        face += std::to_string(i + 1) + "//7";
    }
    const Scene scene = load_text(text + face + "\n");
    ASSERT_EQ(scene.triangles.size(), kCorners - 2);
    for (std::uint32_t i = 0; i != kCorners - 2; ++i) {
        ASSERT_EQ(scene.triangles[i], glm::uvec3(0, i + 1, i + 2));
    }
}

}  // namespace
}  // namespace heapwood::scenes
