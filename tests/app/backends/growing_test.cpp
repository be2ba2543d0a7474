/// @file
/// Builds whose pool is far too small and grows: they have the trees of a large pool, keep to their
/// limit, and say so.
///
/// Compiled twice, as backends_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "kdtree/built_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/generators.h"
#include "tests/kdtree/dice.h"

namespace heapwood::app {
namespace {

using kdtree::BuildConfig;
using kdtree::Status;

constexpr bool kGpu = HEAPWOOD_TEST_GPU;

class GrowingBuilds : public ::testing::Test {
protected:
    void SetUp() override {
        if (kGpu && !platform::device_available()) GTEST_SKIP() << platform::device_absence();
    }
    static std::vector<const Backend*> subjects() {
        std::vector<const Backend*> result;
        std::ranges::copy_if(growing_backends(), std::back_inserter(result),
                             [](const Backend* backend) { return backend->gpu == kGpu; });
        EXPECT_FALSE(result.empty());
        return result;
    }
    scenes::Scene scene(std::uint64_t least, std::uint64_t most) {
        static constexpr const char* kNames[] = {"soup", "sphere", "city", "hair"};
        const std::uint64_t triangles = least + dice_() % (most - least);
        return scenes::generate({kNames[dice_() % std::size(kNames)], triangles, dice_()});
    }
    /// @param tenths of the root node's array, for the pool and its end
    static RunOptions run(const Backend& backend, const scenes::Scene& scene, std::uint64_t tenths,
                          std::uint64_t end) {
        const std::uint64_t root = kdtree::root_array_bytes(scene.triangles.size());
        RunOptions run;
        run.threads = 2;
        run.repeat = 2;
        run.warm_up = 0;
        run.statistics = false;
        run.pool_bytes = std::max(root * tenths / 10, backend.traits.smallest_pool);
        run.grow_to = root * end / 10;
        return run;
    }
    /// By a pool that need not grow.
    static std::uint64_t digest(const Backend& growing, const scenes::Scene& scene) {
        const Backend* const plain = find_backend(growing.traits.name, kGpu);
        const MeasuredBuild built =
            plain->build(scene, BuildConfig(), run(growing, scene, 4000, 0));
        EXPECT_EQ(built.status, Status::done) << built.message;
        EXPECT_FALSE(built.growth) << "this pool cannot grow";
        return kdtree::digest(built.tree);
    }

    kdtree::tests::Dice dice_;
};

// The root's array and its children's are live at one time: twice the root's array, at least.

TEST_F(GrowingBuilds, HaveTheTreesOfLargePools) {
    for (const Backend* backend : subjects()) {
        for (unsigned n = 0; n < 3; ++n) {
            const scenes::Scene scene = this->scene(1000, 4000);
            const RunOptions run = this->run(*backend, scene, 12, 4000);
            const MeasuredBuild built = backend->build(scene, BuildConfig(), run);
            ASSERT_EQ(built.status, Status::done) << backend->traits.name << ": " << built.message;
            EXPECT_EQ(kdtree::digest(built.tree), digest(*backend, scene)) << backend->traits.name;
            ASSERT_TRUE(built.growth);
            EXPECT_GE(built.growth->times, 1U);
            EXPECT_GT(built.growth->bytes, 0U);
            EXPECT_LE(built.pool_bytes - built.growth->bytes, run.pool_bytes + 4096);
            EXPECT_EQ(built.memory.pool, built.pool_bytes);
            EXPECT_LE(built.pool_bytes, run.grow_to);
            EXPECT_EQ(built.milliseconds.size(), 2U);
            EXPECT_EQ(built.leaked_bytes > 0, !backend->traits.full) << backend->traits.name;
        }
    }
}

TEST_F(GrowingBuilds, CountTheirRequestsInAPoolThatGrows) {
    for (const Backend* backend : subjects()) {
        const scenes::Scene scene = this->scene(1000, 2000);
        RunOptions run = this->run(*backend, scene, 12, 4000);
        run.repeat = 1;
        run.statistics = true;
        const MeasuredBuild built = backend->build(scene, BuildConfig(), run);
        ASSERT_EQ(built.status, Status::done) << built.message;
        ASSERT_TRUE(built.allocations) << backend->traits.name;
        EXPECT_GE(built.allocations->peak_live_bytes, 2 * built.root_bytes);
        EXPECT_GE(built.growth->times, 1U);
    }
}

TEST_F(GrowingBuilds, KeepToTheirLimitAndSaySo) {
    for (const Backend* backend : subjects()) {
        const scenes::Scene scene = this->scene(3000, 5000);
        const RunOptions run = this->run(*backend, scene, 12, 17);
        const MeasuredBuild built = backend->build(scene, BuildConfig(), run);
        EXPECT_EQ(built.status, Status::pool_exhausted) << backend->traits.name;
        EXPECT_NE(built.message.find("the pool may have " + std::to_string(run.grow_to) + " bytes"),
                  std::string::npos)
            << backend->traits.name << ": " << built.message;
        EXPECT_LE(built.pool_bytes, run.grow_to) << backend->traits.name;
        EXPECT_TRUE(built.tree.nodes.empty());
    }
}

TEST_F(GrowingBuilds, FailAsBeforeWhereTheyMayNotGrow) {
    for (const Backend* backend : subjects()) {
        const scenes::Scene scene = this->scene(3000, 5000);
        const RunOptions run = this->run(*backend, scene, 12, 0);
        const BuildConfig config;
        const MeasuredBuild growing = backend->build(scene, config, run);
        const MeasuredBuild plain =
            find_backend(backend->traits.name, kGpu)->build(scene, config, run);
        EXPECT_EQ(plain.status, Status::pool_exhausted) << backend->traits.name;
        EXPECT_EQ(growing.status, plain.status) << backend->traits.name;
        EXPECT_EQ(growing.growth->times, 0U);
        EXPECT_EQ(growing.message.find(';'), plain.message.find(';')) << growing.message;
    }
}

TEST_F(GrowingBuilds, ALiveTreeKeepsWhatItsPoolHasGrownBy) {
    for (const Backend* backend : subjects()) {
        const scenes::Scene scene = this->scene(1000, 2000);
        const RunOptions run = this->run(*backend, scene, 12, 4000);
        const std::unique_ptr<LiveTree> live =
            backend->make_live_tree(scene.triangles.size(), BuildConfig(), run);
        const std::uint64_t expected = digest(*backend, scene);
        std::uint64_t bytes = 0;
        for (unsigned n = 0; n < 3; ++n) {
            live->rebuild(scene, nullptr);
            EXPECT_EQ(kdtree::digest(live->to_host()), expected) << backend->traits.name;
            const kdtree::BuildResult& result = live->result();
            ASSERT_TRUE(result.growth);
            EXPECT_GE(result.growth->times, 1U);
            // But for what an allocator rounds when several parts become one.
            EXPECT_GE(result.pool_bytes, bytes - bytes / 64);
            EXPECT_TRUE(n > 0 || result.enlarged) << "a captured graph has an old handle";
            bytes = result.pool_bytes;
        }
        EXPECT_LE(bytes, run.grow_to);
    }
}

}  // namespace
}  // namespace heapwood::app
