/// @file
/// Host benchmarks of the builder: its parts on random nodes, whole builds, and builds of
/// frame after frame.
///
///     build/cpu/tests/benchmarks/heapwood_benchmarks --benchmark_filter=build
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "allocators/circular.cuh"
#include "kdtree/builder.h"
#include "kdtree/tree/quality.h"
#include "kdtree/tree/verify.h"
#include "scenes/generators.h"

namespace heapwood::kdtree {
namespace {

using platform::SerialWarp;

/// The default configuration's for the unit cube.
constexpr CostModel kModel{.traversal = 1,
                           .intersection = 1.5F,
                           .empty_traversal = 0.8F,
                           .empty_intersection = 1.2F,
                           .empty_must_pay = true,
                           .scale = 1};
constexpr Box kCell{{0, 0, 0}, {1, 1, 1}};
const BinGrid kGrid = BinGrid::of(BuildConfig{}.planes);

/// Small triangles all over the unit cube, the same in every run.
std::vector<Triangle> random_triangles(std::size_t n) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> place(0, 0.75F);
    std::uniform_real_distribution<float> offset(0, 0.25F);
    std::vector<Triangle> triangles(n);
    for (Triangle& t : triangles) {
        const glm::vec3 corner(place(random), place(random), place(random));
        for (glm::vec3* p : {&t.a, &t.b, &t.c}) {
            *p = corner + glm::vec3(offset(random), offset(random), offset(random));
        }
    }
    return triangles;
}

std::vector<Reference> references_of(const std::vector<Triangle>& triangles) {
    std::vector<Reference> references;
    for (const Triangle& t : triangles) {
        references.push_back(whole_reference(t, static_cast<std::uint32_t>(references.size())));
    }
    return references;
}

std::vector<Reference> random_references(const benchmark::State& state) {
    return references_of(random_triangles(static_cast<std::size_t>(state.range(0))));
}

/// Cuts 1000 triangles in turn, each in the middle of its box along x.
void clip_triangle(benchmark::State& state) {
    const std::vector<Triangle> triangles = random_triangles(1000);
    const std::vector<Reference> references = references_of(triangles);
    std::size_t i = 0;
    for (auto _ : state) {
        const Reference& r = references[i];
        Box below;
        Box above;
        clip(triangles[i], {r.lo, r.hi}, 0, 0.5F * (r.lo.x + r.hi.x), below, above);
        benchmark::DoNotOptimize(below);
        benchmark::DoNotOptimize(above);
        i = i + 1 < triangles.size() ? i + 1 : 0;
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(clip_triangle);

/// Everything that a thread does to find the split of a node of state.range(0) references.
void exact_split_search(benchmark::State& state) {
    const std::vector<Reference> references = random_references(state);
    const auto n = static_cast<std::uint32_t>(references.size());
    SerialExactSearch search;
    for (auto _ : state) {
        search.count(references.data(), n);
        benchmark::DoNotOptimize(search.best(SerialWarp{}, kCell, n, kModel));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(exact_split_search)->Arg(5)->Arg(8)->Arg(16)->Arg(32)->Arg(64);

/// Counts references in the bins of the unit cube.
void count_references(benchmark::State& state) {
    const std::vector<Reference> references = random_references(state);
    const BinFrame frame = BinFrame::of(kCell, kGrid);
    Bins bins;
    clear_bins(SerialWarp{}, bins);
    for (auto _ : state) {
        GrowingBox around;
        bin_serially(references.data(), static_cast<std::uint32_t>(references.size()), bins, frame,
                     around);
        benchmark::DoNotOptimize(around);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(count_references)->Arg(64)->Arg(1024);

/// Finds the best of the bins' planes.
void binned_split_search(benchmark::State& state) {
    const std::vector<Reference> references = references_of(random_triangles(1000));
    const auto n = static_cast<std::uint32_t>(references.size());
    const BinFrame frame = BinFrame::of(kCell, kGrid);
    Bins bins;
    clear_bins(SerialWarp{}, bins);
    GrowingBox around;
    bin_serially(references.data(), n, bins, frame, around);
    for (auto _ : state) {
        benchmark::DoNotOptimize(
            split_binned_serially(bins, frame, kGrid, kCell, {around.lo, around.hi}, n, kModel));
    }
}
BENCHMARK(binned_split_search);

/// Sorts a node's references by the side of a plane in its middle.
void sort_by_side(benchmark::State& state) {
    const std::vector<Reference> references = random_references(state);
    for (auto _ : state) {
        benchmark::DoNotOptimize(SerialSides(references.data(),
                                             static_cast<std::uint32_t>(references.size()), 0, 0.5F,
                                             Side::right));
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(sort_by_side)->Arg(8)->Arg(SerialSides::kMost);

/// A builder of scenes of so many triangles, with a pool of 200 times the root's array.
template <class A>
Builder<A, CpuMachine> builder_of(std::uint64_t triangles, unsigned threads) {
    return {CpuMachine(threads), triangles, {}, {.pool_bytes = 200 * root_array_bytes(triangles)}};
}

/// A scene, to be built over and over.
template <class A>
class Builds {
public:
    Builds(const std::string& generator, std::int64_t triangles, unsigned threads)
        : scene_(scenes::generate({generator, static_cast<std::uint64_t>(triangles)})),
          builder_(builder_of<A>(scene_.triangles.size(), threads)) {}

    /// One build. @return its milliseconds, or a negative number if it failed.
    double build() { return builder_.rebuild(scene_) ? builder_.result().build_ms : -1; }
    /// The last build's tree in canonical form.
    Tree tree() const { return builder_.tree(); }
    const scenes::Scene& scene() const { return scene_; }

private:
    scenes::Scene scene_;
    Builder<A, CpuMachine> builder_;
};

/// T_build of a scene of state.range(0) triangles with state.range(1) threads.
template <class A>
void build(benchmark::State& state, const char* generator) {
    Builds<A> builds(generator, state.range(0), static_cast<unsigned>(state.range(1)));
    builds.build();  // touches the memory
    for (auto _ : state) {
        const double ms = builds.build();
        if (ms < 0) {
            state.SkipWithError("the build failed");
            break;
        }
        state.SetIterationTime(ms / 1000);
    }
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
template <class A>
void build_sphere(benchmark::State& state) {
    build<A>(state, "sphere");
}
template <class A>
void build_soup(benchmark::State& state) {
    build<A>(state, "soup");
}
void sizes_and_threads(benchmark::internal::Benchmark* b) {
    b->ArgNames({"triangles", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond);
    for (const std::int64_t threads : {1, 2, 4, 8}) b->Args({100'000, threads});
    b->Args({1'000, 1})->Args({10'000, 1});
}
BENCHMARK_TEMPLATE(build_sphere, allocators::AtomicMalloc)->Apply(sizes_and_threads);
BENCHMARK_TEMPLATE(build_sphere, allocators::CMalloc)->Apply(sizes_and_threads);
BENCHMARK_TEMPLATE(build_soup, allocators::AtomicMalloc)->Apply(sizes_and_threads);

/// Ten frames of a sphere whose surface waves.
std::vector<scenes::Scene> waving_sphere(std::int64_t triangles) {
    constexpr int kFrames = 10;
    const scenes::Scene still = scenes::generate({"sphere", static_cast<std::uint64_t>(triangles)});
    std::vector<scenes::Scene> frames(kFrames, still);
    for (int i = 0; i < kFrames; ++i) {
        const float phase = 6.2831853F * static_cast<float>(i) / kFrames;
        for (glm::vec3& p : frames[i].positions) p.y += 0.05F * std::sin(4 * p.x + phase);
        finish(frames[i]);
    }
    return frames;
}

/// Times `tree(frame)` of frame after frame, all of it: from a frame to its finished tree in place.
template <class MakeTree>
void time_frames(benchmark::State& state, const std::vector<scenes::Scene>& frames,
                 const MakeTree& make_tree) {
    std::size_t i = 0;
    for (auto _ : state) {
        if (!make_tree(frames[i])) state.SkipWithError("the build failed");
        i = (i + 1) % frames.size();
    }
    state.SetItemsProcessed(state.iterations());
}

/// Frames a second with a new builder for each.
template <class A>
void build_frames_anew(benchmark::State& state) {
    time_frames(state, waving_sphere(state.range(0)), [](const scenes::Scene& frame) {
        return builder_of<A>(frame.triangles.size(), 1).rebuild(frame);
    });
}
/// With one builder for all, whose frames come from a scene, or are read in place.
template <class A>
void rebuild_scenes(benchmark::State& state) {
    const std::vector<scenes::Scene> frames = waving_sphere(state.range(0));
    auto builder = builder_of<A>(frames[0].triangles.size(), 1);
    builder.rebuild(frames[0]);  // touches the memory
    time_frames(state, frames, [&](const scenes::Scene& frame) { return builder.rebuild(frame); });
}
template <class A>
void rebuild_in_place(benchmark::State& state) {
    const std::vector<scenes::Scene> frames = waving_sphere(state.range(0));
    auto builder = builder_of<A>(frames[0].triangles.size(), 1);
    builder.rebuild(frames[0]);
    time_frames(state, frames, [&](const scenes::Scene& frame) {
        return builder.rebuild(
            Frame{.positions = frame.positions.data(),
                  .position_count = static_cast<std::uint32_t>(frame.positions.size()),
                  .triangles = frame.triangles.data(),
                  .triangle_count = static_cast<std::uint32_t>(frame.triangles.size()),
                  .bounds = frame.bounds});
    });
}
void frame_sizes(benchmark::internal::Benchmark* b) {
    b->ArgName("triangles")->Unit(benchmark::kMillisecond)->UseRealTime();
    b->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000);
}
BENCHMARK_TEMPLATE(build_frames_anew, allocators::AtomicMalloc)->Apply(frame_sizes);
BENCHMARK_TEMPLATE(rebuild_scenes, allocators::AtomicMalloc)->Apply(frame_sizes);
BENCHMARK_TEMPLATE(rebuild_in_place, allocators::AtomicMalloc)->Apply(frame_sizes);
BENCHMARK_TEMPLATE(build_frames_anew, allocators::CMalloc)->Apply(frame_sizes);
BENCHMARK_TEMPLATE(rebuild_in_place, allocators::CMalloc)->Apply(frame_sizes);

/// What follows a build, by its name: times `use` of a finished tree.
template <class Use>
void after_build(benchmark::State& state, Use use) {
    Builds<allocators::AtomicMalloc> builds("sphere", state.range(0), 1);
    if (builds.build() < 0) {
        state.SkipWithError("the build failed");
        return;
    }
    const Tree tree = builds.tree();
    for (auto _ : state) use(builds, tree);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
using SphereBuilds = Builds<allocators::AtomicMalloc>;

void make_canonical(benchmark::State& state) {
    after_build(state, [](const SphereBuilds& builds, const Tree&) {
        benchmark::DoNotOptimize(builds.tree());
    });
}
void compute_digest(benchmark::State& state) {
    after_build(state, [](const SphereBuilds&, const Tree& tree) {
        benchmark::DoNotOptimize(digest(tree));
    });
}
void measure_quality(benchmark::State& state) {
    after_build(state, [](const SphereBuilds& builds, const Tree& tree) {
        benchmark::DoNotOptimize(quality(tree, builds.scene().triangles.size()));
    });
}
void verify_tree(benchmark::State& state) {
    after_build(state, [&state](const SphereBuilds& builds, const Tree& tree) {
        const std::uint64_t n = builds.scene().triangles.size();
        if (verify(builds.scene(), tree, max_depth(BuildConfig{}, n))) {
            state.SkipWithError("the tree is wrong");
        }
    });
}
BENCHMARK(make_canonical)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(compute_digest)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(measure_quality)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(verify_tree)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heapwood::kdtree
