#include "scenes/facts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "scenes/digest.h"

namespace heapwood::scenes {
namespace {

/// The hash of a list is a polynomial of it whose coefficients are the hashes of its items, so that
/// the hashes of two lists give that of both together.
constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15U;

std::uint64_t power(std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (std::uint64_t base = kBase; exponent != 0; exponent /= 2, base *= base) {
        if (exponent % 2 != 0) result *= base;
    }
    return result;
}

/// The value of the lowest bit of a float that is not 0.
float grain_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t fraction = bits & 0x7FFFFF;
    const int exponent = static_cast<int>(bits >> 23 & 0xFF);
    const std::uint32_t mantissa = exponent == 0 ? fraction : fraction | 0x800000;
    return std::ldexp(1.0F, std::max(exponent, 1) - 150 + std::countr_zero(mantissa));
}

}  // namespace

void Magnitudes::add(const Magnitudes& other) {
    grain = std::min(grain, other.grain);
    largest = std::max(largest, other.largest);
}

Magnitudes magnitudes(std::span<const glm::vec3> positions) {
    Magnitudes all;
    for (const glm::vec3& p : positions) {
        for (const float x : {p.x, p.y, p.z}) {
            if (x != 0) all.add({.grain = grain_of(x), .largest = std::abs(x)});
        }
    }
    return all;
}

void SceneFacts::append(const SceneFacts& next) {
    if (next.triangles > 0) {
        if (triangles == 0) bounds = next.bounds;
        for (int axis = 0; axis < 3; ++axis) {
            bounds.lo[axis] = std::min(bounds.lo[axis], next.bounds.lo[axis]);
            bounds.hi[axis] = std::max(bounds.hi[axis], next.bounds.hi[axis]);
        }
    }
    triangles += next.triangles;
    degenerate += next.degenerate;
    overlapping += next.overlapping;
    magnitudes.add(next.magnitudes);
    hash = hash * power(next.triangles) + next.hash;
}

SceneFacts facts_of(const Scene& scene) {
    SceneFacts facts{.triangles = scene.triangles.size(),
                     .degenerate = scene.degenerate,
                     .overlapping = scene.overlapping,
                     .bounds = scene.bounds,
                     .magnitudes = magnitudes(scene.positions)};
    for (const glm::uvec3& t : scene.triangles) {
        Fnv corners;
        for (const std::uint32_t corner : {t.x, t.y, t.z}) {
            const glm::vec3& p = scene.positions[corner];
            for (const float x : {p.x, p.y, p.z}) corners.add(std::bit_cast<std::uint32_t>(x));
        }
        facts.hash = facts.hash * kBase + corners.value();
    }
    return facts;
}

}  // namespace heapwood::scenes
