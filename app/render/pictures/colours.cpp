#include "app/render/pictures/colours.h"

#include <algorithm>
#include <array>

namespace heapwood::app {
namespace {

double twelfth_power(double v) {
    const double cube = v * v * v;
    const double sixth = cube * cube;
    return sixth * sixth;
}

/// Step i of sRGB begins at light of which the fifth power is this: a curve of exponent 2.4 = 12 /
/// 5 needs no other power.
std::array<double, 256> steps() {
    std::array<double, 256> begins{};
    for (std::size_t i = 1; i < begins.size(); ++i) {
        const double encoded = (static_cast<double>(i) - 0.5) / 255;
        begins[i] = twelfth_power((encoded + 0.055) / 1.055);
    }
    return begins;
}

}  // namespace

std::uint8_t part_of_255(float part) {
    if (!(part > 0)) return 0;
    return static_cast<std::uint8_t>(std::min(part, 1.0F) * 255 + 0.5F);
}

std::uint8_t srgb(float light) {
    if (!(light > 0.0031308F)) return part_of_255(light * 12.92F);
    static const std::array<double, 256> begins = steps();
    const double v = std::min(light, 1.0F);
    const double fifth = v * v * v * v * v;
    return static_cast<std::uint8_t>(std::upper_bound(begins.begin(), begins.end(), fifth) -
                                     begins.begin() - 1);
}

Colour heat(float part) {
    static constexpr Colour kColours[] = {{68, 1, 84},    {71, 45, 123},  {59, 82, 139},
                                          {44, 114, 142}, {33, 145, 140}, {40, 174, 128},
                                          {94, 201, 98},  {173, 220, 48}, {253, 231, 37}};
    const float place = std::clamp(part, 0.0F, 1.0F) * 8;
    const auto first = std::min(7U, static_cast<unsigned>(place));
    const float rest = place - static_cast<float>(first);
    const auto between = [rest](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(static_cast<float>(a) * (1 - rest) +
                                         static_cast<float>(b) * rest + 0.5F);
    };
    const Colour& a = kColours[first];
    const Colour& b = kColours[first + 1];
    return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

}  // namespace heapwood::app
