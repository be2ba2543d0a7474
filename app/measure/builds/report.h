/// @file
/// The results of `build`: plain data, for any format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/heap_map.h"
#include "allocators/measure/statistics.h"
#include "app/backends/backend.h"
#include "app/backends/registers.h"
#include "app/base/machine.h"
#include "app/base/outcome.h"
#include "app/report/figures/spread.h"
#include "kdtree/config.h"
#include "kdtree/tree/quality.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// A finished tree.
struct TreeFacts {
    kdtree::Quality quality;
    double sah = 0;        ///< by the build's own Ct and Ci
    double sah_1_1_5 = 0;  ///< by Ct = 1, Ci = 1.5
    std::uint64_t digest = 0;
    std::optional<std::uint32_t> depth_limit;  ///< as in kdtree::BuildResult
    bool verified = false;                     ///< `verify` was asked for and found nothing wrong
};

/// One allocator's build, or the level method's.
struct Result {
    Method method = Method::single;
    allocators::Traits allocator{};  ///< named after the method where there is none
    Outcome outcome = Outcome::done;
    std::string message;           ///< why, if not done
    std::uint64_t pool_bytes = 0;  ///< the allocator's own word; as asked for if it failed
    double pool_multiple = 0;      ///< of the root node's array
    std::vector<double> samples;   ///< milliseconds of the timed runs
    double upload_ms = 0;
    double pool_ms = 0;
    std::optional<std::uint64_t> minimal_pool_bytes;  ///< if asked for and found
    std::uint64_t overhead_bytes = 0;
    std::uint64_t leaked_bytes = 0;
    kdtree::MemoryUse memory;
    unsigned warps = 0;  ///< resident warps, or threads
    unsigned registers = 0;
    unsigned spill_bytes = 0;
    std::optional<Registers> kernels;  ///< the compiler's figures, on a GPU
    std::optional<TreeFacts> tree;
    std::optional<allocators::Statistics> allocations;  ///< unless --no-statistics
    std::optional<allocators::PeakUse> peak;            ///< if it could be found out
    std::optional<allocators::HeapMap> heap_map;        ///< if asked for and there is a peak
    std::optional<kdtree::BuildProfile> profile;        ///< from a profiling build of the program
    std::optional<allocators::Trace> trace;             ///< if asked for
    std::optional<double> external_fragmentation;       ///< at the end
    std::optional<MeasuredFrames> frames;               ///< of an animation, if asked for

    /// Notes what went wrong, and why.
    void fail(Outcome how, std::string why) {
        outcome = how;
        message = std::move(why);
    }
};

/// A result of that backend, of which nothing else is known yet.
Result result_of(const Backend& backend);

/// Everything one call of `build` found out.
struct Report {
    std::vector<std::string> arguments;
    std::string date;  ///< UTC, ISO 8601
    Machine machine;
    kdtree::BuildConfig configuration;
    std::string preset;  ///< that the configuration began with, or kPresetOfFile
    RunOptions run;
    std::string scene_path;
    std::uint64_t triangles = 0;
    std::uint64_t vertices = 0;
    std::uint64_t degenerate = 0;
    scenes::Bounds bounds;
    std::uint64_t scene_digest = 0;
    std::uint64_t root_bytes = 0;  ///< the unit of pool_multiple
    std::vector<Result> results;   ///< in the order of the allocators' names
    /// Median time of atomicmalloc elsewhere, what slowdowns are over if this report has none.
    std::optional<double> baseline_ms;
};

/// The preset of a configuration that a tree file has.
inline constexpr const char* kPresetOfFile = "file";

/// A method's name on the command line, one of kMethods.
const char* name(Method method);
inline constexpr std::array kMethods{"single", "levels"};

/// Fills in what is known of the scene.
void note_scene(Report& report, const scenes::Scene& scene);
/// The same, and logs a warning of what is probably not as wanted in the scene.
void describe(Report& report, const scenes::Scene& scene);

/// Median time of a result over the report's baseline, if both are there.
std::optional<double> slowdown(const Report& report, const Result& result);

/// Median time, in milliseconds, of atomicmalloc in the report, if its build is done.
std::optional<double> reference_ms(const Report& report);

/// Whether memory outside the allocators' pools was kept for the next array or build.
bool keeps_memory(const Report& report);

/// Whether all trees of the report are the same one, and those of each frame.
bool trees_agree(const Report& report);

/// The exit code of the worst that happened: trees that differ before a build that did not end.
ExitCode verdict(const Report& report);

}  // namespace heapwood::app
