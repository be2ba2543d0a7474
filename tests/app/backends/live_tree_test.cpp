/// @file
/// Live trees of every allocator: frame after frame has the tree, and the hits, of its scene, and
/// after a build that has failed comes one that has not.
///
/// Compiled twice, as backends_test.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "app/backends/frame_runs.h"
#include "kdtree/built_tree.h"
#include "kdtree/rays/ray_batch.h"
#include "scenes/generators.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BuildConfig;
using kdtree::Hit;
using kdtree::Ray;

constexpr Place kPlace = HEAPWOOD_TEST_GPU ? Place::device : Place::host;
constexpr std::uint64_t kPool = std::uint64_t{HEAPWOOD_TEST_GPU ? 256 : 16} << 20;

class LiveTrees : public ::testing::Test {
protected:
    void SetUp() override {
        if (kPlace == Place::device && !platform::device_available()) {
            GTEST_SKIP() << platform::device_absence();
        }
    }
    /// The allocators that a user may take.
    static std::vector<const Backend*> subjects() {
        std::vector<const Backend*> result;
        for (const Backend* backend : backends()) {
            if (backend->gpu == (kPlace == Place::device) && sound(*backend).value_or(false))
                result.push_back(backend);
        }
        EXPECT_FALSE(result.empty());
        return result;
    }
    scenes::Scene scene(std::uint64_t triangles) {
        return scenes::generate({"soup", triangles, dice_()});
    }
    std::vector<Ray> rays(std::uint64_t count) {
        std::vector<Ray> result(count);
        for (Ray& ray : result) ray = {dice_.point(0, 1), dice_.point(-1, 1), 0, 10};
        return result;
    }

    kdtree::tests::Dice dice_;
};

std::vector<Hit> hits_of(const kdtree::RayTree& tree, const std::vector<Ray>& rays) {
    Buffer there(tree.place(), rays.size() * sizeof(Ray));
    Buffer hits(tree.place(), rays.size() * sizeof(Hit));
    there.write(0, rays.data(), there.size());
    closest_hits(tree, there.as<Ray>(), rays.size(), hits.as<Hit>());
    wait(tree);
    std::vector<Hit> result(rays.size());
    hits.read(0, result.data(), hits.size());
    return result;
}

void expect_equal(const std::vector<Hit>& a, const std::vector<Hit>& b) {
    unsigned found = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i].found(), b[i].found()) << "ray " << i;
        if (!a[i].found()) continue;
        ++found;
        ASSERT_EQ(a[i].t, b[i].t) << "ray " << i;
        ASSERT_EQ(a[i].triangle, b[i].triangle) << "ray " << i;
    }
    EXPECT_GT(found, 0U) << "the rays are no test";
}

TEST_F(LiveTrees, HaveTheTreeAndTheHitsOfEachFrame) {
    const BuildConfig config;
    // The third frame has more triangles than there is room for.
    const std::vector<scenes::Scene> frames = {scene(300), scene(20), scene(500), scene(400)};
    const std::vector<Ray> rays = this->rays(300);
    std::vector<std::uint64_t> digests;
    std::vector<std::vector<Hit>> hits;
    for (const scenes::Scene& frame : frames) {
        const kdtree::Tree tree = kdtree::tests::plain_tree(frame, config);
        digests.push_back(digest(tree));
        hits.push_back(hits_of(kdtree::RayTree(tree, frame, Place::host), rays));
    }
    for (const Backend* backend : subjects()) {
        SCOPED_TRACE(backend->traits.title);
        const auto live = backend->make_live_tree(300, config, {.pool_bytes = kPool, .threads = 2});
        for (std::size_t i = 0; i < frames.size(); ++i) {
            if (i % 2 == 0) {
                live->rebuild(frames[i], nullptr);
            } else {
                live->rebuild(PlacedFrame(frames[i], kPlace).frame(), nullptr);
                wait(live->rays());  // the frame's memory goes
            }
            EXPECT_EQ(digest(live->to_host()), digests[i]) << "frame " << i;
            EXPECT_EQ(live->result().status, kdtree::Status::done);
            ASSERT_NO_FATAL_FAILURE(expect_equal(hits_of(live->rays(), rays), hits[i]));
        }
    }
}

TEST_F(LiveTrees, GiveTheirTreesUp) {
    const BuildConfig config;
    const scenes::Scene scene = this->scene(400);
    const std::vector<Ray> rays = this->rays(300);
    const kdtree::Tree tree = kdtree::tests::plain_tree(scene, config);
    const std::vector<Hit> hits = hits_of(kdtree::RayTree(tree, scene, Place::host), rays);
    for (const Backend* backend : subjects()) {
        SCOPED_TRACE(backend->traits.title);
        auto live = backend->make_live_tree(500, config, {.pool_bytes = kPool, .threads = 2});
        live->rebuild(PlacedFrame(this->scene(500), kPlace).frame(), nullptr);  // more nodes
        const std::uint64_t live_pool = live->result().pool_bytes;
        live->rebuild(PlacedFrame(scene, kPlace).frame(), nullptr);
        const kdtree::FinishedTree finished = live->finished(nullptr);
        live.reset();
        // Another build writes to the memory that the first one has given back.
        backend->make_live_tree(500, config, {.pool_bytes = kPool, .threads = 2})
            ->rebuild(this->scene(500), nullptr);
        EXPECT_EQ(digest(finished.to_host()), digest(tree));
        ASSERT_NO_FATAL_FAILURE(expect_equal(hits_of(finished.rays(), rays), hits));
        EXPECT_EQ(finished.result().status, kdtree::Status::done);
        EXPECT_TRUE(finished.result().tree.nodes.empty());
        EXPECT_GT(finished.result().memory.nodes, 0U);
        EXPECT_EQ(finished.result().memory.pool, live_pool);
    }
}

TEST_F(LiveTrees, HaveNoHitsAfterABuildThatHasFailed) {
    BuildConfig config;
    config.max_nodes = 2000;  // a GPU has some for each multiprocessor
    const scenes::Scene small = scene(20);
    const scenes::Scene large = scene(4000);
    const std::vector<Ray> rays = this->rays(100);
    for (const Backend* backend : subjects()) {
        SCOPED_TRACE(backend->traits.title);
        const auto live = backend->make_live_tree(4000, config, {.pool_bytes = kPool, .threads = 2});
        live->rebuild(small, nullptr);
        const std::uint64_t tree = digest(live->to_host());
        EXPECT_THROW(live->rebuild(large, nullptr), kdtree::BuildError);
        EXPECT_EQ(live->result().status, kdtree::Status::nodes_exhausted);
        for (const Hit& hit : hits_of(live->rays(), rays)) EXPECT_FALSE(hit.found());
        live->rebuild(small, nullptr);
        EXPECT_EQ(digest(live->to_host()), tree);
    }
}

}  // namespace
}  // namespace heapwood::app
