#include "app/measure/builds/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>
#include <string_view>

#include "app/base/log.h"
#include "scenes/digest.h"
#include "scenes/warnings.h"

namespace heapwood::app {
namespace {

/// Whether there is a time that means something.
bool finished(const Result& result) {
    return result.outcome == Outcome::done && !result.built.milliseconds.empty();
}

}  // namespace

const char* name(Method method) {
    return kMethods[method == Method::single ? 0 : 1];
}

Result result_of(const Backend& backend) {
    Result result;
    result.method = backend.method;
    result.allocator = backend.traits;
    return result;
}

void note_scene(Report& report, const scenes::Scene& scene) {
    report.scene_path = scene.path;
    report.triangles = scene.triangles.size();
    report.vertices = scene.positions.size();
    report.degenerate = scene.degenerate;
    report.bounds = scene.bounds;
    report.scene_digest = digest(scene);
    report.root_bytes = kdtree::root_array_bytes(scene.triangles.size());
}

void describe(Report& report, const scenes::Scene& scene) {
    note_scene(report, scene);
    for (const std::string& warning : scenes::warnings(scene)) log::warning(warning);
}

double pool_multiple(const Report& report, const Result& result) {
    if (report.root_bytes == 0) return 0;
    return static_cast<double>(result.built.pool_bytes) / static_cast<double>(report.root_bytes);
}

std::optional<double> reference_ms(const Report& report) {
    for (const Result& result : report.results) {
        if (std::string_view(result.allocator.name) != "atomicmalloc") continue;
        if (finished(result)) return spread(result.built.milliseconds).median;
    }
    return std::nullopt;
}

std::optional<double> slowdown(const Report& report, const Result& result) {
    std::optional<double> base = reference_ms(report);
    if (!base) base = report.baseline_ms;
    if (!base || *base <= 0 || !finished(result)) return std::nullopt;
    return spread(result.built.milliseconds).median / *base;
}

bool keeps_memory(const Report& report) {
    return report.options.run.keep == allocators::ArrayPool::Keep::slabs;
}

ExitCode verdict(const Report& report) {
    if (!trees_agree(report)) return ExitCode::verification_failed;
    std::vector<Outcome> outcomes;
    for (const Result& result : report.results) outcomes.push_back(result.outcome);
    return exit_code(worst(outcomes));
}

bool trees_agree(const Report& report) {
    std::set<std::uint64_t> digests;
    std::set<std::vector<std::uint64_t>> frames;
    for (const Result& result : report.results) {
        if (result.tree) digests.insert(result.tree->digest);
        if (result.frames) frames.insert(result.frames->digests);
    }
    return digests.size() <= 1 && frames.size() <= 1;
}

}  // namespace heapwood::app
