/// @file
/// The level method on a CPU, and its steps with warps of 32 threads.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "kdtree/levels/level_driver.h"
#include "kdtree/split/split_exact.cuh"
#include "tests/allocators/platform/lockstep_warp.h"
#include "tests/kdtree/levels/level_tests.h"

namespace heapwood::kdtree::tests {
namespace {

template <unsigned N>
struct LevelThreads {
    static constexpr bool kSlowly = false;
    static constexpr allocators::Place kPlace = allocators::Place::host;
    static constexpr std::uint64_t kTriangles = kSlow ? 400 : 3000;
    static bool available() { return true; }
    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config, RunConfig run) {
        run.threads = N;
        return build_by_levels_on_cpu(scene, config, run);
    }
};

/// Two warps of 32 threads each.
struct LevelLockstep {
    using Search = ExactSearch;
    static constexpr bool kSlowly = true;
    static constexpr allocators::Place kPlace = allocators::Place::host;
    static constexpr std::uint64_t kTriangles = kSlow ? 40 : 120;
    static constexpr unsigned kWarps = 2;
    static bool available() { return true; }

    allocators::Place place() const { return kPlace; }
    std::uint32_t warps() const { return kWarps; }
    template <class F>
    void for_each(std::uint32_t n, const F& f) {
        for (std::uint32_t i = 0; i < n; ++i) f(i);
    }
    template <class F>
    void for_each_warp(std::uint32_t n, const F& f) {
        std::vector<typename F::Scratch> scratch(kWarps);
        heapwood::tests::run_lockstep(kWarps, [&](const auto& warp, unsigned w) {
            for (std::uint32_t i = w; i < n; i += kWarps) {
                f(warp, scratch[w], i);
                warp.sync();  // the scratch memory's next use
            }
        });
    }
    void exclusive_scan(allocators::ArrayPool&, Needs* values, std::uint32_t n) {
        std::exclusive_scan(values, values + n, values, Needs{});
    }
    void copy(void* to, const void* from, std::uint64_t bytes) {
        if (bytes > 0) std::memcpy(to, from, bytes);
    }
    template <class F>
    double time(const F& f) {
        f();
        return 0;
    }
    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config,
                             const RunConfig& run) {
        LevelLockstep machine;
        return drive_levels(machine, scene, config, run);
    }
};

using LevelMachines = ::testing::Types<LevelThreads<1>, LevelThreads<4>, LevelLockstep>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, LevelTest, LevelMachines);

TEST(LevelBuilder, BuildsTheModelsTrees) {
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        const auto scene = scenes::load(entry.path().string());
        const BuildConfig config;
        EXPECT_EQ(digest(build_by_levels_on_cpu(scene, config, {}).tree),
                  digest(plain_tree(scene, config)))
            << scene.path;
    }
}

TEST(LevelBuilder, RefusesBadConfigurationsAndScenes) {
    BuildConfig config;
    config.exact_limit = 65;
    EXPECT_THROW(build_by_levels_on_cpu(scenes::generate({"soup", 10, 1}), config, {}),
                 std::invalid_argument);
    EXPECT_THROW(build_by_levels_on_cpu(scenes::Scene{}, BuildConfig{}, {}), std::invalid_argument);
}

TEST(LevelCuts, AreKeptInOrder) {
    Cuts cuts;
    EXPECT_EQ(cuts.count(), 0U);
    for (unsigned k = 0; k < 6; ++k) EXPECT_TRUE(cuts.add((k + 1) % 3, k % 2 == 0));
    for (unsigned k = 0; k < 6; ++k) EXPECT_FALSE(cuts.add((k + 1) % 3, k % 2 == 0));
    ASSERT_EQ(cuts.count(), 6U);
    for (unsigned k = 0; k < 6; ++k) {
        EXPECT_EQ(cuts.axis(k), (k + 1) % 3);
        EXPECT_EQ(cuts.lower(k), k % 2 == 0);
    }
}

}  // namespace
}  // namespace heapwood::kdtree::tests
