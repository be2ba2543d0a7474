/// @file
/// Rays a second of each kind through the trees of scenes, on a CPU and on a GPU.
///
///     heapwood_ray_benchmark [--threads N] [--repeat N] [--width N] [--gpu] SCENE...
///
/// A table of millions of rays a second, medians of the repeats: closest hits (any hit for shadow
/// and ambient-occlusion rays), exact and with the fast test; then all hits of random rays.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "allocators/circular.cuh"
#include "app/measure/rays.h"
#include "kdtree/builder.h"
#include "kdtree/tree/ray_batch.h"
#include "kdtree/tree/ray_tree.h"
#include "scenes/scene.h"
#include "tests/benchmarks/embree.h"

namespace heapwood {
namespace {

using allocators::Buffer;
using allocators::Place;
using Clock = std::chrono::steady_clock;

struct Choices {
    unsigned threads = 1;
    unsigned repeat = 5;
    unsigned width = 1024;
    bool gpu = false;
    std::vector<std::string> scenes;
};

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The clock of one thread is the processor's, which other programs hardly disturb.
double now_ms(const Choices& choices) {
    if (choices.threads == 1 && !choices.gpu) {
        return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC;
    }
    return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

/// Millions of rays a second: the median of the repeats after a warm-up. `trace` returns when all
/// rays are traced.
template <class Trace>
double mrays(std::uint64_t rays, const Choices& choices, const Trace& trace) {
    std::vector<double> ms;
    for (unsigned i = 0; i <= choices.repeat; ++i) {
        const double start = now_ms(choices);
        trace();
        if (i > 0) ms.push_back(now_ms(choices) - start);
    }
    std::ranges::nth_element(ms, ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2));
    return static_cast<double>(rays) / 1000 / ms[ms.size() / 2];
}

kdtree::Tree build(const scenes::Scene& scene) {
    auto result = kdtree::build_on_cpu<allocators::CMalloc>(
        scene, {}, {.pool_bytes = 200 * kdtree::root_array_bytes(scene.triangles.size())});
    if (result.status != kdtree::Status::done) throw std::runtime_error(result.message);
    return std::move(result.tree);
}

Buffer copied(Place place, const std::vector<kdtree::Ray>& rays) {
    Buffer there(place, rays.size() * sizeof(kdtree::Ray));
    there.write(0, rays.data(), there.size());
    return there;
}

/// One set, by one test.
double measure(const kdtree::RayTree& tree, const app::RaySet& set, bool fast,
               const Choices& choices) {
    const std::uint64_t n = set.rays.size();
    const Buffer rays = copied(tree.place(), set.rays);
    const Buffer results(tree.place(), n * sizeof(kdtree::Hit));
    const kdtree::BatchOptions options{
        .fast = fast, .coherent = set.coherent, .threads = choices.threads};
    return mrays(n, choices, [&] {
        if (set.any_hit) {
            any_hits(tree, rays.as<kdtree::Ray>(), n, results.as<std::uint32_t>(), options);
        } else {
            closest_hits(tree, rays.as<kdtree::Ray>(), n, results.as<kdtree::Hit>(), options);
        }
        kdtree::wait(tree, options);
    });
}

void measure_all_hits(const kdtree::RayTree& tree, const app::RaySet& set, const Choices& choices) {
    const std::uint64_t n = set.rays.size();
    const Buffer rays = copied(tree.place(), set.rays);
    const kdtree::BatchOptions options{.threads = choices.threads};
    const Buffer counts(tree.place(), n * sizeof(std::uint32_t));
    const double count = mrays(n, choices, [&] {
        count_hits(tree, rays.as<kdtree::Ray>(), n, counts.as<std::uint32_t>(), options);
        kdtree::wait(tree, options);
    });
    const kdtree::HitLists lists = all_hits(tree, rays.as<kdtree::Ray>(), n, options);
    const double list = mrays(n, choices, [&] {
        list_hits(tree, rays.as<kdtree::Ray>(), n, lists.offsets.as<std::uint64_t>(),
                  lists.hits.as<kdtree::Hit>(), options);
        kdtree::wait(tree, options);
    });
    std::printf("  all hits of random rays: %.2f a ray, counted %.2f, listed %.2f Mrays/s\n",
                static_cast<double>(lists.total) / static_cast<double>(n), count, list);
}

void run(const std::string& name, const Choices& choices) {
    const scenes::Scene scene = scenes::load(name);
    const kdtree::Tree tree = build(scene);
    const Place place = choices.gpu ? Place::device : Place::host;
    const auto start = Clock::now();
    const kdtree::RayTree rays(tree, scene, place);
    const double layout_ms = ms_since(start);
    std::printf("%s: %zu triangles, %zu nodes, %zu references; laid out in %.1f ms, %.1f MiB\n",
                name.c_str(), scene.triangles.size(), tree.nodes.size(), tree.references.size(),
                layout_ms, static_cast<double>(rays.bytes()) / (1 << 20));

    const app::Camera camera = app::camera_of(scene);
    std::vector<app::RaySet> sets;
    sets.push_back(app::random_rays(scene, std::uint64_t{choices.width} * choices.width));
    sets.push_back(app::primary_rays(camera, choices.width));
    std::vector<kdtree::Hit> hits(sets[1].rays.size());
    kdtree::closest_hits(kdtree::RayTree(tree, scene), sets[1].rays.data(), hits.size(),
                         hits.data());
    for (auto& set : app::secondary_rays(scene, camera, sets[1].rays, hits)) {
        sets.push_back(std::move(set));
    }
    const tests::Embree embree(scene);
    std::printf("  %-18s %9s %9s", "rays", "exact", "fast");
    if (embree.exists() && !choices.gpu) std::printf(" %9s", "Embree");
    std::printf("   Mrays/s\n");
    for (const app::RaySet& set : sets) {
        std::printf("  %-18s", std::string(set.kind).c_str());
        for (const bool fast : {false, true}) {
            std::printf(" %9.2f", measure(rays, set, fast, choices));
        }
        if (embree.exists() && !choices.gpu) {
            std::printf(" %9.2f", mrays(set.rays.size(), choices, [&] {
                            embree.trace(set.rays, set.any_hit, choices.threads);
                        }));
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    measure_all_hits(rays, sets[0], choices);
}

Choices parse(int argc, char** argv) {
    Choices choices;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = [&] {
            if (i + 1 == argc) throw std::invalid_argument(word + " needs a number");
            return static_cast<unsigned>(std::stoul(argv[++i]));
        };
        if (word == "--threads") {
            choices.threads = number();
        } else if (word == "--repeat") {
            choices.repeat = std::max(1U, number());
        } else if (word == "--width") {
            choices.width = number();
        } else if (word == "--gpu") {
            choices.gpu = true;
        } else {
            choices.scenes.push_back(word);
        }
    }
    if (choices.width == 0 || choices.width % 32 != 0) {
        throw std::invalid_argument("--width must be a multiple of 32");
    }
    if (choices.scenes.empty()) throw std::invalid_argument("which scene?");
    return choices;
}

}  // namespace
}  // namespace heapwood

int main(int argc, char** argv) {
    try {
        const heapwood::Choices choices = heapwood::parse(argc, argv);
        for (const std::string& scene : choices.scenes) heapwood::run(scene, choices);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "heapwood_ray_benchmark: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heapwood_ray_benchmark: %s\n", error.what());
        return 1;
    }
}
