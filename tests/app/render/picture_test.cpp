/// @file
/// From what pixels show to colours and files.
#include "app/render/pictures/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "app/base/exit_code.h"
#include "app/render/pictures/font.h"
#include "app/render/pictures/picture_file.h"
#include "tests/app/render/sample_pictures.h"

#if HEAPWOOD_HAS_PNG
#include <png.h>
#endif
#if HEAPWOOD_HAS_EXR
#include <ImfChannelList.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfInputFile.h>
#include <ImfStdIO.h>
#endif

namespace heapwood::app {
namespace {

TEST(Font, EveryLetterAndDigitHasAGlyphOfItsOwn) {
    std::set<Glyph> glyphs{glyph(' ')};
    for (const char c : std::string("0123456789abcdefghijklmnopqrstuvwxyz.+-")) {
        EXPECT_TRUE(glyphs.insert(glyph(c)).second) << c;
    }
}

/// The standard's formula.
double encoded(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
}

TEST(Colours, AreThoseOfTheStandard) {
    for (int i = 0; i <= 100000; ++i) {
        const float light = static_cast<float>(i) / 100000;
        const double exact = 255 * encoded(static_cast<double>(light));
        ASSERT_NEAR(srgb(light), exact, 0.5 + 1e-3) << light;
    }
    EXPECT_EQ(srgb(-1.0F), 0);
    EXPECT_EQ(srgb(7.0F), 255);
    EXPECT_EQ(srgb(std::nanf("")), 0);
    EXPECT_EQ(heat(0), (Colour{68, 1, 84}));
    EXPECT_EQ(heat(0.5F), (Colour{33, 145, 140}));
    EXPECT_EQ(heat(9), (Colour{253, 231, 37}));
}

/// A film with a number for each pixel.
Film film_of(unsigned width, unsigned height) {
    Film film{width, height, std::vector<Shade>(std::size_t{width} * height)};
    for (std::size_t i = 0; i < film.pixels.size(); ++i) {
        film.pixels[i] = {{static_cast<float>(i), 0.25F, 0.5F}, 1};
    }
    return film;
}

TEST(Picture, NumbersHaveAScale) {
    const Picture depth = picture_of(film_of(4, 2), Mode::depth);
    ASSERT_TRUE(depth.scale);
    EXPECT_EQ(depth.scale->least, 0);
    EXPECT_EQ(depth.scale->most, 7);
    EXPECT_EQ(depth.pixels.front(), (Colour{255, 255, 255})) << "near";
    EXPECT_LT(depth.pixels.back().red, 40) << "far";
    const Picture cost = picture_of(film_of(4, 2), Mode::cost);
    EXPECT_EQ(cost.scale->most, 7 + 1.5F * 0.5F);
    EXPECT_EQ(cost.pixels.back(), heat(1));
    EXPECT_FALSE(picture_of(film_of(4, 2), Mode::normal).scale);
    Film empty{2, 2, std::vector<Shade>(4)};
    EXPECT_EQ(picture_of(empty, Mode::depth).pixels[0], (Colour{0, 0, 0}));
}

TEST(Picture, ALegendIsThereIfThereIsRoom) {
    const auto white = [](const Picture& picture) {
        return std::count(picture.pixels.begin(), picture.pixels.end(), Colour{255, 255, 255});
    };
    EXPECT_EQ(white(picture_of(film_of(100, 50), Mode::cost)), 0);
    EXPECT_GT(white(picture_of(film_of(320, 180), Mode::cost)), 100);
    EXPECT_GT(white(picture_of(film_of(1280, 720), Mode::leaf_size)), 400);
}

TEST(PictureFile, EndingsSayTheFormat) {
    EXPECT_EQ(has_png(), HEAPWOOD_HAS_PNG != 0);
    EXPECT_EQ(has_exr(), HEAPWOOD_HAS_EXR != 0);
    for (const char* path : {"a", "a.jpg", "png", "a.png.txt", ""}) {
        EXPECT_THROW(picture_format(path), UsageError) << path;
    }
    if (has_png()) {
        EXPECT_EQ(picture_format("x.y/a.png"), PictureFormat::png);
    }
    if (has_exr()) {
        EXPECT_EQ(picture_format("a.exr"), PictureFormat::exr);
    }
}

#if HEAPWOOD_HAS_PNG
TEST(PictureFile, PngHasThePixels) {
    Picture picture{
        3, 2, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 20, 30}, {0, 0, 0}, {255, 0, 9}}, {}};
    const std::string bytes = png_file(picture);
    EXPECT_EQ(bytes, png_file(picture));
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    ASSERT_NE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()), 0);
    EXPECT_EQ(image.width, 3U);
    EXPECT_EQ(image.height, 2U);
    image.format = PNG_FORMAT_RGB;
    std::vector<Colour> pixels(6);
    ASSERT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
    EXPECT_EQ(pixels, picture.pixels);
}
#endif

#if HEAPWOOD_HAS_EXR
TEST(PictureFile, ExrHasTheNumbers) {
    const Film film = film_of(5, 3);
    const std::string bytes = exr_file(film, Mode::cost);
    EXPECT_EQ(bytes, exr_file(film, Mode::cost));
    Imf::StdISStream stream;
    stream.str(bytes);
    Imf::InputFile file(stream);
    std::vector<float> nodes(15);
    std::vector<float> tests(15);
    Imf::FrameBuffer pixels;
    const auto add = [&](const char* name, std::vector<float>& to) {
        ASSERT_NE(file.header().channels().findChannel(name), nullptr) << name;
        pixels.insert(name, Imf::Slice(Imf::FLOAT, reinterpret_cast<char*>(to.data()),
                                       sizeof(float), 5 * sizeof(float)));
    };
    add("nodes", nodes);
    add("tests", tests);
    file.setFrameBuffer(pixels);
    file.readPixels(0, 2);
    for (std::size_t i = 0; i < 15; ++i) {
        EXPECT_EQ(nodes[i], static_cast<float>(i));
        EXPECT_EQ(tests[i], 0.5F);
    }
}
#endif

}  // namespace
}  // namespace heapwood::app
