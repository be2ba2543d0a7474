/// @file
/// Rays of the kinds that renderers trace, through whole trees: none misses a hit.
///
/// HEAPWOOD_TEST_RAYS is how many rays there are of each kind (default: 16,384),
/// HEAPWOOD_TEST_SCENES the scenes that are compared with Embree, as for `heapwood build`, with
/// blanks between.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <glm/geometric.hpp>
#include <sstream>

#include "app/backends/backend.h"
#include "app/measure/builds/turn.h"
#include "app/measure/rays/embree.h"
#include "app/measure/rays/ray_batch_run.h"
#include "app/measure/rays/ray_run.h"
#include "app/measure/rays/rays.h"
#include "kdtree/levels/level_builder.h"
#include "kdtree/rays/ray_batch.h"
#include "tests/kdtree/brute_force.h"
#include "tests/kdtree/distance/distance_oracle.h"
#include "tests/seed.h"

namespace heapwood::app {
namespace {

using kdtree::Hit;
using kdtree::Ray;

std::uint64_t wanted_rays() {
    const char* wanted = std::getenv("HEAPWOOD_TEST_RAYS");
    return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 16384;
}

std::vector<std::string> wanted_scenes() {
    const char* wanted = std::getenv("HEAPWOOD_TEST_SCENES");
    std::istringstream words(wanted != nullptr ? wanted : "gen:city:20000 gen:hair:20000");
    return {std::istream_iterator<std::string>(words), {}};
}

/// Rays of one kind, and what the library says of each.
struct Traced {
    std::string kind;
    std::vector<Ray> rays;
    std::vector<Hit> hits;
};

bool same_bits(const Hit& a, const Hit& b) {
    if (!a.found() || !b.found()) return a.found() == b.found();
    return a.triangle == b.triangle && a.t == b.t && a.u == b.u && a.v == b.v;
}

/// The first hits, found to be the same whatever is said of the rays, and whatever is asked.
std::vector<Hit> traced(const kdtree::RayTree& tree, const std::vector<Ray>& rays) {
    std::vector<Hit> hits(rays.size());
    std::vector<Hit> coherent(rays.size());
    kdtree::closest_hits(tree, rays.data(), rays.size(), hits.data());
    kdtree::closest_hits(tree, rays.data(), rays.size(), coherent.data(), {.coherent = true});
    EXPECT_TRUE(std::ranges::equal(hits, coherent, same_bits));
    for (const bool alike : {false, true}) {
        std::vector<std::uint32_t> any(rays.size());
        kdtree::any_hits(tree, rays.data(), rays.size(), any.data(), {.coherent = alike});
        EXPECT_TRUE(std::ranges::equal(hits, any, [](const Hit& hit, std::uint32_t found) {
            return found == (hit.found() ? 1 : 0);
        }));
    }
    return hits;
}

/// At least `count` rays of every kind through a tree of the scene.
std::vector<Traced> every_kind(const scenes::Scene& scene, std::uint64_t count) {
    const kdtree::BuildResult built = kdtree::build_by_levels_on_cpu(scene, {}, {});
    EXPECT_EQ(built.status, kdtree::Status::done) << built.message;
    const kdtree::RayTree tree(built.tree, scene);
    const std::uint64_t seed = heapwood::tests::test_seed();
    const Camera camera = camera_of(scene, [&](std::span<const Ray> rays, Hit* hits) {
        kdtree::closest_hits(tree, rays.data(), rays.size(), hits);
    });
    const double side = std::ceil(std::sqrt(static_cast<double>(count)) / 32);
    std::vector<Traced> all;
    const auto add = [&](RaySet&& set) {
        std::vector<Hit> hits = traced(tree, set.rays);
        all.push_back({std::string(set.kind), std::move(set.rays), std::move(hits)});
    };
    add(random_rays(scene, count, seed));
    add(primary_rays(camera, 32 * static_cast<unsigned>(side)));
    const Traced primary = all.back();
    for (RaySet& set : secondary_rays(scene, camera, primary.rays, primary.hits, seed)) {
        add(std::move(set));
    }
    return all;
}

struct Corners {
    glm::vec3 a;
    glm::vec3 b;
    glm::vec3 c;
};

Corners corners_of(const scenes::Scene& scene, std::uint32_t triangle) {
    const glm::uvec3 t = scene.triangles[triangle];
    return {scene.positions[t.x], scene.positions[t.y], scene.positions[t.z]};
}

/// What double precision says of one triangle.
Hit hit_of(const scenes::Scene& scene, const Ray& ray, std::uint32_t triangle) {
    const Corners k = corners_of(scene, triangle);
    Hit hit{};
    if (kdtree::tests::DoubleTriangleTest(ray)(k.a, k.b, k.c, hit)) hit.triangle = triangle;
    return hit;
}

/// How far two roundings of a t may be from each other. Embree divides n * (a - o) by n * d, where
/// n is the triangle's normal, from differences to the origin o. These are off by 2^-24 of the
/// reach, the largest distance from the origin to a corner, so n by that times the longest edge,
/// and t by the reach times that over n * d. Our own t is off by 2^-20 of the reach where the ray
/// is at right angles to the triangle. Hence 32 times 2^-24.
double rounding(const scenes::Scene& scene, const Ray& ray, std::uint32_t triangle) {
    const Corners k = corners_of(scene, triangle);
    const glm::dvec3 origin(ray.origin);
    const glm::dvec3 a = glm::dvec3(k.a) - origin;
    const glm::dvec3 b = glm::dvec3(k.b) - origin;
    const glm::dvec3 c = glm::dvec3(k.c) - origin;
    const double reach = std::max({glm::length(a), glm::length(b), glm::length(c)});
    const double edge = std::max({glm::length(b - a), glm::length(c - a), glm::length(c - b)});
    const glm::dvec3 normal = glm::cross(b - a, c - a);
    const double slope = std::abs(glm::dot(normal, glm::dvec3(ray.direction)));
    return 32 * 0x1p-24 * reach * (reach * edge + glm::length(normal)) / slope;
}

/// Calls check(ray, hit) for all rays on all cores; it returns whether all is well.
template <class Check>
void expect_of_all(const scenes::Scene& scene, const Traced& some, const Check& check) {
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> one{0};
    platform::for_chunks(some.rays.size(), 256, 0, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            if (check(some.rays[i], some.hits[i])) continue;
            ++wrong;
            one = i;
        }
    });
    EXPECT_EQ(wrong, 0U) << some.kind << " rays in " << scene.path << ", one of them ray " << one;
}

TEST(RaysOfEveryKind, MeetWhatBruteForceFinds) {
    for (const char* name : {"gen:city:120", "gen:sphere:100", "gen:slivers:80"}) {
        const scenes::Scene scene = scenes::load(name);
        for (const Traced& some : every_kind(scene, wanted_rays())) {
            expect_of_all(scene, some, [&](const Ray& ray, const Hit& hit) {
                return same_bits(hit, kdtree::tests::closest_hit_by_force(scene, ray));
            });
        }
    }
}

TEST(RaysOfEveryKind, MeetWhatEmbreeFinds) {
    if (!Embree::exists()) GTEST_SKIP() << "no Embree";
    for (const std::string& name : wanted_scenes()) {
        const scenes::Scene scene = scenes::load(name);
        const Embree embree(scene, 0);
        for (const Traced& some : every_kind(scene, wanted_rays())) {
            std::atomic<std::uint64_t> both{0};
            std::atomic<std::uint64_t> ours_alone{0};
            std::atomic<std::uint64_t> theirs_alone{0};
            expect_of_all(scene, some, [&](const Ray& ray, const Hit& ours) {
                const Hit theirs = embree.first_hit(ray);
                if (ours.found() && !same_bits(ours, hit_of(scene, ray, ours.triangle)))
                    return false;
                if (!theirs.found()) {
                    ours_alone += ours.found() ? 1 : 0;
                    return true;
                }
                const Hit exact = hit_of(scene, ray, theirs.triangle);
                if (!exact.found()) {
                    // Just beside the triangle, or just beyond the ray's end.
                    theirs_alone += ours.found() ? 0 : 1;
                    return true;
                }
                ++both;
                return ours.found() && ours.t <= exact.t &&
                       std::abs(double{exact.t} - double{theirs.t}) <=
                           rounding(scene, ray, theirs.triangle);
            });
            std::cout << name << ", " << some.kind << ": " << some.rays.size() << " rays, " << both
                      << " hits of both, " << ours_alone << " of ours alone, " << theirs_alone
                      << " of Embree alone" << std::endl;
            EXPECT_GT(both, 0U);
            EXPECT_LE(ours_alone + theirs_alone, 1 + some.rays.size() / 1000);
        }
    }
}

TEST(PointsOfBothKinds, HaveTheNearestOfAllTriangles) {
    const std::uint64_t seed = heapwood::tests::test_seed();
    for (const char* name : {"gen:city:120", "gen:sphere:100", "gen:slivers:80"}) {
        const scenes::Scene scene = scenes::load(name);
        const kdtree::RayTree tree(kdtree::build_by_levels_on_cpu(scene, {}, {}).tree, scene);
        const std::vector<RaySet> sets = random_points(scene, 1000, seed);
        ASSERT_EQ(sets.size(), 2U);
        const float size = length_of(scene);
        std::vector<float> farthest;
        for (const RaySet& set : sets) {
            ASSERT_EQ(set.rays.size(), 1000U);
            const RayBatchRun batch(tree, set.rays, Asked::nearest, {});
            batch.trace();
            const RayBatchRun::Found found = batch.found();
            EXPECT_EQ(found.hits, 1000U);
            ASSERT_EQ(found.words.size(), 4000U);
            farthest.push_back(0);
            for (std::size_t i = 0; i < 1000; ++i) {
                const vec3 p = set.rays[i].origin;
                const auto distance = std::bit_cast<float>(found.words[4 * i + 1]);
                const kdtree::tests::Exact exact(p);
                const auto nearest = kdtree::tests::distance_by_force(scene, exact);
                const auto told = kdtree::tests::distance_by_force(
                    kdtree::tests::corners_of(scene, found.words[4 * i]), exact);
                ASSERT_LE(std::abs(distance - nearest), 1e-6L * size) << name << " " << i;
                ASSERT_LE(std::abs(distance - told), 1e-6L * size) << name << " " << i;
                farthest.back() = std::max(farthest.back(), distance);
                if (set.kind == "uniform") {
                    EXPECT_TRUE(is_inside(scene.bounds, p));
                }
            }
        }
        EXPECT_GT(farthest[0], 0.02F * size) << name;
        EXPECT_LT(farthest[1], 0.00174F * size) << name;  // a thousandth, times the root of 3
        EXPECT_GT(farthest[1], 0.0005F * size) << name;
        EXPECT_NE(random_points(scene, 1000, seed + 1)[0].rays[5].origin, sets[0].rays[5].origin);
    }
}

/// On the CPU here, as on a GPU.
TEST(RayBench, TreesInPlaceHaveTheAnswersOfTheHosts) {
    const scenes::Scene scene = scenes::load("gen:city:500");
    MeasureOptions measure;
    measure.run.repeat = 3;
    measure.run.warm_up = 1;
    measure.run.pool_bytes = 16U << 20;
    const Backend& backend = *find_backend("atomicmalloc", false);
    RayBench bench(scene, {.rays = 2000}, measure.run, false);
    std::vector<TracedTree> traced;
    for (const char* name : {"first", "second"}) {
        TracedTree tree{.name = name, .preset = "default", .build = {}, .times = {}};
        kdtree::Tree built;
        tree.build = take_turn(backend, {scene, measure, &built});
        bench.trace_once(built, tree, traced);
        bench.trace_in_place(backend, measure, tree, traced);
        ASSERT_TRUE(tree.in_place) << name;
        for (const auto* samples :
             {&tree.in_place->build_ms, &tree.in_place->layout_ms, &tree.in_place->first_rays_ms}) {
            EXPECT_EQ(samples->size(), 3U);
            for (const double ms : *samples) EXPECT_GE(ms, 0);
        }
        EXPECT_GT(tree.in_place->bytes, 0U);
        ASSERT_EQ(tree.in_place->times.size(), tree.times.size());
        for (std::size_t i = 0; i < tree.times.size(); ++i) {
            const RayTimes& there = tree.in_place->times[i];
            EXPECT_EQ(there.kind, tree.times[i].kind);
            EXPECT_EQ(there.asked, tree.times[i].asked);
            EXPECT_EQ(there.hits, tree.times[i].hits);
            EXPECT_EQ(there.digest, tree.times[i].digest) << there.kind;
            EXPECT_EQ(there.samples.size(), 3U);
        }
        traced.push_back(std::move(tree));
    }
    EXPECT_EQ(traced[1].in_place->times[0].samples, traced[0].in_place->times[0].samples)
        << "equal trees are traced once";
}

/// A frame of such magnitudes cannot be built in place.
TEST(RayBench, WhatCannotBeBuiltInPlaceIsLeftOut) {
    scenes::Scene scene;
    scene.positions = {{0, 0, 0}, {1e30F, 0, 0}, {0, 1e-44F, 0}};
    scene.triangles = {{0, 1, 2}};
    scenes::finish(scene);
    MeasureOptions measure;
    measure.run.repeat = 1;
    measure.run.pool_bytes = 16U << 20;
    const Backend& backend = *find_backend("atomicmalloc", false);
    RayBench bench(scene, {.rays = 1000}, measure.run, false);
    TracedTree tree{.name = "a", .preset = "default", .build = {}, .times = {}};
    kdtree::Tree built;
    tree.build = take_turn(backend, {scene, measure, &built});
    bench.trace_once(built, tree, {});
    bench.trace_in_place(backend, measure, tree, {});
    EXPECT_EQ(tree.build.outcome, Outcome::done);
    EXPECT_EQ(tree.times.size(), 8U);
    EXPECT_FALSE(tree.in_place);
}

/// The devices are all the CPU here.
TEST(RayBench, SharedRaysHaveTheSameAnswers) {
    const scenes::Scene scene = scenes::load("gen:city:500");
    const kdtree::BuildResult built = kdtree::build_by_levels_on_cpu(scene, {}, {});
    const auto trace = [&](std::vector<std::uint32_t> devices) {
        TracedTree traced;
        RunOptions run;
        run.repeat = 2;
        RayBench bench(scene, {.rays = 2000, .devices = std::move(devices)}, run, false);
        bench.trace(built.tree, traced);
        return traced;
    };
    const TracedTree alone = trace({});
    for (const auto& devices : {std::vector{4U}, std::vector{4U, 2U, 9U}}) {
        const TracedTree shared = trace(devices);
        EXPECT_EQ(shared.bytes, devices.size() * alone.bytes);
        ASSERT_EQ(shared.times.size(), 8U);
        for (std::size_t i = 0; i < shared.times.size(); ++i) {
            const RayTimes& times = shared.times[i];
            EXPECT_EQ(times.rays, alone.times[i].rays);
            EXPECT_EQ(times.hits, alone.times[i].hits);
            EXPECT_EQ(times.digest, alone.times[i].digest) << times.kind;
            EXPECT_TRUE(times.digest);
            EXPECT_EQ(times.samples.size(), 2U);
            EXPECT_TRUE(alone.times[i].devices.empty());
            ASSERT_EQ(times.devices.size(), devices.size());
            std::uint64_t rays = 0;
            for (std::size_t k = 0; k < devices.size(); ++k) {
                EXPECT_EQ(times.devices[k].device, devices[k]);
                EXPECT_EQ(times.devices[k].samples.size(), 2U);
                rays += times.devices[k].rays;
            }
            EXPECT_EQ(rays, times.rays);
        }
    }
}

}  // namespace
}  // namespace heapwood::app
