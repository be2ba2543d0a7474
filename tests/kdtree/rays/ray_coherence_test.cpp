/// @file
/// Which rays a batch on a CPU traces in packets, although it was not asked to.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kdtree/model/arrays.cuh"
#include "kdtree/rays/ray_packets.h"
#include "tests/seed.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr Box kBox{{-3, -4, 0}, {3, 4, 0}};  // a diagonal of 10

glm::vec3 random_vector(std::mt19937_64& random) {
    std::normal_distribution<float> number;
    return {number(random), number(random), number(random)};
}

/// Rays from a point, each turned by an angle against the one before.
std::vector<Ray> turned_rays(std::uint64_t count, double radians, float length) {
    std::vector<Ray> rays;
    for (std::uint64_t i = 0; i < count; ++i) {
        const double angle = 0.3 + static_cast<double>(i) * radians;
        const glm::vec3 way{std::cos(angle), std::sin(angle), 0.5};
        rays.push_back({{1, 2, 3}, way * length, 0, kEndless});
    }
    return rays;
}

/// Parallel rays, each a distance from the one before.
std::vector<Ray> parallel_rays(std::uint64_t count, float distance) {
    std::vector<Ray> rays;
    for (std::uint64_t i = 0; i < count; ++i) {
        rays.push_back({{static_cast<float>(i) * distance, 0, 9}, {0, 0, -1}, 0, kEndless});
    }
    return rays;
}

TEST(RayCoherence, CamerasRaysAreAlikeByTheirAngle) {
    for (const float length : {1e-6F, 1.0F, 1e6F}) {
        // The directions are sqrt(1.25) long, and the seventh is seven angles from the first.
        EXPECT_TRUE(are_coherent(turned_rays(256, 0.069 / 7, length).data(), 256, kBox));
        EXPECT_FALSE(are_coherent(turned_rays(256, 0.071 / 7, length).data(), 256, kBox));
    }
}

TEST(RayCoherence, ParallelRaysAreAlikeByTheirDistance) {
    EXPECT_TRUE(are_coherent(parallel_rays(256, 10.0F / 32 / 7 * 0.99F).data(), 256, kBox));
    EXPECT_FALSE(are_coherent(parallel_rays(256, 10.0F / 32 / 7 * 1.01F).data(), 256, kBox));
}

TEST(RayCoherence, RaysOfAllDirectionsAreNot) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    std::vector<Ray> rays(256);
    for (Ray& ray : rays) ray = {{1, 2, 3}, random_vector(random), 0, kEndless};
    EXPECT_FALSE(are_coherent(rays.data(), rays.size(), kBox));
}

TEST(RayCoherence, AQuarterOfThePacketsMayDiffer) {
    std::vector<Ray> rays = turned_rays(256, 0.001, 1);
    for (std::uint64_t packet = 0; packet < 8; ++packet) {
        EXPECT_TRUE(are_coherent(rays.data(), 256, kBox)) << packet;
        Ray& odd = rays[packet * 4 * kPacket + 5];
        odd.direction = -odd.direction;
    }
    EXPECT_TRUE(are_coherent(rays.data(), 256, kBox));
    rays[kPacket].direction = -rays[kPacket].direction;
    EXPECT_FALSE(are_coherent(rays.data(), 256, kBox));
}

TEST(RayCoherence, FewRaysAndThoseThatAreNoneAreNot) {
    const std::vector<Ray> rays = turned_rays(8, 0.001, 1);
    for (std::uint64_t count = 0; count < 8; ++count) {
        EXPECT_FALSE(are_coherent(rays.data(), count, kBox));
    }
    EXPECT_TRUE(are_coherent(rays.data(), 8, kBox));
    for (const float wrong : {kEndless, std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<Ray> some = rays;
        some[0].direction.x = wrong;
        EXPECT_FALSE(are_coherent(some.data(), 8, kBox));
        some = rays;
        some[7].origin.y = wrong;
        EXPECT_FALSE(are_coherent(some.data(), 8, kBox));
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
