/// @file
/// How rays are divided among devices, all of which are the CPU here.
#include "kdtree/rays/ray_replicas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

#include "allocators/platform/device.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/rays/rays.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

using allocators::BufferError;

RayReplicas replicas_of(const scenes::Scene& scene, std::vector<std::uint32_t> devices) {
    return {oracle_tree(scene, {}), scene, std::move(devices), allocators::Place::host};
}

/// Devices 10, 11, ...
std::vector<std::uint32_t> some_devices(std::uint32_t count) {
    std::vector<std::uint32_t> devices;
    for (std::uint32_t i = 0; i < count; ++i) devices.push_back(10 + i);
    return devices;
}

/// What the call throws, as text; "" if it throws nothing.
template <class Error, class Call>
std::string thrown(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(RayReplicas, DivideRaysEvenlyAndInOrder) {
    const auto scene = fan(3);
    for (const std::uint32_t n : {1U, 2U, 3U, 7U}) {
        const RayReplicas replicas = replicas_of(scene, some_devices(n));
        constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
        for (const std::uint64_t count : {0UL, 1UL, 2UL, 6UL, 7UL, 8UL, 1000UL, kMost - 1, kMost}) {
            std::vector<std::uint64_t> begins(n, kMost);
            std::vector<std::uint64_t> ends(n, kMost);
            const double ms = replicas.divide(count, [&](const RayShare& share) {
                begins.at(share.replica) = share.begin;
                ends.at(share.replica) = share.end;
            });
            EXPECT_GE(ms, 0);
            std::uint64_t next = 0;
            for (std::uint32_t i = 0; i < n; ++i) {
                if (begins[i] == ends[i]) continue;  // was not called, as it has no rays
                EXPECT_EQ(begins[i], next);
                EXPECT_GE(ends[i] - begins[i], std::max<std::uint64_t>(count / n, 1));
                EXPECT_LE(ends[i] - begins[i], count / n + (count % n != 0));
                next = ends[i];
            }
            EXPECT_EQ(next, count) << n << " devices";
        }
    }
}

TEST(RayReplicas, HaveTheHitsOfOneTree) {
    Dice dice;
    const auto scene = random_scene("grid", 60, dice());
    const Tree tree = oracle_tree(scene, {});
    const RayTree whole(tree, scene);
    for (const std::uint32_t n : {1U, 2U, 3U, 5U}) {
        const RayReplicas replicas(tree, scene, some_devices(n), allocators::Place::host);
        EXPECT_EQ(replicas.bytes(), n * whole.bytes());
        for (const unsigned count : {0U, 1U, 4U, 3001U}) {
            std::vector<Ray> rays;
            for (unsigned i = 0; i < count; ++i) {
                rays.push_back(random_ray("any", scene, tree, dice));
            }
            for (const bool coherent : {false, true}) {
                const BatchOptions options{.coherent = coherent, .threads = 2};
                std::vector<Hit> wanted(count);
                std::vector<Hit> hits(count);
                closest_hits(whole, rays.data(), count, wanted.data(), options);
                replicas.closest_hits(rays.data(), count, hits.data(), options);
                for (unsigned i = 0; i < count; ++i) {
                    ASSERT_EQ(hits[i].triangle, wanted[i].triangle) << i;
                    if (!hits[i].found()) continue;
                    ASSERT_EQ(std::bit_cast<std::uint32_t>(hits[i].t),
                              std::bit_cast<std::uint32_t>(wanted[i].t));
                }
            }
        }
    }
}

TEST(RayReplicas, WaitForAllOthersWhenOneFails) {
    const RayReplicas replicas = replicas_of(fan(3), some_devices(4));
    std::atomic<unsigned> ended = 0;
    const auto message = thrown<std::runtime_error>([&] {
        replicas.divide(4, [&](const RayShare& share) {
            if (share.replica == 1) throw std::logic_error("it is broken");
            // Time for an error that does not wait to be early.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++ended;
        });
    });
    EXPECT_EQ(message, "device 11: it is broken");
    EXPECT_EQ(ended, 3U);
    replicas.divide(4, [&](const RayShare&) { ++ended; });
    EXPECT_EQ(ended, 7U) << "the next batch goes on";
}

TEST(RayReplicas, TellOfTheFirstDeviceThatFails) {
    const RayReplicas replicas = replicas_of(fan(3), some_devices(3));
    const auto message = thrown<BufferError>([&] {
        replicas.divide(3, [&](const RayShare& share) {
            if (share.replica == 1) throw BufferError("no room");
            if (share.replica == 2) throw std::runtime_error("it is broken");
        });
    });
    EXPECT_EQ(message, "device 11: no room");
}

TEST(RayReplicas, OfOneDeviceSayWhatItSays) {
    const RayReplicas replicas = replicas_of(fan(3), {0});
    const auto fail = [](const RayShare&) { throw BufferError("no room"); };
    EXPECT_EQ(thrown<BufferError>([&] { replicas.divide(1, fail); }), "no room");
}

TEST(RayReplicas, NeedADeviceThatIsThere) {
    const auto scene = fan(3);
    EXPECT_THROW(replicas_of(scene, {}), std::invalid_argument);
    const auto none = static_cast<std::uint32_t>(platform::device_count());
    const Tree tree = oracle_tree(scene, {});
    EXPECT_THROW(RayReplicas(tree, scene, {none}), std::runtime_error);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
