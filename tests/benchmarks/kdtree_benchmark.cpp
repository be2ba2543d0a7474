/// @file
/// Host benchmarks of the builder: its parts on random nodes, and whole builds.
///
///     build/cpu/tests/benchmarks/heapwood_benchmarks --benchmark_filter=build
#include <benchmark/benchmark.h>

#include <algorithm>
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

/// A scene with memory and a pool, to be built over and over.
template <class A>
class Builds {
public:
    Builds(const std::string& generator, std::int64_t triangles, unsigned threads)
        : scene_(scenes::generate({generator, static_cast<std::uint64_t>(triangles)})),
          machine_(threads),
          pool_(machine_.place()),
          memory_(pool_, scene_, BuildConfig{}, machine_.warps()),
          allocator_({.place = machine_.place(),
                      .bytes = 200 * root_array_bytes(scene_.triangles.size()),
                      .largest_request = root_array_bytes(scene_.triangles.size()),
                      .multiprocessors = machine_.multiprocessors(),
                      .callers = machine_.warps()}) {}

    /// One build. @return its milliseconds, or a negative number if it failed.
    double build() {
        memory_.reset();
        allocator_.reset();
        const double ms = machine_.launch<A>(memory_.problem(), allocator_.ref()).ms();
        const auto status = static_cast<Status>(memory_.state().status.value);
        return status == Status::done ? ms : -1;
    }
    /// The last build's tree in canonical form.
    Tree tree() const { return memory_.tree(); }
    const scenes::Scene& scene() const { return scene_; }

private:
    scenes::Scene scene_;
    CpuMachine machine_;
    allocators::ArrayPool pool_;
    BuildMemory memory_;
    A allocator_;
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
