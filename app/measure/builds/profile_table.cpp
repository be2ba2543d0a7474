#include <algorithm>

#include "app/base/text.h"
#include "app/measure/builds/build_parts.h"

namespace heapwood::app {
namespace {

std::string percent(double fraction) {
    return shown(fraction, Unit::fraction).text;
}

std::string milliseconds(double ms) {
    return shown(ms, Unit::ms).text;
}

}  // namespace

/// Where the time of a build went. The floor: bytes that a build streams at least if every level of
/// nodes above the exact limit is read and written once, and all triangles once.
Table profile_table(const Report& report, const Result& r) {
    const kdtree::BuildProfile& profile = *r.built.profile;
    Table table{.title = "Profile of " + std::string(r.allocator.name) + " (slowed by counting)",
                .columns = {{""}, {"", true}, {""}},
                .depth = Depth::detailed};
    double all = 0;
    for (const double ms : profile.warp_ms) all += ms;
    for (unsigned i = 0; i < kdtree::kPhases; ++i) {
        table.rows.push_back(
            {kdtree::kPhaseNames[i], percent(profile.warp_ms[i] / all), "of the warps' time"});
    }
    double busy = 0;
    for (const double warps : profile.busy_warps) busy = std::max(busy, warps);
    const auto full =
        static_cast<std::size_t>(std::count_if(profile.busy_warps.begin(), profile.busy_warps.end(),
                                               [&](double warps) { return warps > 0.9 * busy; }));
    table.rows.push_back({"busy", milliseconds(profile.interval_ms * static_cast<double>(full)),
                          "ms in which nine of ten warps were"});
    const auto triangles = static_cast<double>(report.triangles);
    static constexpr const char* kSizes[] = {"small", "medium", "large"};
    for (unsigned i = 0; i < profile.divided.size(); ++i) {
        table.rows.push_back({std::string("divided, ") + kSizes[i],
                              fixed(static_cast<double>(profile.divided[i]) / triangles, 1),
                              "references of such nodes per triangle"});
    }
    const double bytes =
        64 * static_cast<double>(profile.divided[1] + profile.divided[2]) + 100 * triangles;
    const double floor_ms = bytes / 3e9;
    table.rows.push_back({"floor", milliseconds(floor_ms),
                          "ms to stream " + fixed(bytes / 1e6, 0) + " MB at 3 TB/s"});
    table.rows.push_back(
        {"T_build", fixed(spread(r.built.milliseconds).median / floor_ms, 1) + "x", "of that"});
    return table;
}

}  // namespace heapwood::app
