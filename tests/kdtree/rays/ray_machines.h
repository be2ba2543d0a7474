/// @file
/// The ways to ask about rays, behind one interface, so that a test's body is written once.
///
/// A machine has `available()`, the `place()` where its trees lie, and `ask(tree, rays)`.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "kdtree/rays/ordered_hits.cuh"
#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/rays/traversal.cuh"

namespace heapwood::kdtree::tests {

using allocators::Buffer;
using allocators::Place;

/// All that can be asked about some rays, by ray.
struct Answers {
    std::vector<Hit> closest;
    std::vector<std::uint32_t> any;
    std::vector<std::uint32_t> counts;
    std::vector<std::vector<Hit>> all;

    explicit Answers(std::size_t rays) : closest(rays), any(rays), counts(rays), all(rays) {}
};

/// One ray at a time, in the test's thread.
struct HostThread {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        Answers answers(rays.size());
        for (std::size_t i = 0; i < rays.size(); ++i) {
            answers.closest[i] = closest_hit(tree.view(), rays[i]);
            answers.any[i] = any_hit(tree.view(), rays[i]) ? 1U : 0U;
            answers.counts[i] = OrderedHits(tree.view(), rays[i]).count();
            OrderedHits hits(tree.view(), rays[i]);
            for (Hit hit{}; hits.next(hit);) answers.all[i].push_back(hit);
        }
        return answers;
    }
};

template <class T>
std::vector<T> contents(const Buffer& buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    buffer.read(0, values.data(), buffer.size());
    return values;
}

/// Room for `count` of T where the tree lies, filled with 0xAB.
template <class T>
Buffer made(const RayTree& tree, std::size_t count) {
    Buffer buffer(tree.place(), count * sizeof(T));
    buffer.fill(0, 0xAB, buffer.size());
    return buffer;
}

/// A copy where the tree lies.
template <class T>
Buffer copied(const RayTree& tree, const std::vector<T>& values) {
    Buffer there(tree.place(), values.size() * sizeof(T));
    there.write(0, values.data(), there.size());
    return there;
}

/// Divides hits by the rays that they are of.
template <class HitAt>
void divide(const std::vector<std::uint64_t>& offsets, const HitAt& hit_at, Answers& answers) {
    for (std::size_t i = 0; i < answers.all.size(); ++i) {
        for (std::uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
            answers.all[i].push_back(hit_at(k));
        }
    }
}

/// A batch, on the machine where the tree lies.
inline Answers ask_batch(const RayTree& tree, const std::vector<Ray>& rays,
                         const BatchOptions& options) {
    const std::size_t n = rays.size();
    const Buffer there = copied(tree, rays);
    const Buffer closest = made<Hit>(tree, n);
    const Buffer any = made<std::uint32_t>(tree, n);
    const Buffer counts = made<std::uint32_t>(tree, n);
    closest_hits(tree, there.as<Ray>(), n, closest.as<Hit>(), options);
    any_hits(tree, there.as<Ray>(), n, any.as<std::uint32_t>(), options);
    count_hits(tree, there.as<Ray>(), n, counts.as<std::uint32_t>(), options);
    const HitLists lists = all_hits(tree, there.as<Ray>(), n, options);

    Answers answers(n);
    answers.closest = contents<Hit>(closest);
    answers.any = contents<std::uint32_t>(any);
    answers.counts = contents<std::uint32_t>(counts);
    const auto hits = contents<Hit>(lists.hits);
    divide(
        contents<std::uint64_t>(lists.offsets), [&](std::uint64_t k) { return hits[k]; }, answers);
    return answers;
}

/// Hits in arrays, where the tree lies.
struct HitBuffers {
    Buffer t;
    Buffer triangles;
    Buffer barycentrics;

    HitBuffers(const RayTree& tree, std::size_t hits)
        : t(made<float>(tree, hits)),
          triangles(made<std::uint32_t>(tree, hits)),
          barycentrics(made<float>(tree, 2 * hits)) {}

    HitArrays arrays() const {
        return {t.as<float>(), triangles.as<std::uint32_t>(), barycentrics.as<float>()};
    }
    std::vector<Hit> hits() const {
        const auto distance = contents<float>(t);
        const auto number = contents<std::uint32_t>(triangles);
        const auto uv = contents<float>(barycentrics);
        std::vector<Hit> hits;
        for (std::size_t i = 0; i < distance.size(); ++i) {
            hits.push_back({distance[i], number[i], uv[2 * i], uv[2 * i + 1]});
        }
        return hits;
    }
};

/// The same batch, of arrays: origins lie by components, directions in rows with gaps, t_min in
/// every second number and t_max in one after another. What a miss leaves is checked, too.
inline Answers ask_arrays(const RayTree& tree, const std::vector<Ray>& rays,
                          const BatchOptions& options) {
    constexpr std::size_t kGap = 5;
    const std::size_t n = rays.size();
    std::vector<float> origins(3 * n);
    std::vector<float> directions(kGap * n);
    std::vector<float> t_min(2 * n);
    std::vector<float> t_max(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (unsigned k = 0; k < 3; ++k) {
            origins[k * n + i] = component(rays[i].origin, k);
            directions[kGap * i + k] = component(rays[i].direction, k);
        }
        t_min[2 * i] = rays[i].t_min;
        t_max[i] = rays[i].t_max;
    }
    const Buffer origins_there = copied(tree, origins);
    const Buffer directions_there = copied(tree, directions);
    const Buffer t_min_there = copied(tree, t_min);
    const Buffer t_max_there = copied(tree, t_max);
    const RayArrays arrays{.origins = {origins_there.as<float>(), 1, static_cast<std::int64_t>(n)},
                           .directions = {directions_there.as<float>(), kGap},
                           .count = n,
                           .t_min = {t_min_there.as<float>(), 2},
                           .t_max = {t_max_there.as<float>()}};
    const HitBuffers closest(tree, n);
    const Buffer any = made<bool>(tree, n);
    const Buffer counts = made<std::uint32_t>(tree, n);
    const Buffer offsets = made<std::uint64_t>(tree, n + 1);
    closest_hits(tree, arrays, closest.arrays(), options);
    any_hits(tree, arrays, any.as<bool>(), options);
    count_hits(tree, arrays, counts.as<std::uint32_t>(), options);
    const std::uint64_t total =
        offsets_of(tree, counts.as<std::uint32_t>(), n, offsets.as<std::uint64_t>(), options);
    const HitBuffers all(tree, total);
    list_hits(tree, arrays, offsets.as<std::uint64_t>(), all.arrays(), options);
    wait(tree, options);

    Answers answers(n);
    answers.closest = closest.hits();
    for (const Hit& hit : answers.closest) {
        EXPECT_TRUE(hit.found() || (hit.t == kEndless && hit.u == 0 && hit.v == 0));
    }
    const auto found = contents<std::uint8_t>(any);
    answers.any.assign(found.begin(), found.end());
    answers.counts = contents<std::uint32_t>(counts);
    const std::vector<Hit> hits = all.hits();
    divide(
        contents<std::uint64_t>(offsets), [&](std::uint64_t k) { return hits[k]; }, answers);
    return answers;
}

/// Batches on the threads of this machine.
struct HostBatch {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        return ask_batch(tree, rays, {.threads = 3});
    }
};

/// The same, of arrays.
struct HostArrays {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        return ask_arrays(tree, rays, {.threads = 3});
    }
};

/// Rays in a row, said to take similar ways: sorted, so that neighbours go into similar directions,
/// and each direction's last ray repeated, so that all are in whole packets.
struct HostCoherentBatch {
    static bool available() { return true; }
    static Place place() { return Place::host; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        std::vector<std::vector<std::size_t>> ways(24);
        for (std::size_t i = 0; i < rays.size(); ++i) ways[way(rays[i].direction)].push_back(i);
        std::vector<std::size_t> order;
        for (std::vector<std::size_t>& some : ways) {
            while (some.size() % 8 != 0) some.push_back(some.back());
            order.insert(order.end(), some.begin(), some.end());
        }
        std::vector<Ray> sorted;
        for (const std::size_t i : order) sorted.push_back(rays[i]);
        const Answers found = ask_batch(tree, sorted, {.coherent = true, .threads = 3});
        Answers answers(rays.size());
        for (std::size_t k = 0; k < order.size(); ++k) {
            answers.closest[order[k]] = found.closest[k];
            answers.any[order[k]] = found.any[k];
            answers.counts[order[k]] = found.counts[k];
            answers.all[order[k]] = found.all[k];
        }
        return answers;
    }

private:
    /// By the longest axis and the signs: 0 to 23.
    static std::size_t way(const glm::vec3& d) {
        const glm::vec3 size{std::abs(d.x), std::abs(d.y), std::abs(d.z)};
        const int longest = size.x >= size.y   ? (size.x >= size.z ? 0 : 2)
                            : size.y >= size.z ? 1
                                               : 2;
        return 8 * longest + 4 * (d.x < 0) + 2 * (d.y < 0) + (d.z < 0);
    }
};

}  // namespace heapwood::kdtree::tests
