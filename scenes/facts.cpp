#include "scenes/facts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "allocators/platform/for_chunks.h"
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

/// Items of a list that a thread takes at a time.
constexpr std::uint64_t kChunk = std::uint64_t{1} << 16;

/// add(result, result of a chunk) for all chunks of `count` items, in their order; of(begin, end)
/// makes a chunk's. All cores share them.
template <class Result, class Of, class Add>
Result join_chunks(std::uint64_t count, const Of& of, const Add& add) {
    std::vector<Result> chunks(count / kChunk + 1);
    platform::for_chunks(count, kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
        chunks[begin / kChunk] = of(begin, end);
    });
    Result all{};
    for (const Result& chunk : chunks) add(all, chunk);
    return all;
}

/// The exponent of the lowest bit of a float that is not 0.
int lowest_exponent(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t fraction = bits & 0x7FFFFF;
    const int exponent = static_cast<int>(bits >> 23 & 0xFF);
    const std::uint32_t mantissa = exponent == 0 ? fraction : fraction | 0x800000;
    return std::max(exponent, 1) - 150 + std::countr_zero(mantissa);
}

Magnitudes magnitudes_of_some(std::span<const glm::vec3> positions) {
    constexpr int kNone = std::numeric_limits<int>::max();
    int lowest = kNone;
    Magnitudes some;
    for (const glm::vec3& p : positions) {
        for (const float x : {p.x, p.y, p.z}) {
            if (x == 0) continue;
            lowest = std::min(lowest, lowest_exponent(x));
            some.largest = std::max(some.largest, std::abs(x));
        }
    }
    if (lowest != kNone) some.grain = std::ldexp(1.0F, lowest);
    return some;
}

/// The hash of a list, and how many items it has.
struct ListHash {
    std::uint64_t value = 0;
    std::uint64_t items = 0;

    void append(const ListHash& next) {
        value = value * power(next.items) + next.value;
        items += next.items;
    }
};

ListHash hash_of_some(const Scene& scene, std::uint64_t begin, std::uint64_t end) {
    ListHash list{.items = end - begin};
    for (std::uint64_t i = begin; i < end; ++i) {
        const glm::uvec3& t = scene.triangles[i];
        Fnv corners;
        for (const std::uint32_t corner : {t.x, t.y, t.z}) {
            const glm::vec3& p = scene.positions[corner];
            for (const float x : {p.x, p.y, p.z}) corners.add(std::bit_cast<std::uint32_t>(x));
        }
        list.value = list.value * kBase + corners.value();
    }
    return list;
}

}  // namespace

void Magnitudes::add(const Magnitudes& other) {
    grain = std::min(grain, other.grain);
    largest = std::max(largest, other.largest);
}

Magnitudes magnitudes(std::span<const glm::vec3> positions) {
    return join_chunks<Magnitudes>(
        positions.size(),
        [&](std::uint64_t begin, std::uint64_t end) {
            return magnitudes_of_some(positions.subspan(begin, end - begin));
        },
        [](Magnitudes& all, const Magnitudes& some) { all.add(some); });
}

void SceneFacts::append(const SceneFacts& next) {
    if (next.triangles > 0) {
        if (triangles == 0) bounds = next.bounds;
        for (int axis = 0; axis < 3; ++axis) {
            bounds.lo[axis] = std::min(bounds.lo[axis], next.bounds.lo[axis]);
            bounds.hi[axis] = std::max(bounds.hi[axis], next.bounds.hi[axis]);
        }
    }
    ListHash list{.value = hash, .items = triangles};
    list.append({.value = next.hash, .items = next.triangles});
    hash = list.value;
    triangles = list.items;
    degenerate += next.degenerate;
    overlapping += next.overlapping;
    magnitudes.add(next.magnitudes);
}

SceneFacts facts_of(const Scene& scene) {
    const auto list = join_chunks<ListHash>(
        scene.triangles.size(),
        [&](std::uint64_t begin, std::uint64_t end) { return hash_of_some(scene, begin, end); },
        [](ListHash& all, const ListHash& some) { all.append(some); });
    return {.triangles = scene.triangles.size(),
            .degenerate = scene.degenerate,
            .overlapping = scene.overlapping,
            .bounds = scene.bounds,
            .magnitudes = magnitudes(scene.positions),
            .hash = list.value};
}

}  // namespace heapwood::scenes
