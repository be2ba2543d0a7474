#include "app/measure/ray_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "app/measure/embree.h"
#include "kdtree/tree/ray_batch.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::Hit;
using kdtree::Ray;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Milliseconds of each repeat on the host; `work` returns when all is done.
template <class Work>
std::vector<double> timed(const RayRun& run, const Work& work) {
    std::vector<double> ms;
    for (unsigned i = 0; i < run.warm_up + run.repeat; ++i) {
        const auto start = Clock::now();
        work();
        if (i >= run.warm_up) ms.push_back(ms_since(start));
    }
    return ms;
}

Buffer copied(Place place, const std::vector<Ray>& rays) {
    Buffer there(place, rays.size() * sizeof(Ray));
    there.write(0, rays.data(), there.size());
    return there;
}

template <class T>
std::vector<T> contents(const Buffer& buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    buffer.read(0, values.data(), buffer.size());
    return values;
}

}  // namespace

unsigned RayBench::width() const {
    const double side = std::ceil(std::sqrt(static_cast<double>(run_.rays)));
    return 32 * static_cast<unsigned>(std::ceil(side / 32));
}

void RayBench::make_sets(const kdtree::RayTree& tree) {
    const Camera camera = camera_of(scene_);
    sets_.push_back(random_rays(scene_, rays(), run_.seed));
    sets_.push_back(primary_rays(camera, width()));
    const std::vector<Ray>& primary = sets_.back().rays;
    const Buffer there = copied(tree.place(), primary);
    const Buffer hits(tree.place(), primary.size() * sizeof(Hit));
    closest_hits(tree, there.as<Ray>(), primary.size(), hits.as<Hit>());
    kdtree::wait(tree);
    for (RaySet& set : secondary_rays(scene_, camera, primary, contents<Hit>(hits), run_.seed)) {
        if (!set.rays.empty()) sets_.push_back(std::move(set));
    }
}

RayTimes RayBench::time(const kdtree::RayTree& tree, const RaySet& set, Asked asked) const {
    const std::uint64_t n = set.rays.size();
    const kdtree::BatchOptions options{
        .fast = run_.fast, .coherent = set.coherent, .threads = run_.threads};
    const Buffer there = copied(tree.place(), set.rays);
    const Ray* rays = there.as<Ray>();
    RayTimes times{
        .kind = std::string(set.kind), .asked = asked, .rays = n, .hits = 0, .samples = {}};
    // One batch after the other, as a renderer's are: on a GPU nobody waits in between.
    const auto time_batch = [&](const auto& batch) {
        std::vector<kdtree::BatchMoment> moments;
        for (unsigned i = 0; i < run_.warm_up + run_.repeat; ++i) {
            if (i >= run_.warm_up) moments.emplace_back(tree, options);
            batch();
        }
        moments.emplace_back(tree, options);
        for (std::size_t i = 1; i < moments.size(); ++i) {
            times.samples.push_back(moments[i].ms_since(moments[i - 1]));
        }
    };
    if (asked == Asked::all) {
        const kdtree::HitLists lists = all_hits(tree, rays, n, options);
        time_batch([&] {
            list_hits(tree, rays, n, lists.offsets.as<std::uint64_t>(), lists.hits.as<Hit>(),
                      options);
        });
        times.hits = lists.total;
    } else if (asked == Asked::any) {
        const Buffer found(tree.place(), n * sizeof(std::uint32_t));
        time_batch([&] { any_hits(tree, rays, n, found.as<std::uint32_t>(), options); });
        for (const std::uint32_t one : contents<std::uint32_t>(found)) times.hits += one;
    } else {
        const Buffer hits(tree.place(), n * sizeof(Hit));
        time_batch([&] { closest_hits(tree, rays, n, hits.as<Hit>(), options); });
        for (const Hit& hit : contents<Hit>(hits)) times.hits += hit.found() ? 1 : 0;
    }
    return times;
}

void RayBench::trace(const kdtree::Tree& tree, TracedTree& to) {
    const auto start = Clock::now();
    const kdtree::RayTree rays(tree, scene_, run_.gpu ? Place::device : Place::host);
    to.layout_ms = ms_since(start);
    to.bytes = rays.bytes();
    if (sets_.empty()) make_sets(rays);
    std::vector<RayTimes> times;
    for (const RaySet& set : sets_) {
        times.push_back(time(rays, set, set.any_hit ? Asked::any : Asked::closest));
    }
    times.push_back(time(rays, sets_.front(), Asked::all));
    to.times = std::move(times);
}

std::optional<TracedTree> RayBench::trace_with_embree() const {
    if (run_.gpu || !Embree::exists() || sets_.empty()) return std::nullopt;
    TracedTree to{.name = "embree", .preset = "", .build = {}, .times = {}};
    const auto start = Clock::now();
    const Embree embree(scene_, run_.threads);
    to.build.samples = {ms_since(start)};
    for (const RaySet& set : sets_) {
        RayTimes times{.kind = std::string(set.kind),
                       .asked = set.any_hit ? Asked::any : Asked::closest,
                       .rays = set.rays.size(),
                       .hits = 0,
                       .samples = {}};
        times.samples =
            timed(run_, [&] { times.hits = embree.trace(set.rays, set.any_hit, run_.threads); });
        to.times.push_back(std::move(times));
    }
    return to;
}

}  // namespace heapwood::app
