#include "app/measure/rays/ray_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "app/backends/frame_runs.h"
#include "app/base/console.h"
#include "app/base/log.h"
#include "app/measure/builds/turn.h"
#include "app/measure/rays/embree.h"
#include "app/measure/rays/ray_batch_run.h"
#include "kdtree/built_tree.h"
#include "kdtree/rays/ray_batch.h"
#include "scenes/digest.h"

namespace heapwood::app {
namespace {

using allocators::Place;
using kdtree::Hit;
using kdtree::Ray;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Milliseconds of each repeat on the host; `work` returns when all is done.
template <class Work>
std::vector<double> timed(const RunOptions& run, const Work& work) {
    std::vector<double> ms;
    for (unsigned i = 0; i < run.warm_up + run.repeat; ++i) {
        const auto start = Clock::now();
        work();
        if (i >= run.warm_up) ms.push_back(ms_since(start));
    }
    return ms;
}

RayTimes untimed(const RaySet& set, Asked asked) {
    return {.kind = std::string(set.kind),
            .asked = asked,
            .rays = set.rays.size(),
            .hits = 0,
            .samples = {}};
}

/// What one or several batches found, in the rays' order.
void note(const RayBatchRun::Found& found, RayTimes& times, scenes::Fnv& hash) {
    times.hits += found.hits;
    for (const std::uint32_t word : found.words) hash.add(word);
    times.digest = hash.value();
}

}  // namespace

unsigned RayBench::width() const {
    const double side = std::ceil(std::sqrt(static_cast<double>(options_.rays)));
    return 32 * static_cast<unsigned>(std::ceil(side / 32));
}

template <class Add>
void RayBench::for_questions(const Add& add) const {
    for (const RaySet& set : sets_) add(set, set.any_hit ? Asked::any : Asked::closest);
    add(sets_.front(), Asked::all);
    for (const RaySet& set : points_) add(set, Asked::nearest);
}

void RayBench::make_sets(const kdtree::RayReplicas& replicas) {
    const auto closest_hits = [&](std::span<const Ray> rays, Hit* hits) {
        replicas.closest_hits(rays.data(), rays.size(), hits);
    };
    camera_ = camera_of(scene_, closest_hits);
    sets_.push_back(random_rays(scene_, rays(), options_.seed));
    sets_.push_back(primary_rays(*camera_, width()));
    const std::vector<Ray>& primary = sets_.back().rays;
    std::vector<Hit> hits(primary.size());
    closest_hits(primary, hits.data());
    std::ranges::move(secondary_rays(scene_, *camera_, primary, hits, options_.seed),
                      std::back_inserter(sets_));
    points_ = random_points(scene_, rays(), options_.seed);
}

kdtree::BatchOptions RayBench::options_of(const RaySet& set) const {
    return {.fast = options_.fast, .coherent = set.coherent, .threads = run_.threads};
}

RayTimes RayBench::time(const kdtree::RayTree& tree, const RaySet& set, Asked asked) const {
    RayTimes times = untimed(set, asked);
    const kdtree::BatchOptions options = options_of(set);
    const RayBatchRun batch(tree, set.rays, asked, options);
    // One batch after the other, as a renderer's are: on a GPU nobody waits in between.
    std::vector<kdtree::BatchMoment> moments;
    for (unsigned i = 0; i < run_.warm_up + run_.repeat; ++i) {
        if (i >= run_.warm_up) moments.emplace_back(tree, options);
        batch.trace();
    }
    moments.emplace_back(tree, options);
    for (std::size_t i = 1; i < moments.size(); ++i) {
        times.samples.push_back(moments[i].ms_since(moments[i - 1]));
    }
    scenes::Fnv hash;
    note(batch.found(), times, hash);
    return times;
}

RayTimes RayBench::time_shared(const kdtree::RayReplicas& replicas, const RaySet& set,
                               Asked asked) const {
    RayTimes times = untimed(set, asked);
    const kdtree::BatchOptions options = options_of(set);
    const std::span all(set.rays);
    std::vector<std::optional<RayBatchRun>> batches(replicas.devices().size());
    std::vector<DeviceTimes> devices(batches.size());
    replicas.divide(all.size(), [&](const kdtree::RayShare& share) {
        const auto rays = all.subspan(share.begin, share.end - share.begin);
        batches[share.replica].emplace(share.tree, rays, asked, options);
        devices[share.replica] = {replicas.devices()[share.replica], rays.size(), {}};
    });
    // All begin a batch together, and its time is that of the last one: all wait for it.
    for (unsigned i = 0; i < run_.warm_up + run_.repeat; ++i) {
        const double ms = replicas.divide(all.size(), [&](const kdtree::RayShare& share) {
            const auto start = Clock::now();
            batches[share.replica]->trace();
            kdtree::wait(share.tree, options);
            if (i >= run_.warm_up) devices[share.replica].samples.push_back(ms_since(start));
        });
        if (i >= run_.warm_up) times.samples.push_back(ms);
    }
    std::vector<RayBatchRun::Found> found(batches.size());
    replicas.divide(all.size(), [&](const kdtree::RayShare& share) {
        found[share.replica] = batches[share.replica]->found();
        batches[share.replica].reset();
    });
    scenes::Fnv hash;
    for (const RayBatchRun::Found& some : found) note(some, times, hash);
    std::erase_if(devices, [](const DeviceTimes& device) { return device.rays == 0; });
    times.devices = std::move(devices);
    return times;
}

void RayBench::trace(const kdtree::Tree& tree, TracedTree& to) {
    const bool shared = !options_.devices.empty();
    const auto start = Clock::now();
    const kdtree::RayReplicas replicas(tree, scene_,
                                       shared ? options_.devices : std::vector<std::uint32_t>{0},
                                       gpu_ ? Place::device : Place::host);
    to.layout_ms = ms_since(start);
    to.bytes = replicas.bytes();
    if (sets_.empty()) make_sets(replicas);
    std::vector<RayTimes> times;
    const auto add = [&](const RaySet& set, Asked asked) {
        if (set.rays.empty()) return times.push_back(untimed(set, asked));
        if (shared) return times.push_back(time_shared(replicas, set, asked));
        replicas.divide(set.rays.size(), [&](const kdtree::RayShare& all) {
            times.push_back(time(all.tree, set, asked));
        });
    };
    for_questions(add);
    to.times = std::move(times);
}

InPlaceTree RayBench::time_in_place(LiveTree& tree, const InPlaceTree* same) const {
    const PlacedFrame placed(scene_, gpu_ ? Place::device : Place::host);
    tree.rebuild(placed.frame(), nullptr);
    kdtree::wait(tree.rays());
    InPlaceTree to;
    const RaySet& primary = sets_[1];
    const RayBatchRun batch(tree.rays(), primary.rays, Asked::closest, options_of(primary));
    for (unsigned i = 0; i < run_.warm_up + run_.repeat; ++i) {
        const auto start = Clock::now();
        tree.rebuild(placed.frame(), nullptr);
        const double built = ms_since(start);
        kdtree::wait(tree.rays());
        const double laid_out = ms_since(start);
        const auto again = Clock::now();
        tree.rebuild(placed.frame(), nullptr);
        batch.trace();
        kdtree::wait(tree.rays());
        if (i < run_.warm_up) continue;
        to.build_ms.push_back(built);
        to.layout_ms.push_back(laid_out - built);
        to.first_rays_ms.push_back(ms_since(again));
    }
    to.bytes = tree.rays().bytes();
    if (same != nullptr) {
        to.times = same->times;
        return to;
    }
    for_questions([&](const RaySet& set, Asked asked) {
        to.times.push_back(set.rays.empty() ? untimed(set, asked) : time(tree.rays(), set, asked));
    });
    return to;
}

void RayBench::trace_in_place(const Backend& backend, const MeasureOptions& measure, TracedTree& to,
                              const std::vector<TracedTree>& before) {
    if (backend.make_live_tree == nullptr || !options_.devices.empty() || to.times.empty()) return;
    const InPlaceTree* same = nullptr;
    for (const TracedTree& other : before) {
        if (other.in_place && other.build.tree->digest == to.build.tree->digest) {
            same = &*other.in_place;
        }
    }
    show_progress("tracing rays where " + to.name + " has built");
    try {
        const auto tree =
            backend.make_live_tree(scene_.triangles.size(), measure.config, measure.run);
        to.in_place = time_in_place(*tree, same);
    } catch (const std::exception& error) {
        log::warning(to.name + " was not measured in place: " + error.what());
    }
}

AnimatedRays RayBench::time_frames(LiveTree& tree, const std::vector<scenes::Scene>& frames) const {
    const Place place = gpu_ ? Place::device : Place::host;
    std::vector<PlacedFrame> placed;
    for (const scenes::Scene& frame : frames) placed.emplace_back(frame, place);
    tree.rebuild(placed.front().frame(), nullptr);
    kdtree::wait(tree.rays());
    const RaySet& primary = sets_[1];
    const RayBatchRun batch(tree.rays(), primary.rays, Asked::closest, options_of(primary));
    AnimatedRays to{.frames = frames.size(), .rays = primary.rays.size()};
    scenes::Fnv hash;
    for (unsigned round = 0; round < run_.warm_up + run_.repeat; ++round) {
        for (const PlacedFrame& frame : placed) {
            const auto start = Clock::now();
            tree.rebuild(frame.frame(), nullptr);
            const double built = ms_since(start);
            batch.trace();
            kdtree::wait(tree.rays());
            const double traced = ms_since(start);
            if (round >= run_.warm_up) {
                to.rebuild_ms.push_back(built);
                to.frame_ms.push_back(traced);
            }
            if (round > 0) continue;
            const RayBatchRun::Found found = batch.found();
            to.hits += found.hits;
            for (const std::uint32_t word : found.words) hash.add(word);
        }
    }
    to.digest = hash.value();
    return to;
}

void RayBench::trace_frames(const Backend& backend, const MeasureOptions& measure,
                            const std::vector<scenes::Scene>& frames, TracedTree& to) {
    if (frames.empty() || backend.make_live_tree == nullptr || to.times.empty()) return;
    show_progress("tracing rays through frames of " + to.name);
    std::size_t most = 0;
    for (const scenes::Scene& frame : frames) most = std::max(most, frame.triangles.size());
    guarded(to.build, [&] {
        const auto tree = backend.make_live_tree(most, measure.config, measure.run);
        try {
            to.animated = time_frames(*tree, frames);
        } catch (const kdtree::BuildError& error) {
            throw Failure{outcome_of(tree->result().status),
                          std::string("a frame: ") + error.what()};
        }
    });
    if (to.build.outcome != Outcome::done) log::error(to.name + ": " + to.build.message);
}

void RayBench::trace_once(const kdtree::Tree& tree, TracedTree& to,
                          const std::vector<TracedTree>& before) {
    const auto same = std::ranges::find_if(before, [&](const TracedTree& other) {
        return to.build.tree && other.build.tree && !other.times.empty() &&
               to.build.tree->digest == other.build.tree->digest;
    });
    if (same != before.end()) {
        to.layout_ms = same->layout_ms;
        to.bytes = same->bytes;
        to.times = same->times;
    } else if (to.build.outcome == Outcome::done) {
        show_progress("tracing rays");
        guarded(to.build, [&] { trace(tree, to); });
    }
    if (to.build.outcome != Outcome::done) log::error(to.name + ": " + to.build.message);
}

std::optional<TracedTree> RayBench::trace_with_embree() const {
    if (gpu_ || !Embree::exists() || sets_.empty()) return std::nullopt;
    TracedTree to{.name = "embree", .preset = "", .build = {}, .times = {}};
    const auto start = Clock::now();
    const Embree embree(scene_, run_.threads);
    to.build.built.milliseconds = {ms_since(start)};
    for (const RaySet& set : sets_) {
        RayTimes times = untimed(set, set.any_hit ? Asked::any : Asked::closest);
        const auto trace = [&] { times.hits = embree.trace(set.rays, set.any_hit, run_.threads); };
        if (!set.rays.empty()) times.samples = timed(run_, trace);
        to.times.push_back(std::move(times));
    }
    return to;
}

}  // namespace heapwood::app
