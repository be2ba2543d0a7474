/// @file
/// Frames of an animation, built one after another by one builder.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "kdtree/builder.h"

#if defined(__CUDACC__)
#include "allocators/platform/cuda_runtime.h"
#endif

namespace heapwood::kdtree::tests {

#if defined(__CUDACC__)
/// A stream that does not wait for the default one, and a graph of what it has been given.
class GraphStream {
public:
    /// @param priority 0 is the lowest, and negative ones are higher
    explicit GraphStream(int priority = 0) {
        platform::check_cuda(
            cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
            "creating a stream");
    }
    ~GraphStream() {
        if (launched_ != nullptr) static_cast<void>(cudaGraphExecDestroy(launched_));
        if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
        static_cast<void>(cudaStreamDestroy(stream_));
    }
    GraphStream(const GraphStream&) = delete;
    GraphStream& operator=(const GraphStream&) = delete;

    cudaStream_t get() const { return stream_; }
    template <class Enqueue>
    void capture(const Enqueue& enqueue) {
        platform::check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
                             "beginning a capture");
        enqueue();
        platform::check_cuda(cudaStreamEndCapture(stream_, &graph_), "ending a capture");
        platform::check_cuda(cudaGraphInstantiate(&launched_, graph_, 0), "making a graph");
    }
    /// What has been captured.
    cudaGraph_t graph() const { return graph_; }
    void launch() const {
        platform::check_cuda(cudaGraphLaunch(launched_, stream_), "launching a graph");
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t launched_ = nullptr;
};

/// A scene in the GPU's memory.
class DeviceFrame {
public:
    explicit DeviceFrame(const scenes::Scene& scene)
        : positions_(allocators::Place::device, scene.positions.size() * sizeof(glm::vec3)),
          triangles_(allocators::Place::device, scene.triangles.size() * sizeof(glm::uvec3)),
          frame_{.positions = positions_.as<glm::vec3>(),
                 .position_count = static_cast<std::uint32_t>(scene.positions.size()),
                 .triangles = triangles_.as<glm::uvec3>(),
                 .triangle_count = static_cast<std::uint32_t>(scene.triangles.size()),
                 .bounds = scene.bounds} {
        positions_.write(0, scene.positions.data(), positions_.size());
        triangles_.write(0, scene.triangles.data(), triangles_.size());
    }

    const Frame& frame() const { return frame_; }
    /// Puts the positions of another scene, of the same triangles, there in the stream's order.
    void move(const scenes::Scene& scene, cudaStream_t stream) {
        platform::check_cuda(cudaMemcpyAsync(positions_.data(), scene.positions.data(),
                                             positions_.size(), cudaMemcpyHostToDevice, stream),
                             "moving a frame");
    }

private:
    allocators::Buffer positions_;
    allocators::Buffer triangles_;
    Frame frame_;
};

/// The digests of frames' trees: each built in place on a stream, then each by a launch of one
/// graph.
template <class A>
std::vector<std::uint64_t> rebuild_in_place(const std::vector<scenes::Scene>& frames,
                                            const BuildConfig& config, std::uint64_t pool_bytes) {
    DeviceFrame there(frames.front());
    const Frame& frame = there.frame();
    GraphStream stream;
    Builder<A, GpuMachine<A>> builder(GpuMachine<A>(config), frame.triangle_count, config,
                                      {.pool_bytes = pool_bytes});
    std::vector<std::uint64_t> digests;
    for (const bool graph : {false, true}) {
        if (graph) stream.capture([&] { builder.enqueue(frame, stream.get()); });
        for (const scenes::Scene& scene : frames) {
            there.move(scene, stream.get());
            if (graph) stream.launch();
            if (graph ? builder.finish(stream.get()) : builder.rebuild(frame, stream.get())) {
                digests.push_back(digest(builder.tree()));
            }
        }
    }
    return digests;
}
#endif

/// The digests of the trees that a builder on M makes of frames, one after another; on a GPU in all
/// ways that there are, one after another. The frames differ in their positions alone. A build that
/// fails has none.
template <class A, class M>
std::vector<std::uint64_t> rebuild_all(const std::vector<scenes::Scene>& frames,
                                       const BuildConfig& config, std::uint64_t pool_bytes) {
    const auto machine = M::template make<A>(config);
    std::vector<std::uint64_t> digests;
    {
        Builder<A, std::remove_const_t<decltype(machine)>> builder(
            machine, frames.front().triangles.size(), config, {.pool_bytes = pool_bytes});
        for (const scenes::Scene& scene : frames) {
            if (builder.rebuild(scene)) digests.push_back(digest(builder.tree()));
        }
    }
#if defined(__CUDACC__)
    for (const std::uint64_t digest : rebuild_in_place<A>(frames, config, pool_bytes)) {
        digests.push_back(digest);
    }
#endif
    return digests;
}

}  // namespace heapwood::kdtree::tests
