/// @file
/// Builds without end in one process: random scenes, allocators, pools and shortages, by the
/// builders of the program. Trees stay right, and the process does not grow. HEAPWOOD_TEST_ALL=1:
/// 10,000 builds.
///
/// Compiled twice: HEAPWOOD_TEST_GPU is 0 for the CPU's builders, 1 for the GPU's.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "allocators/platform/device.h"
#include "app/backends/backend.h"
#include "kdtree/model/reference.cuh"
#include "kdtree/tree/tree.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/thorough.h"

namespace heapwood::app {
namespace {

using kdtree::Status;
using kdtree::tests::Dice;

constexpr bool kOnGpu = HEAPWOOD_TEST_GPU;
/// CUDA's pool cannot grow within a process.
constexpr std::uint64_t kLargestPool = std::uint64_t{kOnGpu ? 256 : 32} << 20;

/// What a process has and gives back.
struct Footprint {
    std::uint64_t resident;  ///< bytes
    std::uint64_t live;      ///< bytes from malloc that are not freed
    std::uint64_t files;     ///< open ones
    std::uint64_t threads;
};

std::uint64_t entries(const char* folder) {
    const auto all = std::filesystem::directory_iterator(folder);
    return static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

/// Takes stock, after `shared` has given back what it keeps for later builds: a large build makes
/// it keep more, and that is no growth.
Footprint footprint(allocators::ArrayPool& shared) {
    EXPECT_EQ(shared.statistics().live_bytes, 0U);
    shared.trim();
    malloc_trim(0);
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    const struct mallinfo2 heap = mallinfo2();
    return {.resident = pages * 4096,
            .live = heap.uordblks + heap.hblkhd,
            .files = entries("/proc/self/fd"),
            .threads = entries("/proc/self/task")};
}

std::vector<const Backend*> endurance_subjects() {
    std::vector<const Backend*> result;
    for (const Backend* backend : backends()) {
        if (backend->gpu == kOnGpu && backend->traits.sound) result.push_back(backend);
    }
    return result;
}

/// A build drawn at random.
struct Draw {
    const Backend* backend;
    scenes::Scene scene;
    kdtree::BuildConfig config;
    RunOptions run;
    bool arrays_are_short = false;

    std::string text() const {
        return scene.path + ", " + backend->traits.name + ", pool of " +
               std::to_string(run.pool_bytes) + " bytes, " + std::to_string(run.threads) +
               " threads" + (config.small_arrays ? "" : ", large arrays") +
               (arrays_are_short ? ", short arrays" : "");
    }
};

Draw draw(Dice& dice, const std::vector<const Backend*>& subjects) {
    const auto& kinds = kdtree::tests::scene_kinds();
    Draw d{.backend = subjects[dice.below(subjects.size())],
           .scene = kdtree::tests::random_scene(kinds[dice.below(kinds.size())],
                                                1 + dice.below(300), dice()),
           .config = {},
           .run = {}};
    d.run.repeat = 1 + dice.below(2);
    d.run.warm_up = 0;
    d.config.large_limit = 64;
    d.config.chunk = 32;
    d.config.small_arrays = dice.below(2) == 0;
    const unsigned counts[] = {1, 2, 3, 8, 32};
    d.run.threads = kOnGpu ? 0 : counts[dice.below(std::size(counts))];
    d.run.statistics = dice.below(4) == 0;
    // From pools in which the root has no room to such as have room for all.
    const auto root = static_cast<float>(kdtree::root_array_bytes(d.scene.triangles.size()));
    const auto bytes = static_cast<std::uint64_t>(root * std::exp2(dice.uniform(-1, 6)));
    const allocators::Traits& traits = d.backend->traits;
    d.run.pool_bytes =
        traits.one_heap && kOnGpu ? kLargestPool : std::max(bytes, traits.smallest_pool);
    if (dice.below(4) == 0) d.run.pool_bytes = kLargestPool;
    d.arrays_are_short = dice.below(8) == 0;
    if (d.arrays_are_short) {
        (dice.below(2) == 0 ? d.config.max_nodes : d.config.max_references) = 1 + dice.below(40);
    }
    return d;
}

/// The tree's digest by one thread with AtomicMalloc, which has room for all.
std::uint64_t wanted_digest(const Draw& d) {
    kdtree::BuildConfig config = d.config;
    config.max_nodes = config.max_references = 0;
    RunOptions run{{.pool_bytes = std::uint64_t{256} << 20, .threads = 1}};
    run.repeat = 1;
    run.warm_up = 0;
    run.statistics = false;
    const MeasuredBuild result = find_backend("atomicmalloc", false)->build(d.scene, config, run);
    EXPECT_EQ(result.status, Status::done) << d.text();
    return digest(result.tree);
}

/// Launches every kernel once: a GPU loads each when it is first launched, and that is no growth.
/// CUDA's malloc comes first, for the first kernel that could use its heap fixes the heap's size.
void load_kernels(Dice& dice, std::vector<const Backend*> subjects) {
    std::partition(subjects.begin(), subjects.end(),
                   [](const Backend* backend) { return backend->traits.one_heap; });
    for (const Backend* backend : subjects) {
        for (const bool small_arrays : {true, false}) {
            Draw d = draw(dice, {backend});
            d.config.small_arrays = small_arrays;
            d.config.max_nodes = d.config.max_references = 0;
            d.run.pool_bytes = kLargestPool;
            d.run.statistics = true;
            backend->build(d.scene, d.config, d.run);
        }
    }
}

TEST(EnduranceTest, TreesStayRightAndNothingGrows) {
    if (kOnGpu && !platform::device_available()) GTEST_SKIP() << platform::device_absence();
    const unsigned builds = heapwood::tests::thorough() ? 10000 : kdtree::tests::kSlow ? 60 : 400;
    Dice dice;
    const auto subjects = endurance_subjects();
    allocators::ArrayPool shared(kOnGpu ? allocators::Place::device : allocators::Place::host);
    load_kernels(dice, subjects);
    std::map<Status, unsigned> endings;
    Footprint middle{};
    for (unsigned i = 0; i < builds; ++i) {
        if (i == builds / 2) middle = footprint(shared);
        Draw d = draw(dice, subjects);
        if (dice.below(2) == 0) d.run.array_pool = &shared;
        const MeasuredBuild result = d.backend->build(d.scene, d.config, d.run);
        const std::string what = "build " + std::to_string(i) + ": " + d.text();
        ++endings[result.status];
        if (result.status == Status::done) {
            EXPECT_EQ(digest(result.tree), wanted_digest(d)) << what;
            EXPECT_EQ(result.message, "") << what;
        } else {
            EXPECT_NE(result.status, Status::over_budget) << what;
            EXPECT_TRUE(result.status == Status::pool_exhausted || d.arrays_are_short) << what;
            EXPECT_NE(result.message, "") << what;
            EXPECT_TRUE(result.tree.nodes.empty()) << what;
        }
        if (d.backend->traits.full) {
            EXPECT_EQ(result.leaked_bytes, 0U) << what;
        }
        if (HasFailure()) return;  // one is enough to read
    }
    const allocators::ArrayPool::Statistics pool = shared.statistics();
    const Footprint last = footprint(shared);
    std::cout << builds << " builds: " << endings[Status::done] << " done, "
              << endings[Status::pool_exhausted] << " out of pool, "
              << endings[Status::nodes_exhausted] + endings[Status::references_exhausted]
              << " out of nodes or references; in the middle and at the end "
              << middle.resident / 1024 << " and " << last.resident / 1024 << " KiB resident, "
              << middle.live / 1024 << " and " << last.live / 1024 << " KiB live, " << middle.files
              << " and " << last.files << " files, " << middle.threads << " and " << last.threads
              << " threads" << std::endl;
    EXPECT_GT(endings[Status::done], builds / 4);
    EXPECT_GT(endings[Status::pool_exhausted], builds / 20);
    // Builds use the slabs of earlier ones. If not, there would be slabs for some hundred builds.
    EXPECT_LE(pool.peak_slab_bytes, 16 * pool.peak_live_bytes);
    EXPECT_EQ(last.files, middle.files);
    EXPECT_EQ(last.threads, middle.threads);
    if (kdtree::tests::kSlow) return;  // a sanitizer keeps books of its own
    // What a build leaves behind would be there as often as there were builds; what the heap keeps
    // for the next build differs a little with the last one.
    EXPECT_LE(last.live, middle.live + (std::uint64_t{128} << 10));
    EXPECT_LE(last.resident, middle.resident + (std::uint64_t{4} << 20));
}

}  // namespace
}  // namespace heapwood::app
