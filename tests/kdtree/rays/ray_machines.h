/// @file
/// The ways to ask about rays, behind one interface, so that a test's body is written once.
///
/// A machine has `available()`, the `place()` where its trees lie, and `ask(tree, rays)`.
#pragma once

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

/// A batch, on the machine where the tree lies. Results are filled with 0xAB before.
inline Answers ask_batch(const RayTree& tree, const std::vector<Ray>& rays,
                         const BatchOptions& options) {
    const std::size_t n = rays.size();
    const auto made = [&](std::size_t bytes) {
        Buffer buffer(tree.place(), bytes);
        buffer.fill(0, 0xAB, bytes);
        return buffer;
    };
    Buffer there(tree.place(), n * sizeof(Ray));
    there.write(0, rays.data(), there.size());
    const Buffer closest = made(n * sizeof(Hit));
    const Buffer any = made(n * sizeof(std::uint32_t));
    const Buffer counts = made(n * sizeof(std::uint32_t));
    closest_hits(tree, there.as<Ray>(), n, closest.as<Hit>(), options);
    any_hits(tree, there.as<Ray>(), n, any.as<std::uint32_t>(), options);
    count_hits(tree, there.as<Ray>(), n, counts.as<std::uint32_t>(), options);
    const HitLists lists = all_hits(tree, there.as<Ray>(), n, options);

    Answers answers(n);
    answers.closest = contents<Hit>(closest);
    answers.any = contents<std::uint32_t>(any);
    answers.counts = contents<std::uint32_t>(counts);
    const auto offsets = contents<std::uint64_t>(lists.offsets);
    const auto hits = contents<Hit>(lists.hits);
    for (std::size_t i = 0; i < n; ++i) {
        answers.all[i].assign(hits.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                              hits.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
    }
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

/// The same, said to take similar ways: sorted, so that neighbours go into similar directions, and
/// each direction's last ray repeated, so that all are in whole packets.
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
