/// @file
/// Builds of frame after frame by one builder. Compiled for every allocator and machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/threads.h"
#include "app/backends/measured_build.h"
#include "kdtree/builder.h"

namespace heapwood::app {

/// A scene of the host that a machine's kernels can read: copied to a GPU, as it is for a CPU.
class PlacedFrame {
public:
    /// Refers to the scene. @throws allocators::BufferError.
    PlacedFrame(const scenes::Scene& scene, allocators::Place place)
        : frame_{.positions = scene.positions.data(),
                 .position_count = static_cast<std::uint32_t>(scene.positions.size()),
                 .triangles = scene.triangles.data(),
                 .triangle_count = static_cast<std::uint32_t>(scene.triangles.size()),
                 .bounds = scene.bounds} {
        if (place == allocators::Place::host) return;
        frame_.positions = copy(positions_, scene.positions, place);
        frame_.triangles = copy(triangles_, scene.triangles, place);
    }

    const kdtree::Frame& frame() const { return frame_; }

private:
    template <class T>
    static const T* copy(allocators::Buffer& to, const std::vector<T>& from,
                         allocators::Place place) {
        to = allocators::Buffer(place, from.size() * sizeof(T));
        to.write(0, from.data(), to.size());
        return to.as<T>();
    }

    kdtree::Frame frame_;
    allocators::Buffer positions_;
    allocators::Buffer triangles_;
};

/// Builds the trees of frames with allocator A on a machine by one builder, run.warm_up +
/// run.repeat times, one frame after another. Frames lie where the machine reads them; a time is
/// that of the whole call, from there to the tree in place. `look` sees every tree once, between
/// times.
/// @throws what kdtree::Builder and `look` do.
template <allocators::Allocator A, class Machine>
MeasuredFrames run_frames(const Machine& machine, const std::vector<scenes::Scene>& scenes,
                          const kdtree::BuildConfig& config, const RunOptions& run,
                          const LookAtTree& look) {
    // What the builds of one scene have left: this builder's memory is its own, so that the time of
    // the first build has all of it.
    if (run.array_pool != nullptr) run.array_pool->trim();
    std::vector<PlacedFrame> frames;
    std::size_t most = 0;
    for (const scenes::Scene& scene : scenes) {
        frames.emplace_back(scene, machine.place());
        most = std::max(most, scene.triangles.size());
    }
    MeasuredFrames result;
    std::optional<kdtree::Builder<A, Machine>> builder;
    bool done = true;
    result.first_ms = platform::run_timed([&] {
        builder.emplace(
            machine, most, config,
            kdtree::RunConfig{
                .pool_bytes = run.pool_bytes, .grow_to = run.grow_to, .choices = run.choices});
        done = builder->rebuild(frames[0].frame());
    });
    for (unsigned round = 0; done && round < run.warm_up + run.repeat; ++round) {
        for (std::size_t i = 0; done && i < frames.size(); ++i) {
            const double ms =
                platform::run_timed([&] { done = builder->rebuild(frames[i].frame()); });
            if (!done) break;
            if (round >= run.warm_up) result.milliseconds.push_back(ms);
            if (round == 0) look(scenes[i], builder->tree());
        }
    }
    result.status = builder->result().status;
    result.message = builder->result().message;
    return result;
}

}  // namespace heapwood::app
