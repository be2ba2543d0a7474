/// @file
/// The results of `build`: plain data, for any format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/backend.h"
#include "app/backends/registers.h"
#include "app/base/outcome.h"
#include "app/base/provenance.h"
#include "app/measure/options.h"
#include "app/report/figures/spread.h"
#include "kdtree/tree/quality.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// A finished tree.
struct TreeFacts {
    kdtree::Quality quality;
    double sah = 0;        ///< by the build's own Ct and Ci
    double sah_1_1_5 = 0;  ///< by Ct = 1, Ci = 1.5
    std::uint64_t digest = 0;
    bool verified = false;  ///< `verify` was asked for and found nothing wrong
};

/// One allocator's build, or the level method's.
struct Result {
    Method method = Method::single;
    allocators::Traits allocator{};  ///< named after the method where there is none
    Outcome outcome = Outcome::done;
    std::string message;  ///< why, if not done
    MeasuredBuild built;  ///< without its tree; of one that failed, the pool asked for alone
    std::optional<TreeFacts> tree;
    std::optional<std::uint64_t> minimal_pool_bytes;  ///< if asked for and found
    std::optional<Registers> kernels;                 ///< the compiler's figures, on a GPU
    std::optional<MeasuredFrames> frames;             ///< of an animation, if asked for

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
    Provenance provenance;
    MeasureOptions options;
    std::string scene_path;
    std::uint64_t triangles = 0;
    std::uint64_t vertices = 0;
    std::uint64_t degenerate = 0;
    scenes::Bounds bounds;
    std::uint64_t scene_digest = 0;
    std::uint64_t root_bytes = 0;  ///< the unit of pool_multiple()
    std::vector<Result> results;   ///< in the order of the allocators' names
    /// Median time of atomicmalloc elsewhere, what slowdowns are over if this report has none.
    std::optional<double> baseline_ms;
};

/// A method's name on the command line, one of kMethods.
const char* name(Method method);
inline constexpr std::array kMethods{"single", "levels"};

/// Fills in what is known of the scene.
void note_scene(Report& report, const scenes::Scene& scene);
/// The same, and logs a warning of what is probably not as wanted in the scene.
void describe(Report& report, const scenes::Scene& scene);

/// The result's pool over the root node's array; 0 without a scene.
double pool_multiple(const Report& report, const Result& result);

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
