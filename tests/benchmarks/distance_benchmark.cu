/// @file
/// Times nearest triangles of many points on a GPU, in the tree's place:
///     heapwood_distance_benchmark SCENE...
/// prints for each scene millions of points a second, by medians of 21 batches of 2,097,152 points
/// each: all of a nearest point (distance, triangle, barycentrics, point), and the distance alone.
/// The points are those of `heapwood trace`, in random order, and the centers of 128^3 cells of the
/// scene's box, in the order of the cells.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <vector>

#include "allocators/platform/cuda_runtime.h"
#include "app/measure/rays/rays.h"
#include "kdtree/distance/distance_batch.h"
#include "kdtree/levels/level_builder.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;

constexpr unsigned kSide = 128;  ///< cells along each axis
constexpr std::uint64_t kPoints = std::uint64_t{kSide} * kSide * kSide;

std::vector<vec3> grid_points(const scenes::Bounds& box) {
    const vec3 cell = (box.hi - box.lo) / static_cast<float>(kSide);
    std::vector<vec3> points;
    for (std::uint64_t i = 0; i < kPoints; ++i) {
        const vec3 number{i % kSide, i / kSide % kSide, i / kSide / kSide};
        points.push_back(box.lo + cell * (number + 0.5F));
    }
    return points;
}

/// Millions of points a second.
template <class Work>
double rate(const Work& work) {
    constexpr unsigned kTimes = 21;
    work();  // warms up
    std::vector<double> ms;
    for (unsigned i = 0; i < kTimes; ++i) {
        platform::CudaEvent begin;
        platform::CudaEvent end;
        begin.record();
        work();
        end.record();
        ms.push_back(end.since(begin, "measuring"));
    }
    std::nth_element(ms.begin(), ms.begin() + kTimes / 2, ms.end());
    return static_cast<double>(kPoints) / 1000 / ms[kTimes / 2];
}

void measure(const kdtree::RayTree& tree, const char* kind, const std::vector<vec3>& points) {
    Buffer there(Place::device, points.size() * sizeof(vec3));
    there.write(0, points.data(), there.size());
    const auto room = [](std::uint64_t numbers) {
        return Buffer(Place::device, kPoints * numbers * sizeof(float));
    };
    const Buffer distances = room(1);
    const Buffer triangles = room(1);
    const Buffer barycentrics = room(2);
    const Buffer nearest = room(3);
    const auto ask = [&](const kdtree::NearestArrays& to) {
        return rate([&] {
            closest_points(tree, {there.as<float>()}, kPoints,
                           {.value = std::numeric_limits<float>::infinity()}, to);
        });
    };
    const double all = ask({distances.as<float>(), triangles.as<std::uint32_t>(),
                            barycentrics.as<float>(), nearest.as<float>()});
    const double alone = ask({.distances = distances.as<float>()});
    std::printf("  %-14s %10.1f M/s, distance alone %10.1f M/s\n", kind, all, alone);
}

void measure(const char* path) {
    const scenes::Scene scene = scenes::load(path);
    const kdtree::RayTree tree(kdtree::build_by_levels_on_cpu(scene, {}, {}).tree, scene,
                               Place::device);
    std::printf("%s: %zu triangles\n", path, scene.triangles.size());
    for (const RaySet& set : random_points(scene, kPoints, 1)) {
        std::vector<vec3> points;
        for (const kdtree::Ray& ray : set.rays) points.push_back(ray.origin);
        measure(tree, set.kind.data(), points);
    }
    measure(tree, "grid", grid_points(scene.bounds));
}

}  // namespace
}  // namespace heapwood::app

int main(int argc, char** argv) {
    try {
        for (int i = 1; i < argc; ++i) heapwood::app::measure(argv[i]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
