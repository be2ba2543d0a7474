#include "app/render/pictures/picture.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "app/base/text.h"
#include "app/render/pictures/font.h"

namespace heapwood::app {
namespace {

/// The number that a pixel shows.
float number_of(const Shade& shade, Mode mode) {
    return mode == Mode::cost ? shade.value.x + kTestCost * shade.value.z : shade.value.x;
}

float brightness_of(const Shade& shade) {
    return shade.value.x * 0.2126F + shade.value.y * 0.7152F + shade.value.z * 0.0722F;
}

/// What `part` of the pixels that show anything have at most; nothing if there are none.
template <class Of>
std::optional<float> quantile(const Film& film, double part, const Of& of) {
    std::vector<float> values;
    for (const Shade& shade : film.pixels) {
        if (shade.weight > 0) values.push_back(of(shade));
    }
    if (values.empty()) return std::nullopt;
    const auto rank =
        static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1)) - 1;
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

std::optional<ColourScale> scale_of(const Film& film, Mode mode) {
    const ModeFacts& facts = facts_of(mode);
    if (facts.scale == nullptr) return std::nullopt;
    const auto of = [mode](const Shade& shade) { return number_of(shade, mode); };
    const float least = facts.from_zero ? 0 : quantile(film, 0, of).value_or(0);
    return ColourScale{facts.scale, least, quantile(film, 0.999, of).value_or(least)};
}

/// Where a number lies on the scale, from 0 to 1.
float place_of(float number, const ColourScale& scale) {
    const float width = scale.most - scale.least;
    return width > 0 ? std::clamp((number - scale.least) / width, 0.0F, 1.0F) : 0;
}

Colour scale_colour(float place, Mode mode) {
    if (mode != Mode::depth) return heat(place);
    const std::uint8_t grey = part_of_255(1 - 0.9F * place);
    return {grey, grey, grey};
}

/// Light that is brighter than white fades into it.
float toned(float light) {
    constexpr float kWhite = 4;
    return light * (1 + light / (kWhite * kWhite)) / (1 + light);
}

/// A pixel that some samples miss lets the background through.
class Painter {
public:
    Painter(const Film& film, Mode mode, const std::optional<ColourScale>& scale)
        : mode_(mode), scale_(scale) {
        if (mode != Mode::path) return;
        const float middle = quantile(film, 0.5, brightness_of).value_or(1);
        exposure_ = middle > 0 ? 0.4F / middle : 1;
    }

    Colour operator()(const Shade& shade) const {
        const vec3& v = shade.value;
        const float rest = 1 - shade.weight;
        switch (mode_) {
            case Mode::path:
                return srgb(
                    {toned(v.x * exposure_), toned(v.y * exposure_), toned(v.z * exposure_)});
            case Mode::shaded:
                return srgb(v * shade.weight + vec3{1, 1, 1} * (0.85F * rest));
            case Mode::ambient_occlusion:
                return srgb(v * shade.weight + vec3{1, 1, 1} * (0.25F * rest));
            case Mode::normal: {
                const vec3 half = (v + vec3{1, 1, 1}) * (0.5F * shade.weight);
                return {part_of_255(half.x), part_of_255(half.y), part_of_255(half.z)};
            }
            default:
                if (!(shade.weight > 0)) return {0, 0, 0};
                return scale_colour(place_of(number_of(shade, mode_), *scale_), mode_);
        }
    }

private:
    Mode mode_;
    const std::optional<ColourScale>& scale_;
    float exposure_ = 1;
};

/// The legend: a bar with the scale's title above and its ends below.
class Legend {
public:
    Legend(Picture& picture, Mode mode)
        : picture_(picture), mode_(mode), zoom_(std::max(1U, picture.height / 360)) {}

    void draw() {
        constexpr unsigned kLength = 120;
        constexpr unsigned kHeight = 3 * (kGlyphHeight + 4);
        if (picture_.width < (kLength + 20) * zoom_ || picture_.height < (kHeight + 20) * zoom_) {
            return;
        }
        const unsigned top = picture_.height / zoom_ - kHeight - 6;
        for (unsigned y = 0; y < kHeight + 2; ++y) {
            for (unsigned x = 0; x < kLength + 8; ++x) paint(x + 2, top + y, {0, 0, 0});
        }
        write(6, top + 3, picture_.scale->title);
        for (unsigned x = 0; x < kLength; ++x) {
            const float place = (static_cast<float>(x) + 0.5F) / kLength;
            for (unsigned y = 0; y < 8; ++y) {
                paint(x + 6, top + 13 + y, scale_colour(place, mode_));
            }
        }
        const std::string most = number(picture_.scale->most);
        write(6, top + 24, number(picture_.scale->least));
        write(6 + kLength - width_of(most), top + 24, most);
    }

private:
    static std::string number(float value) {
        const auto shown = static_cast<double>(value);
        if (shown >= 100) return fixed(shown, 0);
        return shortest(rounded(shown, shown >= 1 ? 1 : 4));
    }
    void write(unsigned x, unsigned y, std::string_view text) {
        for (const char c : text) {
            for (unsigned row = 0; row < kGlyphHeight; ++row) {
                for (unsigned column = 0; column < kGlyphWidth; ++column) {
                    const bool ink = (glyph(c)[row] >> (kGlyphWidth - 1 - column) & 1) != 0;
                    if (ink) paint(x + column, y + row, {255, 255, 255});
                }
            }
            x += kGlyphWidth + 1;
        }
    }
    void paint(unsigned x, unsigned y, const Colour& colour) {
        for (unsigned j = 0; j < zoom_; ++j) {
            for (unsigned i = 0; i < zoom_; ++i) {
                picture_.pixels[std::size_t{y * zoom_ + j} * picture_.width + x * zoom_ + i] =
                    colour;
            }
        }
    }

    Picture& picture_;
    Mode mode_;
    unsigned zoom_;  ///< pixels of the picture for one of a letter
};

}  // namespace

MeanEffort mean_effort(const Film& film) {
    MeanEffort sum;
    for (const Shade& shade : film.pixels) {
        sum.nodes += double{shade.value.x};
        sum.leaves += double{shade.value.y};
        sum.tests += double{shade.value.z};
    }
    const auto pixels = static_cast<double>(film.pixels.size());
    return {sum.nodes / pixels, sum.leaves / pixels, sum.tests / pixels};
}

Picture picture_of(const Film& film, Mode mode) {
    Picture picture{film.width, film.height, {}, scale_of(film, mode)};
    const Painter painter(film, mode, picture.scale);
    picture.pixels.reserve(film.pixels.size());
    for (const Shade& shade : film.pixels) picture.pixels.push_back(painter(shade));
    if (picture.scale) Legend(picture, mode).draw();
    return picture;
}

}  // namespace heapwood::app
