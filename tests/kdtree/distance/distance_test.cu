/// @file
/// Distances through trees on a GPU.
#include <cuda_runtime.h>

#include "tests/kdtree/distance/distance_tests.h"

namespace heapwood::kdtree::tests {
namespace {

void require(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

bool has_gpu() {
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

/// Uses the library as a kernel of someone else would.
__global__ void ask_one_by_one(RayTreeView tree, SignView signs, const glm::vec3* points,
                               const float* most, std::uint32_t count, Nearest* nearest,
                               float* by_normals, std::uint8_t* inside) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    nearest[i] = closest_point(tree, points[i], most[i]);
    by_normals[i] = signed_distance(tree, signs, points[i]);
    inside[i] = contains(tree, signs, points[i]) ? 1 : 0;
}

/// Batches on a stream of their own; and, beside them, a thread for each point in another kernel.
struct DistanceOnGpu {
    static bool available() { return has_gpu(); }
    static Place place() { return Place::device; }
    static DistanceAnswers ask(const RayTree& tree, const SignTable& signs, const Asked& asked) {
        cudaStream_t stream = nullptr;
        require(cudaStreamCreate(&stream));
        DistanceAnswers answers = DistanceBatch(tree, signs, {.stream = stream}).ask(asked);
        require(cudaStreamDestroy(stream));
        const auto n = static_cast<std::uint32_t>(asked.points.size());
        if (n == 0) return answers;
        Buffer points(Place::device, n * sizeof(glm::vec3));
        points.write(0, asked.points.data(), points.size());
        Buffer most(Place::device, n * sizeof(float));
        most.write(0, asked.most.data(), most.size());
        const Buffer nearest(Place::device, n * sizeof(Nearest));
        const Buffer by_normals(Place::device, n * sizeof(float));
        const Buffer inside(Place::device, n);
        ask_one_by_one<<<(n + 63) / 64, 64>>>(tree.view(), signs.view(), points.as<glm::vec3>(),
                                              most.as<float>(), n, nearest.as<Nearest>(),
                                              by_normals.as<float>(), inside.as<std::uint8_t>());
        require(cudaGetLastError());
        require(cudaDeviceSynchronize());
        EXPECT_EQ(contents<float>(by_normals), answers.by_normals);
        EXPECT_EQ(contents<std::uint8_t>(inside), answers.inside);
        const auto found = contents<Nearest>(nearest);
        for (std::uint32_t i = 0; i < n; ++i) {
            EXPECT_EQ(found[i].distance, answers.nearest_distances[i]);
            EXPECT_EQ(found[i].triangle, answers.triangles[i]);
        }
        return answers;
    }
};

using Machines = ::testing::Types<DistanceOnGpu>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, DistanceTest, Machines);

/// More points than are put in order at once, so that they are in two parts: each gets its own
/// answer.
TEST(DistancesOnGpu, OfPointsInOrderAreThoseOfTheHost) {
    if (!has_gpu()) GTEST_SKIP() << "no GPU";
    Dice dice;
    const auto scene = random_scene("soup", 300, dice());
    const auto tree = oracle_tree(scene, {});
    const SignTable signs(scene);
    constexpr std::size_t kDifferent = 5003;
    constexpr std::size_t kMany = (1U << 21) + 70000;
    Asked asked;
    for (std::size_t i = 0; i < kDifferent; ++i) {
        glm::vec3 p = random_point(point_kinds()[i % 8], scene, dice);
        if (i % 50 == 0) p.y = i % 100 == 0 ? kNowhere : std::numeric_limits<float>::quiet_NaN();
        asked.points.push_back(p);
        asked.most.push_back(i % 3 == 0 ? kNowhere : dice.uniform(0, 1));
    }
    const DistanceAnswers expected =
        DistanceHostBatch::ask(RayTree(tree, scene, Place::host), signs, asked);
    for (std::size_t i = kDifferent; i < kMany; ++i) {
        asked.points.push_back(asked.points[i - kDifferent]);
        asked.most.push_back(asked.most[i - kDifferent]);
    }
    const auto there = [](const auto& values) {
        Buffer buffer(Place::device, values.size() * sizeof(values[0]));
        buffer.write(0, values.data(), buffer.size());
        return buffer;
    };
    const RayTree rays(tree, scene, Place::device);
    const SignTable table(scene, Place::device);
    const Buffer points = there(asked.points);
    const Buffer most = there(asked.most);
    const Buffer distances(Place::device, kMany * sizeof(float));
    const Buffer triangles(Place::device, kMany * sizeof(std::uint32_t));
    const Buffer sides(Place::device, kMany * sizeof(float));
    closest_points(rays, {points.as<float>()}, kMany, {most.as<float>()},
                   {distances.as<float>(), triangles.as<std::uint32_t>()});
    signed_distances(rays, table.view(), {points.as<float>()}, kMany, sides.as<float>());
    require(cudaDeviceSynchronize());
    const auto found = contents<float>(distances);
    const auto numbers = contents<std::uint32_t>(triangles);
    const auto by_normals = contents<float>(sides);
    for (std::size_t i = 0; i < kMany; ++i) {
        ASSERT_EQ(found[i], expected.nearest_distances[i % kDifferent]) << i;
        ASSERT_EQ(numbers[i], expected.triangles[i % kDifferent]) << i;
        ASSERT_EQ(by_normals[i], expected.by_normals[i % kDifferent]) << i;
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
