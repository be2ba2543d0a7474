/// @file
/// What `build` makes of builders that fail in every way a real one should not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <new>
#include <stdexcept>

#include "allocators/memory/buffer.h"
#include "app/backends/backend.h"
#include "app/verbs/commands.h"

namespace heapwood::app {
namespace {

using kdtree::Node;

/// The tree of one leaf with all triangles, which is right for any scene.
MeasuredBuild one_leaf(const scenes::Scene& scene, const kdtree::BuildConfig&,
                       const RunOptions& run) {
    MeasuredBuild result{};
    const auto count = static_cast<std::uint32_t>(scene.triangles.size());
    result.tree.nodes = {Node::leaf(0, count)};
    for (std::uint32_t i = 0; i < count; ++i) result.tree.references.push_back(i);
    result.tree.bounds = {scene.bounds.lo, scene.bounds.hi};
    result.milliseconds.assign(run.repeat, 1.0);
    result.pool_bytes = run.pool_bytes;
    return result;
}

MeasuredBuild lost_triangle(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                            const RunOptions& run) {
    MeasuredBuild result = one_leaf(scene, config, run);
    result.tree.references.pop_back();
    result.tree.nodes = {Node::leaf(0, static_cast<std::uint32_t>(scene.triangles.size() - 1))};
    return result;
}

MeasuredBuild leak(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                   const RunOptions& run) {
    MeasuredBuild result = one_leaf(scene, config, run);
    result.leaked_bytes = 16;
    return result;
}

/// Needs exactly 100 MiB.
MeasuredBuild hungry(const scenes::Scene& scene, const kdtree::BuildConfig& config,
                     const RunOptions& run) {
    if (run.pool_bytes >= 100U << 20) return one_leaf(scene, config, run);
    MeasuredBuild result{};
    result.status = kdtree::Status::pool_exhausted;
    result.message = "no room";
    return result;
}

MeasuredBuild insatiable(const scenes::Scene&, const kdtree::BuildConfig&, const RunOptions&) {
    MeasuredBuild result{};
    result.status = kdtree::Status::pool_exhausted;
    result.message = "no room";
    return result;
}

template <class Error>
MeasuredBuild throws(const scenes::Scene&, const kdtree::BuildConfig&, const RunOptions&) {
    throw Error("as a test wants it");
}

MeasuredBuild throws_bad_alloc(const scenes::Scene&, const kdtree::BuildConfig&,
                               const RunOptions&) {
    throw std::bad_alloc();
}

constexpr Backend backend(const char* name, decltype(Backend::build) build, bool full = true) {
    return {.traits = {.name = name,
                       .title = name,
                       .source = "",
                       .frees_individually = true,
                       .full = full,
                       .walkable = true,
                       .header_bytes = 0,
                       .smallest_pool = 4096},
            .gpu = false,
            .build = build};
}

struct Outcome {
    ExitCode code;
    nlohmann::json results;
};

/// Runs the verb with these builders, each verified.
Outcome run(const std::vector<Backend>& builders, const char* pool = "64KiB",
            bool minimal_pool = false) {
    std::vector<const Backend*> available;
    available.reserve(builders.size());
    for (const Backend& b : builders) available.push_back(&b);
    BuildOptions options;
    options.scene = "gen:soup:10";
    options.allocators = {"all"};
    options.device = DeviceChoice::cpu;
    options.pool = PoolSize::parse(pool);
    options.measure.minimal_pool = minimal_pool;
    options.measure.verify = true;
    options.output.json = "-";
    testing::internal::CaptureStdout();
    const ExitCode code = build(options, available);
    const std::string json = testing::internal::GetCapturedStdout();
    return {code, nlohmann::json::parse(json).at("results")};
}

TEST(Build, GoodBuilderPasses) {
    const Outcome outcome = run({backend("good", one_leaf)});
    EXPECT_EQ(outcome.code, ExitCode::done);
    EXPECT_EQ(outcome.results.at(0).at("tree").at("verified"), true);
    EXPECT_EQ(outcome.results.at(0).at("tree").at("references"), 10);
}

TEST(Build, WrongTreeFailsVerification) {
    const Outcome outcome = run({backend("wrong", lost_triangle)});
    EXPECT_EQ(outcome.code, ExitCode::verification_failed);
    EXPECT_EQ(outcome.results.at(0).at("outcome"), "verification_failed");
    EXPECT_EQ(outcome.results.at(0).at("tree").at("verified"), false);
}

TEST(Build, AllLeavesOutSpecimens) {
    Backend specimen = backend("specimen", lost_triangle);
    specimen.traits.sound = false;
    const Outcome outcome = run({specimen, backend("good", one_leaf)});
    EXPECT_EQ(outcome.code, ExitCode::done);
    ASSERT_EQ(outcome.results.size(), 1U);
    EXPECT_EQ(outcome.results.at(0).at("build").at("allocator"), "good");
}

TEST(Build, DifferentTreesFailEvenUnverified) {
    std::vector<Backend> builders{backend("good", one_leaf), backend("wrong", lost_triangle)};
    std::vector<const Backend*> available{&builders[0], &builders[1]};
    BuildOptions options;
    options.scene = "gen:soup:10";
    options.allocators = {"good", "wrong"};
    options.device = DeviceChoice::cpu;
    testing::internal::CaptureStdout();
    EXPECT_EQ(build(options, available), ExitCode::verification_failed);
    EXPECT_NE(testing::internal::GetCapturedStdout().find("THE TREES DIFFER"), std::string::npos);
}

TEST(Build, LeakFailsForFullAllocatorsOnly) {
    EXPECT_EQ(run({backend("leaky", leak)}).code, ExitCode::verification_failed);
    EXPECT_EQ(run({backend("bump", leak, false)}).code, ExitCode::done);
}

TEST(Build, TrialFindsAPoolThatIsEnough) {
    const Outcome outcome = run({backend("hungry", hungry)}, "30MiB");
    EXPECT_EQ(outcome.code, ExitCode::out_of_memory);
    EXPECT_EQ(outcome.results.at(0).at("message"),
              "no room; a pool of 120MiB (120 MiB) was enough in a trial: use --pool 120MiB");
}

TEST(Build, TellsWhatWouldHaveBeenOverwrittenFromAFullPool) {
    const auto overwrites = [](const scenes::Scene& scene, const kdtree::BuildConfig& config,
                               const RunOptions& run) {
        MeasuredBuild result = hungry(scene, config, run);
        result.overwritten = result.status != kdtree::Status::done;
        return result;
    };
    const Outcome outcome = run({backend("ring", overwrites, false)}, "64MiB");
    EXPECT_EQ(outcome.code, ExitCode::out_of_memory);
    EXPECT_EQ(outcome.results.at(0).at("outcome"), "overwritten");
    const std::string message = outcome.results.at(0).at("message");
    EXPECT_NE(message.find("use --pool 128MiB"), std::string::npos) << message;
}

TEST(Build, TrialEndsWithTheMemory) {
    const Outcome outcome = run({backend("insatiable", insatiable)});
    EXPECT_EQ(outcome.code, ExitCode::out_of_memory);
    const std::string message = outcome.results.at(0).at("message");
    EXPECT_NE(message.find("no larger pool"), std::string::npos) << message;
}

TEST(Build, PoolBelowTheAllocatorsSmallestIsNotTried) {
    const Outcome outcome = run({backend("good", one_leaf)}, "3KiB");
    EXPECT_EQ(outcome.code, ExitCode::out_of_memory);
    EXPECT_EQ(outcome.results.at(0).at("message"),
              "a pool of 3.0 KiB is below the 4.0 KiB that this allocator needs; a pool of 6KiB "
              "(6.0 KiB) was enough in a trial: use --pool 6KiB");
}

TEST(Build, FindsTheMinimalPool) {
    const Outcome outcome =
        run({backend("hungry", hungry), backend("frugal", one_leaf)}, "1GiB", true);
    EXPECT_EQ(outcome.code, ExitCode::done);
    const std::uint64_t hungry_pool = outcome.results.at(0).at("build").at("minimal_pool_bytes");
    EXPECT_GE(hungry_pool, 100U << 20);
    EXPECT_LE(hungry_pool, 102U << 20) << "to 2 %";
    EXPECT_EQ(outcome.results.at(0).at("build").at("pool_bytes"), 1U << 30) << "of the build";
    EXPECT_EQ(outcome.results.at(1).at("build").at("minimal_pool_bytes"), 4096)
        << "the allocator's own limit";
}

TEST(Build, LooksForNoMinimalPoolUnasked) {
    const Outcome outcome = run({backend("hungry", hungry)}, "1GiB");
    EXPECT_TRUE(outcome.results.at(0).at("build").at("minimal_pool_bytes").is_null());
}

TEST(Build, ErrorsOfOneDoNotStopTheOthers) {
    const Outcome outcome = run({backend("a", throws<std::runtime_error>),
                                 backend("b", throws<allocators::BufferError>),
                                 backend("c", throws_bad_alloc), backend("d", one_leaf)});
    EXPECT_EQ(outcome.code, ExitCode::internal) << "the first failure's";
    EXPECT_EQ(outcome.results.at(0).at("outcome"), "failed");
    EXPECT_EQ(outcome.results.at(0).at("message"), "as a test wants it");
    EXPECT_EQ(outcome.results.at(1).at("outcome"), "out_of_memory");
    EXPECT_EQ(outcome.results.at(2).at("outcome"), "out_of_memory");
    EXPECT_EQ(outcome.results.at(3).at("outcome"), "done");
}

TEST(Build, WrongTreeWeighsMoreThanMissingMemory) {
    EXPECT_EQ(run({backend("a", throws_bad_alloc), backend("b", lost_triangle)}).code,
              ExitCode::verification_failed);
}

}  // namespace
}  // namespace heapwood::app
