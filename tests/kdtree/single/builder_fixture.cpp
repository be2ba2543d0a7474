#include "tests/kdtree/single/builder_fixture.h"

#include "tests/kdtree/plain_tree.h"

namespace heapwood::kdtree::tests {

std::deque<BuildSubject>& build_subjects() {
    static std::deque<BuildSubject> all;
    return all;
}

void BuilderFixture::SetUp() {
    if (!subject().available()) GTEST_SKIP() << subject().name << ": no such device";
}

void BuilderFixture::expect_tree(const scenes::Scene& scene, const BuildConfig& config,
                                 std::uint64_t wanted, const std::string& what) {
    const BuildResult result = build(scene, config);
    ASSERT_EQ(result.status, Status::done) << scene.path << what << ": " << result.message;
    EXPECT_EQ(result.message, "");
    EXPECT_EQ(digest(result.tree), wanted) << scene.path << what;
    if (traits().full) {
        EXPECT_EQ(result.leaked_bytes, 0U) << scene.path << what;
    }
}

void BuilderFixture::expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config,
                                       const std::string& what) {
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    expect_tree(scene, config, wanted, what);
    expect_tree(scene, large_arrays(config), wanted, what + ", large arrays");
}

void BuilderFixture::expect_pool_is_whole(const Attempt& a, const std::string& what) {
    if (traits().frees_individually && !traits().splittable) {
        EXPECT_EQ(a.statistics.requests - a.statistics.failed, a.statistics.frees) << what;
    }
    if (traits().full) {
        EXPECT_EQ(a.leaked_bytes, 0U) << what;
    }
}

BuildConfig BuilderFixture::busy() {
    BuildConfig config;
    config.exact_limit = lockstep() ? 16 : 32;
    config.snap_limit = lockstep() ? 40 : 128;
    config.large_limit = lockstep() ? 32 : 64;
    config.chunk = 32;
    return config;
}

}  // namespace heapwood::kdtree::tests
