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
    GraphStream() {
        platform::check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                             "creating a stream");
    }
    ~GraphStream() {
        if (graph_ != nullptr) static_cast<void>(cudaGraphExecDestroy(graph_));
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
        cudaGraph_t graph = nullptr;
        platform::check_cuda(cudaStreamEndCapture(stream_, &graph), "ending a capture");
        const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
        static_cast<void>(cudaGraphDestroy(graph));
        platform::check_cuda(made, "making a graph");
    }
    void launch() const {
        platform::check_cuda(cudaGraphLaunch(graph_, stream_), "launching a graph");
    }

private:
    cudaStream_t stream_ = nullptr;
    cudaGraphExec_t graph_ = nullptr;
};

/// The digests of frames' trees: each built in place on a stream, then each by a launch of one
/// graph.
template <class A>
std::vector<std::uint64_t> rebuild_in_place(const std::vector<scenes::Scene>& frames,
                                            const BuildConfig& config, std::uint64_t pool_bytes) {
    using allocators::Buffer;
    using allocators::Place;
    const scenes::Scene& first = frames.front();
    Buffer positions(Place::device, first.positions.size() * sizeof(glm::vec3));
    Buffer triangles(Place::device, first.triangles.size() * sizeof(glm::uvec3));
    triangles.write(0, first.triangles.data(), triangles.size());
    const Frame frame{.positions = positions.as<glm::vec3>(),
                      .position_count = static_cast<std::uint32_t>(first.positions.size()),
                      .triangles = triangles.as<glm::uvec3>(),
                      .triangle_count = static_cast<std::uint32_t>(first.triangles.size()),
                      .bounds = first.bounds};
    GraphStream stream;
    Builder<A, GpuMachine<A>> builder(GpuMachine<A>(config), frame.triangle_count, config,
                                      {.pool_bytes = pool_bytes});
    std::vector<std::uint64_t> digests;
    for (const bool graph : {false, true}) {
        if (graph) stream.capture([&] { builder.enqueue(frame, stream.get()); });
        for (const scenes::Scene& scene : frames) {
            platform::check_cuda(
                cudaMemcpyAsync(positions.data(), scene.positions.data(), positions.size(),
                                cudaMemcpyHostToDevice, stream.get()),
                "moving a frame");
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
