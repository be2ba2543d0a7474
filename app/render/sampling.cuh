/// @file
/// Random numbers by pixel, sample and dimension, and directions from them: no state, the same bits
/// on every machine, from integers, + - * and sqrt.
#pragma once

#include <cstdint>

#include "app/render/vectors.cuh"

namespace heapwood::app {

/// Three numbers.
struct Random3 {
    std::uint32_t x;
    std::uint32_t y;
    std::uint32_t z;
};

/// The hash pcg3d of Jarzynski & Olano: "Hash Functions for GPU Rendering", JCGT 2020.
HEAPWOOD_INLINE Random3 random_of(std::uint32_t pixel, std::uint32_t sample,
                                  std::uint32_t dimension) {
    Random3 v{pixel * 1664525U + 1013904223U, sample * 1664525U + 1013904223U,
              dimension * 1664525U + 1013904223U};
    const auto mix = [&v] {
        v.x += v.y * v.z;
        v.y += v.z * v.x;
        v.z += v.x * v.y;
    };
    mix();
    v = {v.x ^ v.x >> 16, v.y ^ v.y >> 16, v.z ^ v.z >> 16};
    mix();
    return v;
}

/// From 0 to 1, 1 excluded, in steps of a float.
HEAPWOOD_INLINE float fraction(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) * 0x1p-24F;
}

/// A point of the unit square.
struct Point2 {
    float x;
    float y;
};

/// The numbers of a sample, two by two. The first four of all samples of a pixel are spread evenly:
/// they are multiples of powers of 1 / g, with g^5 = g + 1, which generalises the golden ratio,
/// from a random start in each pixel. All others are hashed.
class Sampler {
public:
    HEAPWOOD_INLINE Sampler(std::uint32_t seed, std::uint32_t pixel, std::uint32_t sample)
        : seed_(seed), pixel_(pixel), sample_(sample) {}

    /// For the place in the pixel.
    HEAPWOOD_INLINE Point2 place() const {
        const Random3 start = random_of(pixel_, seed_, 0);
        return {fraction(start.x + sample_ * 3679390609U),
                fraction(start.y + sample_ * 3152041523U)};
    }
    /// For the first direction.
    HEAPWOOD_INLINE Point2 direction() const {
        const Random3 start = random_of(pixel_, seed_, 1);
        return {fraction(start.x + sample_ * 2700274806U),
                fraction(start.y + sample_ * 2313257605U)};
    }
    /// For all else, by number, below 62.
    HEAPWOOD_INLINE Point2 other(std::uint32_t number) const {
        const Random3 r = random_of(pixel_, sample_, seed_ * 64 + number + 2);
        return {fraction(r.x), fraction(r.y)};
    }

private:
    std::uint32_t seed_;
    std::uint32_t pixel_;
    std::uint32_t sample_;
};

/// Takes the unit square to the unit disc so that areas keep their proportions, and neighbours stay
/// neighbours (Shirley & Chiu: "A Low Distortion Map Between Disk and Square", 1997). Sine and
/// cosine are polynomials, exact to 4e-7 for angles up to pi / 4.
HEAPWOOD_INLINE Point2 in_disc(const Point2& square) {
    const float a = 2 * square.x - 1;
    const float b = 2 * square.y - 1;
    const bool wide = a * a > b * b;
    const float radius = wide ? a : b;
    if (radius == 0) return {0, 0};
    const float angle = 0.785398163F * ((wide ? b : a) / radius);
    const float s = angle * angle;
    const float sine = angle * (1 - s * (1 / 6.0F - s * (1 / 120.0F - s * (1 / 5040.0F))));
    const float cosine =
        1 - s * (1 / 2.0F - s * (1 / 24.0F - s * (1 / 720.0F - s * (1 / 40320.0F))));
    return wide ? Point2{radius * cosine, radius * sine} : Point2{radius * sine, radius * cosine};
}

/// A direction above the plane z = 0, distributed by the cosine of its angle with the z axis.
HEAPWOOD_INLINE vec3 in_hemisphere(const Point2& square) {
    const Point2 p = in_disc(square);
    const float rest = 1 - (p.x * p.x + p.y * p.y);
    return {p.x, p.y, std::sqrt(rest > 0 ? rest : 0)};
}

/// A point of the unit sphere, each as likely as any other.
HEAPWOOD_INLINE vec3 on_sphere(const Point2& square) {
    const Point2 p = in_disc(square);
    const float s = p.x * p.x + p.y * p.y;
    const float rest = std::sqrt(s < 1 ? 1 - s : 0);
    return {2 * p.x * rest, 2 * p.y * rest, 1 - 2 * s};
}

}  // namespace heapwood::app
