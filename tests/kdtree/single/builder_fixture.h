/// @file
/// What the tests of whole builds share: builds of the subject, and what is expected of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scenes/generators.h"
#include "tests/kdtree/single/build_subject.h"

namespace heapwood::kdtree::tests {

class BuilderFixture : public ::testing::TestWithParam<BuildSubject> {
public:
    static std::string name_of(const ::testing::TestParamInfo<BuildSubject>& info) {
        return info.param.name;
    }

protected:
    void SetUp() override;

    static const BuildSubject& subject() { return GetParam(); }
    static const allocators::Traits& traits() { return subject().traits; }
    /// Of warps of 32 threads each, which take their time.
    static bool lockstep() { return subject().threads > 8; }
    /// Whether a warp asks once for several nodes' arrays: those that it makes at the same time, as
    /// many as chance has it.
    static bool asks_for_several() {
        return !traits().frees_individually && (lockstep() || subject().threads == 0);
    }

    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config,
                             std::uint64_t pool_bytes = subject().pool_bytes) {
        return subject().build(scene, config, pool_bytes);
    }
    /// A build whose requests are counted, and refused as told.
    static Attempt attempt(const scenes::Scene& scene, const BuildConfig& config,
                           const Refusals& refusals = {},
                           std::uint64_t pool_bytes = subject().pool_bytes) {
        return subject().attempt(scene, config, pool_bytes, refusals);
    }

    /// The build is done, nothing leaked, and the tree is the one of `plain_tree`.
    static void expect_tree(const scenes::Scene& scene, const BuildConfig& config,
                            std::uint64_t wanted, const std::string& what = {});
    /// With arrays from the allocator for all nodes, and for large ones only.
    static void expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config,
                                  const std::string& what = {});
    /// Every block that the allocator gave has been given back, if it takes blocks back.
    static void expect_pool_is_whole(const Attempt& a, const std::string& what);

    static BuildConfig large_arrays(BuildConfig config) {
        config.small_arrays = false;
        return config;
    }
    /// A scene of the size that suits the machine.
    static scenes::Scene generated(const std::string& name, std::uint64_t seed = 1) {
        return scenes::generate({name, subject().triangles, seed});
    }
    /// Nodes are large, medium and small even in the machine's small scenes.
    static BuildConfig busy();
};

}  // namespace heapwood::kdtree::tests
