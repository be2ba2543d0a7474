/// @file
/// Two builds at the same time, on streams of different priority. Each has as many blocks as the
/// GPU holds, which wait for one another: if each had a part of the GPU, neither would end.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "allocators/platform/clock.cuh"
#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/single/frames.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::AtomicMalloc;
using Machine = GpuMachine<AtomicMalloc>;

constexpr unsigned kFillerThreads = 1024;
/// Blocks of the filler end one group after another, so far apart.
constexpr unsigned kFillerGroups = 16;
constexpr std::uint64_t kFillerStep = 50000;  // ns

/// Takes up the GPU, and gives it back bit by bit.
__global__ void __launch_bounds__(kFillerThreads) filler_kernel() {
    platform::wait_until(platform::nanoseconds() + kFillerStep * (1 + blockIdx.x % kFillerGroups));
}

/// Waits for a stream. If its build does not end, the process does: it could not even free memory.
void await(cudaStream_t stream) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (;;) {
        const cudaError_t status = cudaStreamQuery(stream);
        const std::string failure = platform::cuda_failure(status);
        if (status == cudaSuccess) return;
        if (status != cudaErrorNotReady) throw std::runtime_error(failure);
        if (std::chrono::steady_clock::now() > end) {
            std::fputs("[  FAILED  ] two builds wait for one another, each for room\n", stderr);
            std::_Exit(1);
        }
        std::this_thread::yield();
    }
}

/// Builds of one scene on a stream of its own.
class Side {
public:
    Side(const std::string& scene, int priority, bool in_graph)
        : scene_(scenes::generate({scene, 3000, 1})),
          there_(scene_),
          stream_(priority),
          builder_(Machine({}), scene_.triangles.size(), {}, {.pool_bytes = kPoolBytes<Gpu>}),
          in_graph_(in_graph) {
        builder_.rebuild(there_.frame(), stream_.get());  // arrays grow now, if at all
        if (in_graph) stream_.capture([this] { enqueue(); });
    }

    void begin() {
        if (in_graph_) {
            stream_.launch();
        } else {
            enqueue();
        }
    }
    void expect_tree() {
        await(stream_.get());
        ASSERT_TRUE(builder_.finish(stream_.get())) << builder_.result().message;
        ASSERT_EQ(digest(builder_.tree()), wanted_) << scene_.path;
    }
    cudaGraph_t graph() const { return stream_.graph(); }

private:
    void enqueue() { builder_.enqueue(there_.frame(), stream_.get()); }

    const scenes::Scene scene_;
    const std::uint64_t wanted_ = digest(plain_tree(scene_, {}));
    const DeviceFrame there_;
    GraphStream stream_;
    Builder<AtomicMalloc, Machine> builder_;
    const bool in_graph_;
};

void test_builds(bool in_graph) {
    if (!Gpu::available()) GTEST_SKIP() << "no such device";
    int lowest = 0;
    int highest = 0;
    platform::check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "asking");
    const GraphStream fillers(lowest);
    Side low("sphere", lowest, in_graph);
    Side high("city", highest, in_graph);
    Dice dice;
    for (int i = 0; i < 200 && !::testing::Test::HasFatalFailure(); ++i) {
        filler_kernel<<<platform::resident_blocks(filler_kernel, kFillerThreads), kFillerThreads, 0,
                        fillers.get()>>>();
        platform::check_cuda(cudaGetLastError(), "filling the GPU");
        low.begin();
        // So that the second one comes while the first one gets room.
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(dice.below(kFillerGroups * kFillerStep)));
        high.begin();
        low.expect_tree();
        high.expect_tree();
    }
}

TEST(ConcurrentBuilds, EndOnStreamsOfTwoPriorities) {
    test_builds(false);
}

TEST(ConcurrentBuilds, EndInGraphsOfTwoPriorities) {
    test_builds(true);
}

TEST(ConcurrentBuilds, AGraphLaunchesTheBuildKernelAsAWhole) {
    if (!Gpu::available()) GTEST_SKIP() << "no such device";
    const Side side("sphere", 0, true);
    std::size_t count = 0;
    platform::check_cuda(cudaGraphGetNodes(side.graph(), nullptr, &count), "counting nodes");
    std::vector<cudaGraphNode_t> nodes(count);
    platform::check_cuda(cudaGraphGetNodes(side.graph(), nodes.data(), &count), "listing nodes");
    unsigned cooperative = 0;
    for (const cudaGraphNode_t node : nodes) {
        cudaGraphNodeType type{};
        platform::check_cuda(cudaGraphNodeGetType(node, &type), "looking at a node");
        if (type != cudaGraphNodeTypeKernel) continue;
        cudaLaunchAttributeValue value{};
        platform::check_cuda(
            cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value),
            "looking at a kernel");
        cooperative += value.cooperative != 0 ? 1 : 0;
    }
    EXPECT_EQ(cooperative, 1U);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
