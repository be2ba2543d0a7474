/// @file
/// Whole builds with every sound allocator, through the builders that the program consists of:
/// whatever allocator, machine and schedule, the tree is that of one thread with AtomicMalloc
/// (which tests/kdtree/tree/tree_correctness_test.cpp finds correct), a pool that is too small ends
/// in a message, and a recorded build can be replayed. tests/kdtree/single/builder_test.cpp goes
/// further with a few of the allocators.
///
/// Compiled twice: HEAPWOOD_TEST_GPU is 0 for the CPU's builders, 1 for the GPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "app/measure/workloads/perform.h"
#include "kdtree/config.h"
#include "kdtree/model/reference.cuh"
#include "kdtree/tree/verify.h"
#include "scenes/generators.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/seed.h"

namespace heapwood::app {

/// How GoogleTest shows a parameter: not by its address, which is another one every time.
void PrintTo(const Backend* backend, std::ostream* out);
void PrintTo(const Backend* backend, std::ostream* out) {
    *out << backend->traits.title;
}

namespace {

using kdtree::BuildConfig;
using kdtree::Node;
using kdtree::root_array_bytes;
using kdtree::Status;

constexpr bool kGpu = HEAPWOOD_TEST_GPU;
/// Whether each step takes ten times as long as usual.
#if defined(__SANITIZE_THREAD__)
constexpr bool kSlow = true;
#else
constexpr bool kSlow = false;
#endif
/// CUDA's pool cannot grow within a process: all but the tests of sizes have one as large.
constexpr std::uint64_t kPool = std::uint64_t{kGpu ? 256 : 64} << 20;
constexpr std::uint64_t kTriangles = kSlow ? 400 : 2000;

/// The allocators of the tests: all but the specimens.
std::vector<const Backend*> subjects() {
    std::vector<const Backend*> result;
    for (const Backend* backend : backends()) {
        if (backend->gpu == kGpu && backend->traits.sound) result.push_back(backend);
    }
    return result;
}

/// How many threads build: on a GPU, as many warps as are resident.
std::vector<unsigned> thread_counts() {
    return kGpu ? std::vector{0U} : std::vector{1U, 2U, 8U};
}

RunOptions run_options(std::uint64_t pool_bytes, unsigned threads, unsigned repeat = 1) {
    RunOptions run{{.pool_bytes = pool_bytes, .threads = threads}};
    run.repeat = repeat;
    run.warm_up = 0;
    run.statistics = false;
    return run;
}

/// Nodes are large, medium and small even in small scenes.
BuildConfig busy() {
    BuildConfig config;
    config.large_limit = 64;
    config.chunk = 32;
    return config;
}

/// What all others are compared with.
kdtree::Tree plain_tree(const scenes::Scene& scene, const BuildConfig& config) {
    const std::uint64_t pool = kPool + 200 * root_array_bytes(scene.triangles.size());
    const MeasuredBuild result =
        find_backend("atomicmalloc", false)->build(scene, config, run_options(pool, 1));
    EXPECT_EQ(result.status, Status::done) << scene.path << ": " << result.message;
    return result.tree;
}

/// A scene and the digest of its tree.
struct Sample {
    scenes::Scene scene;
    BuildConfig config;
    std::uint64_t digest;
};

Sample sample(scenes::Scene scene, const BuildConfig& config) {
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    return {std::move(scene), config, wanted};
}

/// Every generator's scene, our models (where they are at hand) and every awkward kind; made once.
const std::vector<Sample>& samples() {
    static const std::vector<Sample> all = [] {
        std::vector<Sample> result;
        const std::uint64_t seed = heapwood::tests::test_seed();
        for (const scenes::GeneratorInfo& info : scenes::generators()) {
            result.push_back(
                sample(scenes::generate({std::string(info.name), kTriangles, seed}), busy()));
        }
        result.push_back(sample(scenes::generate({"soup", kTriangles, seed}), BuildConfig{}));
#if defined(HEAPWOOD_MODELS_DIR)
        for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
            result.push_back(sample(scenes::load(entry.path().string()), busy()));
        }
#endif
        for (const std::string& kind : kdtree::tests::scene_kinds()) {
            for (const unsigned count : {1U, 34U, 150U}) {
                result.push_back(sample(kdtree::tests::random_scene(kind, count, seed), busy()));
            }
        }
        return result;
    }();
    return all;
}

class BackendTest : public ::testing::TestWithParam<const Backend*> {
protected:
    void SetUp() override {
        if (kGpu && !platform::device_available()) GTEST_SKIP() << platform::device_absence();
    }
    const allocators::Traits& traits() const { return GetParam()->traits; }
    MeasuredBuild build(const scenes::Scene& scene, const BuildConfig& config,
                        const RunOptions& options) const {
        return GetParam()->build(scene, config, options);
    }
    /// The build is done and right, and nothing is left in the pool.
    void expect_tree(const MeasuredBuild& result, std::uint64_t wanted,
                     const std::string& what) const {
        ASSERT_EQ(result.status, Status::done) << what << ": " << result.message;
        EXPECT_EQ(result.message, "") << what;
        EXPECT_EQ(digest(result.tree), wanted) << what;
        if (traits().full) {
            EXPECT_EQ(result.leaked_bytes, 0U) << what;
        }
    }
    void expect_plausible(const allocators::PeakUse& peak, const allocators::Statistics& s,
                          unsigned threads) const {
        // One thread gets as far again; others, about as far.
        if (threads == 1) {
            EXPECT_EQ(peak.live_bytes, s.peak_live_bytes);
        } else {
            EXPECT_GE(peak.live_bytes, s.peak_live_bytes / 2);
        }
        EXPECT_GE(peak.allocated_bytes, peak.live_bytes);
        EXPECT_GE(peak.external_fragmentation, 0);
        EXPECT_LT(peak.external_fragmentation, 1);
        EXPECT_GE(peak.internal_fragmentation, 0);
        EXPECT_LT(peak.internal_fragmentation, 1);
        if (!traits().frees_individually && traits().header_bytes == 0) {
            // A single counter, and all sizes are multiples of the alignment.
            EXPECT_EQ(peak.allocated_bytes, peak.live_bytes);
            EXPECT_EQ(peak.external_fragmentation, 0);
            EXPECT_EQ(peak.internal_fragmentation, 0);
        }
    }
};

TEST_P(BackendTest, BuildsTheTreeOfOneThread) {
    for (const Sample& s : samples()) {
        for (const unsigned threads : thread_counts()) {
            // Two runs, so that a pool is used anew after reset().
            const MeasuredBuild result = build(s.scene, s.config, run_options(kPool, threads, 2));
            expect_tree(result, s.digest, s.scene.path + ", threads " + std::to_string(threads));
        }
    }
}

TEST_P(BackendTest, CountsWhatTheBuilderAsksFor) {
    for (const unsigned threads : thread_counts()) {
        const auto scene = scenes::generate({"soup", kTriangles, 1});
        RunOptions options = run_options(kPool, threads);
        options.statistics = true;
        const MeasuredBuild result = build(scene, busy(), options);
        ASSERT_EQ(result.status, Status::done) << result.message;
        // The root's array, and for a node whose children both have references one array for each;
        // or one for both, on a GPU also for several nodes that a warp makes at the same time.
        const std::uint64_t splits = kdtree::tests::divided_nodes(result.tree);
        const allocators::Statistics& s = result.allocations.value();
        const bool joint = !traits().frees_individually || traits().splittable;
        if (joint && kGpu) {
            EXPECT_LE(s.requests, 1 + splits);
            EXPECT_GT(s.requests, 1 + splits / 32);
        } else {
            EXPECT_EQ(s.requests, 1 + (joint ? 1 : 2) * splits);
        }
        EXPECT_EQ(s.failed, 0U);
        if (traits().frees_individually && !traits().splittable) {
            EXPECT_EQ(s.frees, s.requests);
        }
        EXPECT_GE(s.peak_live_bytes, result.root_bytes);
        ASSERT_EQ(result.peak.has_value(), traits().walkable);
        if (result.peak) expect_plausible(*result.peak, s, threads);
    }
}

TEST_P(BackendTest, BuildsFramesAsItBuildsScenes) {
    std::vector<scenes::Scene> frames;
    std::vector<std::uint64_t> wanted;
    for (const Sample& s : samples()) {
        if (s.config.large_limit != busy().large_limit) continue;
        frames.push_back(s.scene);
        wanted.push_back(s.digest);
    }
    std::vector<std::uint64_t> digests;
    const MeasuredFrames result = GetParam()->build_frames(
        frames, busy(), run_options(kPool, kGpu ? 0 : 2),
        [&](const scenes::Scene&, const kdtree::Tree& tree) { digests.push_back(digest(tree)); });
    ASSERT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(result.milliseconds.size(), frames.size());
    EXPECT_EQ(digests, wanted);
}

TEST_P(BackendTest, RecordsWhatTheBuilderAsksFor) {
    if (!traits().full) GTEST_SKIP() << "a trace has a free for every request";
    for (const unsigned threads : thread_counts()) {
        const auto scene = scenes::generate({"soup", kTriangles, 1});
        RunOptions options = run_options(kPool, threads);
        options.statistics = options.trace = true;
        const MeasuredBuild result = build(scene, busy(), options);
        ASSERT_EQ(result.status, Status::done) << result.message;
        ASSERT_TRUE(result.trace);
        const allocators::Trace& trace = *result.trace;
        // The counts of the same build; a block that is freed in parts is so many requests.
        const allocators::Statistics& s = result.allocations.value();
        const allocators::TraceFacts found = allocators::facts(trace);
        EXPECT_EQ(found.requests, traits().splittable ? s.frees : s.requests);
        EXPECT_EQ(found.frees, s.frees);
        EXPECT_NEAR(static_cast<double>(found.bytes),
                    s.mean_bytes * static_cast<double>(s.requests), 1e-6);
        EXPECT_EQ(found.largest, result.root_bytes);
        if (threads == 1) {
            EXPECT_EQ(found.peak_bytes, s.peak_live_bytes);
        }
        EXPECT_LE(trace.callers, result.warps);
        std::vector<unsigned> frees(found.requests);
        for (const allocators::TraceEvent& event : trace.events) {
            EXPECT_LT(event.caller, trace.callers);
            if (event.bytes == 0) ++frees[event.block];
        }
        EXPECT_EQ(frees, std::vector<unsigned>(found.requests, 1));
    }
}

/// The trace of a build by as many threads, or by a GPU, once.
const allocators::Trace& sample_trace() {
    static const allocators::Trace trace = [] {
        RunOptions options = run_options(kPool, kGpu ? 0 : 8);
        options.trace = true;
        const auto scene = scenes::generate({"soup", kTriangles, 1});
        return find_backend("hybrid", kGpu)->build(scene, busy(), options).trace.value();
    }();
    return trace;
}

TEST_P(BackendTest, ReplaysABuild) {
    const allocators::TraceFacts wanted = allocators::facts(sample_trace());
    for (const unsigned threads : thread_counts()) {
        const auto machine = kGpu ? gpu_workloads() : cpu_workloads(threads);
        Task task;
        task.procedure = Procedure::replay;
        task.pool_bytes = kPool;
        const bool frees = traits().frees_individually;
        const TaskResult result = replay_trace({.machine = *machine,
                                                .make = GetParam()->make_pool,
                                                .frees = frees,
                                                .threads = threads},
                                               task, sample_trace());
        EXPECT_EQ(result.outcome, Outcome::done) << result.message;
        EXPECT_EQ(result.counts,
                  (allocators::Counts{wanted.requests, frees ? wanted.frees : 0, 0, 0}));
    }
}

TEST_P(BackendTest, ReplaysABuildNoFasterThanItsPace) {
    allocators::Trace trace = sample_trace();
    const bool frees = traits().frees_individually;
    double last = 0;  // call that is replayed
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        trace.times.push_back(1000 * i);
        if (frees || trace.events[i].bytes != 0) last = 1000.0 * static_cast<double>(i);
    }
    Task task{.procedure = Procedure::replay, .pool_bytes = kPool, .pace = 2};
    const auto machine = kGpu ? gpu_workloads() : cpu_workloads(2);
    const TaskResult result = replay_trace(
        {.machine = *machine, .make = GetParam()->make_pool, .frees = frees, .threads = 2}, task,
        trace);
    ASSERT_EQ(result.outcome, Outcome::done) << result.message;
    // A GPU has two clocks, one for the pauses and one for the launch.
    EXPECT_GE(result.metrics.at("ms").warm.at(0), last * 1e-6 / task.pace * (kGpu ? 0.99 : 1));
}

TEST_P(BackendTest, PoolsOfAllSizesEndInATreeOrAMessage) {
    if (kGpu && !traits().walkable) {
        GTEST_SKIP() << "the size of CUDA's own pool cannot be changed within a process";
    }
    const std::uint64_t smallest = traits().smallest_pool;
    // The smallest pool that the allocator accepts must be too small for the root.
    const auto scene = scenes::generate(
        {"soup", std::max(kTriangles, smallest / sizeof(kdtree::Reference) + 10), 1});
    const std::uint64_t root = root_array_bytes(scene.triangles.size());
    const std::uint64_t wanted = digest(plain_tree(scene, BuildConfig{}));
    const std::vector<double> multiples =
        kSlow ? std::vector{0.0, 2.5, 200.0}
              : std::vector{0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 30.0, 200.0};
    for (const unsigned threads : thread_counts()) {
        if (kSlow && threads != 8) continue;
        unsigned done = 0;
        unsigned exhausted = 0;
        for (const double times : multiples) {
            const auto bytes =
                std::max(smallest, static_cast<std::uint64_t>(times * static_cast<double>(root)));
            const std::string what =
                std::to_string(times) + " times the root, threads " + std::to_string(threads);
            const MeasuredBuild result = build(scene, BuildConfig{}, run_options(bytes, threads));
            if (result.status == Status::done) {
                // The root's array and those of its children, which hold all of it again.
                EXPECT_GE(bytes, 2 * root) << what;
                expect_tree(result, wanted, what);
                ++done;
                continue;
            }
            EXPECT_EQ(result.status, Status::pool_exhausted) << what;
            EXPECT_TRUE(result.tree.nodes.empty()) << what;
            if (traits().full) {
                EXPECT_EQ(result.leaked_bytes, 0U) << what;
            }
            EXPECT_NE(result.message.find(std::to_string(bytes) + " bytes"), std::string::npos)
                << what << ": " << result.message;
            ++exhausted;
        }
        EXPECT_GT(done, 0U);
        EXPECT_GT(exhausted, 0U);
    }
}

TEST_P(BackendTest, PublishedScenes) {
    const char* folder = std::getenv("HEAPWOOD_SCENES");
    if (folder == nullptr) GTEST_SKIP() << "HEAPWOOD_SCENES names no folder of scenes";
    if (kGpu && !traits().walkable) {
        GTEST_SKIP() << "CUDA's own pool has the size of the first test; scripts/check_gpu";
    }
    unsigned found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string path = entry.path().string();
        if (!path.ends_with(".obj") && !path.ends_with(".obj.xz") && !path.ends_with(".obj.gz")) {
            continue;
        }
        ++found;
        const auto scene = scenes::load(path);
        const std::uint64_t pool = kPool + 200 * root_array_bytes(scene.triangles.size());
        const MeasuredBuild result = build(scene, BuildConfig{}, run_options(pool, 0));
        expect_tree(result, digest(plain_tree(scene, BuildConfig{})), path);
        const auto violation = kdtree::verify(
            scene, result.tree, kdtree::max_depth(BuildConfig{}, scene.triangles.size()));
        EXPECT_FALSE(violation) << path << ": " << *violation;
    }
    EXPECT_GT(found, 0U) << "no scene in " << folder;
}

std::string test_name(const ::testing::TestParamInfo<const Backend*>& subject) {
    std::string name = subject.param->traits.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Every, BackendTest, ::testing::ValuesIn(subjects()), test_name);

TEST(Backends, EveryAllocatorIsOnEachMachine) {
    std::vector<std::string_view> cpu;
    std::vector<std::string_view> gpu;
    for (const Backend* backend : backends()) {
        (backend->gpu ? gpu : cpu).push_back(backend->traits.name);
        EXPECT_EQ(find_backend(backend->traits.name, backend->gpu), backend);
    }
    EXPECT_EQ(find_backend("no such allocator", kGpu), nullptr);
    EXPECT_FALSE(subjects().empty());
    if (kGpu) {
        EXPECT_EQ(gpu, cpu);
    }
}

}  // namespace
}  // namespace heapwood::app
