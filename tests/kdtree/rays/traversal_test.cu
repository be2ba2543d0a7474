/// @file
/// Rays through trees on a GPU.
#include <cuda_runtime.h>

#include "kdtree/rays/ray_replicas.h"
#include "tests/kdtree/rays/traversal_tests.h"

namespace heapwood::kdtree::tests {
namespace {

/// Hits that a ray of these tests may have.
constexpr std::uint32_t kMost = 400;

void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

bool has_gpu() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Uses the library as a kernel of someone else would.
__global__ void ask_all(RayTreeView tree, const Ray* rays, std::uint32_t count, Hit* closest,
                        std::uint32_t* any, std::uint32_t* counts, Hit* all) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    closest[i] = closest_hit(tree, rays[i]);
    any[i] = any_hit(tree, rays[i]) ? 1U : 0U;
    counts[i] = OrderedHits(tree, rays[i]).count();
    OrderedHits hits(tree, rays[i]);
    std::uint32_t n = 0;
    for (Hit hit; n < kMost && hits.next(hit); ++n) all[i * std::uint64_t{kMost} + n] = hit;
}

struct DeviceThread {
    static bool available() { return has_gpu(); }
    static Place place() { return Place::device; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        const auto n = static_cast<std::uint32_t>(rays.size());
        Answers answers(n);
        if (n == 0) return answers;
        Buffer there(Place::device, n * sizeof(Ray));
        there.write(0, rays.data(), there.size());
        const Buffer closest(Place::device, n * sizeof(Hit));
        const Buffer any(Place::device, n * sizeof(std::uint32_t));
        const Buffer counts(Place::device, n * sizeof(std::uint32_t));
        const Buffer all(Place::device, std::uint64_t{n} * kMost * sizeof(Hit));
        ask_all<<<(n + 63) / 64, 64>>>(tree.view(), there.as<Ray>(), n, closest.as<Hit>(),
                                       any.as<std::uint32_t>(), counts.as<std::uint32_t>(),
                                       all.as<Hit>());
        require(cudaGetLastError());
        require(cudaDeviceSynchronize());
        answers.closest = contents<Hit>(closest);
        answers.any = contents<std::uint32_t>(any);
        answers.counts = contents<std::uint32_t>(counts);
        const auto hits = contents<Hit>(all);
        for (std::uint32_t i = 0; i < n; ++i) {
            const auto first = hits.begin() + static_cast<std::ptrdiff_t>(i) * kMost;
            answers.all[i].assign(first, first + std::min(answers.counts[i], kMost));
        }
        return answers;
    }
};

/// Batches on a stream of their own: of rays in a row, or of arrays.
template <bool kCoherent,
          Answers (*kAsk)(const RayTree&, const std::vector<Ray>&, const BatchOptions&) = ask_batch>
struct DeviceBatch {
    static bool available() { return has_gpu(); }
    static Place place() { return Place::device; }
    static Answers ask(const RayTree& tree, const std::vector<Ray>& rays) {
        cudaStream_t stream = nullptr;
        require(cudaStreamCreate(&stream));
        const Answers answers = kAsk(tree, rays, {.coherent = kCoherent, .stream = stream});
        require(cudaStreamDestroy(stream));
        return answers;
    }
};

using Machines = ::testing::Types<DeviceThread, DeviceBatch<true>, DeviceBatch<false>,
                                  DeviceBatch<true, ask_arrays>, DeviceBatch<false, ask_arrays>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, TraversalTest, Machines);

TEST(RayReplicas, OnGpusHaveTheHitsOfOne) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
    // The last twice, so that there are several replicas on a machine with one GPU, too.
    std::vector<std::uint32_t> devices;
    for (int i = 0; i < count; ++i) devices.push_back(static_cast<std::uint32_t>(i));
    devices.push_back(devices.back());
    Dice dice;
    const auto scene = random_scene("soup", 200, dice());
    const Tree tree = oracle_tree(scene, {});
    std::vector<Ray> rays;
    for (unsigned i = 0; i < 10007; ++i) rays.push_back(random_ray("any", scene, tree, dice));
    std::vector<Hit> hits(rays.size());
    RayReplicas(tree, scene, devices).closest_hits(rays.data(), rays.size(), hits.data());
    const Answers wanted = HostThread::ask(RayTree(tree, scene), rays);
    for (std::size_t i = 0; i < rays.size(); ++i) {
        ASSERT_EQ(hits[i].triangle, wanted.closest[i].triangle) << i;
        if (hits[i].found()) ASSERT_EQ(hits[i].t, wanted.closest[i].t) << i;
    }
    int current = -1;
    require(cudaGetDevice(&current));
    EXPECT_EQ(current, 0) << "the caller's device stays";
}

}  // namespace
}  // namespace heapwood::kdtree::tests
