/// @file
/// Builds and batches of rays that are told to stop: they end, and leave nothing behind.
#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

#include "allocators/hybrid.cuh"
#include "kdtree/builder.h"
#include "kdtree/levels/level_builder.h"
#include "kdtree/rays/ray_batch.h"
#include "scenes/generators.h"

namespace heapwood::kdtree::tests {
namespace {

std::stop_token stopped() {
    std::stop_source source;
    source.request_stop();
    return source.get_token();
}

const scenes::Scene& sphere() {
    static const scenes::Scene all = scenes::generate({"sphere", 3000, 1});
    return all;
}

TEST(Interrupted, ABuildFreesAllAndSaysSo) {
    for (const unsigned threads : {1U, 3U}) {
        const RunConfig run{.pool_bytes = 64 << 20, .threads = threads, .stop = stopped()};
        const BuildResult result = build_on_cpu<allocators::Hybrid>(sphere(), {}, run);
        EXPECT_EQ(result.status, Status::interrupted);
        EXPECT_EQ(result.message, "the build was interrupted");
        EXPECT_EQ(result.leaked_bytes, 0U);
        EXPECT_TRUE(result.tree.nodes.empty());
        EXPECT_EQ(build_by_levels_on_cpu(sphere(), {}, run).status, Status::interrupted);
    }
}

/// Asks for a stop at one of its requests for both children of a node, as another thread may at any
/// time.
class Stops : public allocators::Hybrid {
public:
    using Hybrid::Hybrid;
    class Ref : public Hybrid::Ref {
    public:
        explicit Ref(const Hybrid::Ref& ref) : Hybrid::Ref(ref) {}
        bool allocate_pair(const allocators::Context& context, const std::size_t (&bytes)[2],
                           void* (&blocks)[2]) const {
            if (--left == 0) source.request_stop();
            return Hybrid::Ref::allocate_pair(context, bytes, blocks);
        }
    };
    Ref ref() const { return Ref(Hybrid::ref()); }

    static inline int left = 0;
    static inline std::stop_source source;
};

TEST(Interrupted, ABuildEndsWhereverItIs) {
    std::vector<int> requests;
    for (int at = 1;; at += at / 3 + 1) {
        Stops::left = at;
        Stops::source = {};
        const BuildResult result = build_on_cpu<Stops>(
            sphere(), {},
            {.pool_bytes = 64 << 20, .threads = 1, .stop = Stops::source.get_token()});
        EXPECT_EQ(result.leaked_bytes, 0U) << at;
        if (result.status == Status::done) break;
        EXPECT_EQ(result.status, Status::interrupted) << at;
        requests.push_back(at - Stops::left);
    }
    ASSERT_GT(requests.size(), 5U);
    for (std::size_t i = 0, at = 1; i < requests.size(); ++i, at += at / 3 + 1) {
        EXPECT_LE(requests[i], static_cast<int>(at) + 20) << "few requests after the stop";
    }
}

TEST(Interrupted, ABatchTracesNoMoreRays) {
    const BuildResult built =
        build_on_cpu<allocators::Hybrid>(sphere(), {}, {.pool_bytes = 64 << 20});
    const RayTree tree(built.tree, sphere(), allocators::Place::host);
    const std::vector<Ray> rays(5000, Ray{{0, 0, 0}, {1, 2, 3}, 0, 100});
    const BatchOptions options{.threads = 2, .stop = stopped()};
    std::vector<Hit> hits(rays.size(), Hit{});
    std::vector<std::uint32_t> words(rays.size(), 77);
    any_hits(tree, rays.data(), rays.size(), words.data(), options);
    count_hits(tree, rays.data(), rays.size(), words.data(), options);
    EXPECT_EQ(words, std::vector<std::uint32_t>(rays.size(), 77));
    closest_hits(tree, rays.data(), rays.size(), hits.data(), options);
    for (const Hit& hit : hits) EXPECT_FALSE(hit.found());
    EXPECT_EQ(all_hits(tree, rays.data(), rays.size(), options).total, 0U);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
