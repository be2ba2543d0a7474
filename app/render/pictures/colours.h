/// @file
/// From what pixels show to colours of 8 bits. Multiplications and additions alone: no machine's
/// library of mathematics has a part in a picture's bits.
#pragma once

#include <cstdint>

#include "app/render/vectors.cuh"

namespace heapwood::app {

/// A colour as PNG has it.
struct Colour {
    std::uint8_t red;
    std::uint8_t green;
    std::uint8_t blue;

    bool operator==(const Colour&) const = default;
};

/// A part of 255, rounded; below 0 and above 1 cut off.
std::uint8_t part_of_255(float part);

/// Light to the nearest of the 256 steps of sRGB (IEC 61966-2-1). 1 is white.
std::uint8_t srgb(float light);
inline Colour srgb(const vec3& light) {
    return {srgb(light.x), srgb(light.y), srgb(light.z)};
}

/// From 0 (dark blue) to 1 (yellow), each step as different from the next as any other to the eye:
/// nine colours of Viridis (S. van der Walt, N. Smith; public domain), and between them lines.
Colour heat(float part);

}  // namespace heapwood::app
