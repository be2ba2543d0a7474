/// @file
/// The order of a picture's stages and batches of rays: what both machines share.
///
/// Stages and rays take turns, batch after batch, so that the library's calls for many rays trace
/// them all, and the time of each kind of ray is known.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>

#include "app/render/render.h"
#include "app/render/stages.cuh"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::app::detail {

/// @tparam Machine has `run(count, stage)`, which calls the stage for 0 .. count - 1 and returns
/// the sum of what it made when all is done; and `kSamples`, how many samples a batch has.
template <class Machine>
class RenderLoop {
public:
    explicit RenderLoop(const RenderJob& job)
        : job_(job),
          batch_(job.batch),
          machine_(job.batch.settings.threads),
          slots_(std::clamp<std::uint64_t>(Machine::kSamples / batch_.settings.samples, 1,
                                           slots_of(batch_.view))),
          rays_(make<kdtree::Ray>()),
          hits_(make<kdtree::Hit>()),
          shadow_rays_(make<kdtree::Ray>()),
          blocked_(make<std::uint32_t>()),
          paths_(make<PathState>()),
          shades_(make<Shade>()),
          picture_(job.tree.place(), pixels() * sizeof(Shade)) {
        batch_.rays = rays_.as<kdtree::Ray>();
        batch_.hits = hits_.as<kdtree::Hit>();
        batch_.shadow_rays = shadow_rays_.as<kdtree::Ray>();
        batch_.blocked = blocked_.as<std::uint32_t>();
        batch_.paths = paths_.as<PathState>();
        batch_.shades = shades_.as<Shade>();
        batch_.picture = picture_.as<Shade>();
    }

    Rendering run() {
        const auto start = Clock::now();
        const std::uint64_t slots = slots_of(batch_.view);
        for (std::uint64_t first = 0; first < slots; first += slots_) {
            job_.progress(static_cast<double>(first) / static_cast<double>(slots));
            const std::uint64_t part = std::min(slots_, slots - first);
            batch_.first_slot = first;
            samples_ = part * batch_.settings.samples;
            shade();
            machine_.run(part, PixelStage{batch_});
        }
        Rendering done;
        done.film = {batch_.view.width, batch_.view.height, std::vector<Shade>(pixels())};
        picture_.read(0, done.film.pixels.data(), picture_.size());
        done.ms = ms_since(start);
        for (const TracedRays& traced : traced_) {
            if (traced.rays > 0) done.rays.push_back(traced);
        }
        return done;
    }

private:
    using Clock = std::chrono::steady_clock;

    enum Kind { primary, bounce, shadow, occlusion, distance };

    template <class T>
    allocators::Buffer make() const {
        return {job_.tree.place(), slots_ * batch_.settings.samples * sizeof(T)};
    }
    std::uint64_t pixels() const { return std::uint64_t{batch_.view.width} * batch_.view.height; }

    static double ms_since(Clock::time_point start) {
        return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }

    /// Does what traces rays of a kind, and notes how many and for how long.
    template <class Work>
    void timed(Kind kind, std::uint64_t rays, const Work& work) {
        const auto start = Clock::now();
        work();
        traced_[kind].ms += ms_since(start);
        traced_[kind].rays += rays;
    }
    void trace_first(Kind kind, std::uint64_t rays) {
        const kdtree::BatchOptions options{.coherent = kind == primary,
                                           .threads = batch_.settings.threads};
        timed(kind, rays, [&] {
            closest_hits(job_.tree, batch_.rays, samples_, batch_.hits, options);
            wait(job_.tree, options);
        });
    }
    void trace_any(Kind kind, std::uint64_t rays) {
        const kdtree::BatchOptions options{.coherent = false, .threads = batch_.settings.threads};
        timed(kind, rays, [&] {
            any_hits(job_.tree, batch_.shadow_rays, samples_, batch_.blocked, options);
            wait(job_.tree, options);
        });
    }

    /// One batch's samples.
    void shade() {
        const std::uint64_t eye_rays = machine_.run(samples_, EyeStage{batch_}).rays;
        if (facts_of(batch_.settings.mode).of_tree) {
            timed(primary, eye_rays, [&] { machine_.run(samples_, TreeStage{batch_}); });
            return;
        }
        switch (batch_.settings.mode) {
            case Mode::normal:
            case Mode::depth:
                trace_first(primary, eye_rays);
                machine_.run(samples_, SurfaceStage{batch_});
                return;
            case Mode::distance:
                timed(distance, eye_rays, [&] { machine_.run(samples_, DistanceStage{batch_}); });
                return;
            case Mode::ambient_occlusion:
                trace_first(primary, eye_rays);
                trace_any(occlusion, machine_.run(samples_, OcclusionStage{batch_}).shadow_rays);
                machine_.run(samples_, OpennessStage{batch_});
                return;
            default:
                follow_paths(eye_rays);
        }
    }

    void follow_paths(std::uint64_t rays) {
        for (unsigned bounced = 0; bounced <= batch_.settings.bounces && rays > 0; ++bounced) {
            trace_first(bounced == 0 ? primary : bounce, rays);
            const Total made = machine_.run(samples_, BounceStage{{batch_}, bounced});
            if (made.shadow_rays > 0) {
                trace_any(shadow, made.shadow_rays);
                machine_.run(samples_, LightStage{batch_});
            }
            rays = made.rays;
        }
        machine_.run(samples_, EndStage{batch_});
    }

    const RenderJob& job_;
    Batch batch_;
    Machine machine_;
    std::uint64_t slots_;        ///< of a batch
    std::uint64_t samples_ = 0;  ///< of this batch
    allocators::Buffer rays_;
    allocators::Buffer hits_;
    allocators::Buffer shadow_rays_;
    allocators::Buffer blocked_;
    allocators::Buffer paths_;
    allocators::Buffer shades_;
    allocators::Buffer picture_;
    std::array<TracedRays, 5> traced_{{{.kind = "primary"},
                                       {.kind = "bounce"},
                                       {.kind = "shadow", .any_hit = true},
                                       {.kind = "ambient-occlusion", .any_hit = true},
                                       {.kind = "distance"}}};
};

}  // namespace heapwood::app::detail
