/// @file
/// What the OBJ loader must refuse, and that it says where and why.
#include <gtest/gtest.h>

#include <string>

#include "scenes/scene.h"
#include "tests/scenes/temp_folder.h"

namespace heapwood::scenes {
namespace {

/// Three good vertices; what follows is on line 4.
const std::string kThree = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
const std::string kGood = kThree + "f 1 2 3\n";  // what follows is on line 5

struct Bad {
    const char* name;
    std::string text;
    int line;  ///< that the message must name; 0: none
    std::string message;
};

void PrintTo(const Bad& bad, std::ostream* out) {
    *out << bad.name;
}

class ObjReject : public testing::TestWithParam<Bad> {};

TEST_P(ObjReject, SaysWhereAndWhy) {
    const Bad& bad = GetParam();
    const TempFolder folder;
    const std::string path = folder.write("bad.obj", bad.text);
    try {
        const Scene scene = load(path);
        FAIL() << "accepted, with " << scene.triangles.size() << " triangles";
    } catch (const SceneError& error) {
        const std::string what = error.what();
        const std::string place =
            path + ":" + (bad.line == 0 ? "" : std::to_string(bad.line) + ":");
        EXPECT_TRUE(what.starts_with(place + " ")) << what;
        EXPECT_NE(what.find(bad.message), std::string::npos) << what;
        for (const char c : what) EXPECT_TRUE(c >= ' ' && c != '\x7F') << "control character";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Files, ObjReject,
    testing::Values(Bad{"Empty", "", 0, "is empty"}, Bad{"BlankLines", "\n\n\n", 0, "no triangle"},
                    Bad{"OnlyVertices", kThree, 0, "no triangle, 3 vertices"},
                    Bad{"BinaryWithNul",
                        std::string("\x7F"
                                    "ELF\x02\x01\0\0\xFF\xFE\0",
                                    11),
                        1, "NUL byte"},
                    Bad{"NulInLaterLine", kGood + std::string("o a\0b\n", 6), 5, "NUL byte"},
                    Bad{"NulInComment", kGood + std::string("#\0\n", 3), 5, "NUL byte"},
                    Bad{"Utf16", std::string("\xFF\xFEv\0 \0", 6), 1, "UTF-16"},
                    Bad{"JunkWithoutNul", "\x89PNG\r\n\x1A\n\xC3\xA9\x80\xFF q w e\n", 0,
                        "is it a Wavefront OBJ?"},
                    Bad{"AnotherFormat", "solid cube\n facet normal 0 0 1\n", 0, "'solid'"},
                    Bad{"UpperCase", "V 0 0 0\nF 1 2 3\n", 0, "Line 1 begins with 'V'"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Vertices, ObjReject,
    testing::Values(
        Bad{"Nan", "v nan 0 0\nf 1 1 1\n", 1, "not finite"},
        Bad{"NanUpperCase", "v 0 NaN 0\nf 1 1 1\n", 1, "not finite"},
        Bad{"NanOfWindows", "v 0 0 -nan(ind)\nf 1 1 1\n", 1, "not finite"},
        Bad{"NanOfOldWindows", "v 0 0 1.#QNAN\nf 1 1 1\n", 1, "not finite"},
        Bad{"Inf", kGood + "v 0 inf 0\nf 4 2 1\n", 5, "not finite"},
        Bad{"MinusInfinity", kGood + "v 0 0 -Infinity\nf 1 2 -1\n", 5, "not finite"},
        Bad{"NanAfterItsFace", "f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 nan\n", 4, "not finite"},
        Bad{"NanInAPolygon", kThree + "v 1 nan 1\nf 1 2 3 4\n", 4,
            "vertex with 'nan', which is not finite; repair the mesh"},
        Bad{"TheFirstThatIsUsed", kThree + "v nan 0 0\nv 0 1e39 0\nv inf 0 0\nf 1 6 5\n", 5,
            "too large"},
        Bad{"WordForAWeight", kGood + "v 1 1 1 x\n", 5, "'x' is not a number"},
        Bad{"TwoVerticesInALine", "v 0 0 0 v 1 1 1\n", 1, "'v' is not a number"},
        Bad{"NanBeforeAColour", "v 1 1 nan nan 0 0\nf 1 1 1\n", 1, "not finite"},
        Bad{"FiveWithNan", "v 0 0 0 1 nan\n", 1, "vertex of 5 numbers"},
        Bad{"TooLarge", "v 1e999 0 0\nf 1 1 1\n", 1, "too large"},
        Bad{"TooLargeForSinglePrecision", "v 0 1e39 0\nf 1 1 1\n", 1, "too large"},
        Bad{"JustTooLarge", "v 0 0 3.4028236e38\nf 1 1 1\n", 1, "too large"},
        Bad{"TooLargeNegative", "v 0 0 -1e39\nf 1 1 1\n", 1, "too large"},
        Bad{"ExponentOfNineDigits", "v 1e999999999 0 0\nf 1 1 1\n", 1, "too large"},
        Bad{"ExponentBeyondInt", "v 1e2147483648 0 0\n", 1, "more than 9 digits"},
        Bad{"ExponentBelowInt", "v 1e-99999999999 0 0\n", 1, "more than 9 digits"},
        Bad{"TooLargeInDigits", "v " + std::string(400, '9') + " 0 0\nf 1 1 1\n", 1, "too large"},
        Bad{"Two", "v 0 0\n", 1, "vertex of 2 numbers"},
        Bad{"None", "v\n", 1, "vertex of 0 numbers"},
        Bad{"Five", "v 0 0 0 1 1\n", 1, "vertex of 5 numbers"},
        Bad{"Eight", "v 0 0 0 1 1 1 1 1\n", 1, "vertex of 8 numbers"},
        Bad{"TwoBeforeComment", "v 0 0 # 0\n", 1, "vertex of 2 numbers"},
        Bad{"Word", "v abc 0 0\n", 1, "'abc' is not a number"},
        Bad{"DecimalComma", "v 0,5 0 0\n", 1, "'0,5' is not a number"},
        Bad{"Hexadecimal", "v 0x10 0 0\n", 1, "not a number"},
        Bad{"NumberWithTail", "v 1.5f 0 0\n", 1, "not a number"},
        Bad{"SignOnly", "v - 0 0\n", 1, "not a number"},
        Bad{"TwoSigns", "v +-1 0 0\n", 1, "not a number"},
        Bad{"DotOnly", "v . 0 0\n", 1, "not a number"},
        Bad{"TwoDots", "v 1.2.3 0 0\n", 1, "not a number"},
        Bad{"EmptyExponent", "v 1e 0 0\n", 1, "not a number"},
        Bad{"SignedEmptyExponent", "v 1e+ 0 0\n", 1, "not a number"},
        Bad{"ExponentWithoutDigits", "v .e5 0 0\n", 1, "not a number"},
        Bad{"ControlCharacters", "v \x1B[31m\x07 0 0\n", 1, "not a number"},
        Bad{"LineCountsCommentsAndBlanks", "# a\n\n  \nv x 0 0\n", 4, "not a number"},
        Bad{"LineWithCrlf", "# a\r\n\r\nv x 0 0\r\n", 3, "not a number"},
        Bad{"LineWithCr", "# a\r\rv x 0 0\r", 3, "not a number"},
        Bad{"FirstLineOfContinued", "v 0 0 0\nv 1 \\\n 2 \\\n x\n", 2, "'x' is not a number"},
        Bad{"LineAfterContinued", "v 0 \\\n0 \\\n0\nv x 0 0\n", 4, "'x' is not a number"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Faces, ObjReject,
    testing::Values(
        Bad{"IndexZero", kThree + "f 0 1 2\n", 4, "face index 0"},
        Bad{"MinusZero", kThree + "f 1 2 -0\n", 4, "face index 0"},
        Bad{"TooHigh", kThree + "f 1 2 4\n", 4, "face index 4 is out of range; the file has 3"},
        Bad{"FarTooHigh", kGood + "f 1 2 99999\n", 5, "face index 99999 is out of range"},
        Bad{"TooLow", kThree + "f -1 -2 -4\n", 4, "face index -4 is out of range; only 3"},
        Bad{"FarTooLow", kThree + "f -1 -2 -2147483647\n", 4, "out of range"},
        Bad{"LowBeforeItsVertex", "v 0 0 0\nv 1 0 0\nf -1 -2 -3\nv 0 1 0\n", 3, "only 2 vertices"},
        Bad{"TwoToThe31", kThree + "f 1 2 2147483648\n", 4, "out of range"},
        Bad{"MinusTwoToThe31", kThree + "f 1 2 -2147483648\n", 4, "out of range"},
        Bad{"WrapsToOne", kThree + "f 1 2 4294967297\n", 4, "out of range"},
        Bad{"Beyond64Bits", kThree + "f 1 2 99999999999999999999999\n", 4, "out of range"},
        Bad{"NoVertexAtAll", "f 1 2 3\n", 1, "the file has 0 vertices"},
        Bad{"TwoVertices", kGood + "f 1 2\n", 5, "face of 2 vertices"},
        Bad{"OneVertex", kGood + "f 1/1/1\n", 5, "face of 1 vertices"},
        Bad{"NoVertices", kGood + "f\n", 5, "face of 0 vertices"},
        Bad{"NoVerticesButBlanks", kGood + "f \t\n", 5, "face of 0 vertices"},
        Bad{"TwoBeforeComment", kGood + "f 1 2 # 3\n", 5, "face of 2 vertices"},
        Bad{"Words", kThree + "f a b c\n", 4, "'a' is not a vertex of a face"},
        Bad{"Fraction", kThree + "f 1 2 3.5\n", 4, "'3.5' is not a vertex"},
        Bad{"SignOnly", kThree + "f 1 2 -\n", 4, "'-' is not a vertex"},
        Bad{"NoPosition", kThree + "f 1 2 /3\n", 4, "'/3' is not a vertex"},
        Bad{"FourParts", kThree + "f 1 2 3/1/1/1\n", 4, "is not a vertex"},
        Bad{"WordAsTexture", kThree + "f 1 2 3/x\n", 4, "'3/x' is not a vertex"},
        Bad{"WordAsNormal", kThree + "f 1 2 3//n\n", 4, "is not a vertex"},
        Bad{"BlankAfterSlash", kThree + "f 1/ /2 2/ /2 3/ /3\n", 4, "'/2' is not a vertex"},
        Bad{"ObsoleteKeyword", kThree + "fo 1 2\n", 4, "face of 2 vertices"}),
    [](const auto& test) { return test.param.name; });

std::string message_of(const std::string& name) {
    try {
        (void)load(name);
    } catch (const SceneError& error) {
        return error.what();
    }
    return "no error";
}

TEST(ObjRejectPath, NoName) {
    EXPECT_NE(message_of("").find("needs a name"), std::string::npos);
}

TEST(ObjRejectPath, MissingFile) {
    EXPECT_EQ(
        message_of("/no/such/file.obj"),
        "/no/such/file.obj: cannot be opened: No such file or directory; name a file that can be "
        "read");
}

TEST(ObjRejectPath, Directory) {
    const TempFolder folder;
    const std::string path = folder.path().string();
    EXPECT_EQ(message_of(path), path + ": is a directory; name a file in it");
}

TEST(ObjRejectPath, FileInsteadOfFolder) {
    const TempFolder folder;
    const std::string path = folder.write("a.obj", kGood) + "/b.obj";
    EXPECT_EQ(message_of(path),
              path + ": cannot be opened: Not a directory; name a file that can be read");
}

}  // namespace
}  // namespace heapwood::scenes
