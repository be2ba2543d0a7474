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

}  // namespace
}  // namespace heapwood::kdtree::tests
