#include "app/measure/rays/ray_report.h"

#include "app/base/text.h"

namespace heapwood::app {

const char* name(Asked asked) {
    constexpr const char* kNames[] = {"closest", "any", "all", "nearest"};
    return kNames[static_cast<std::size_t>(asked)];
}

double DeviceTimes::rays_per_second() const {
    return 1000 * static_cast<double>(rays) / spread(samples).median;
}

double RayTimes::rays_per_second() const {
    return 1000 * static_cast<double>(rays) / spread(samples).median;
}

std::string RayTimes::note() const {
    if (rays == 0) return "none: they begin where primary rays hit a triangle, and none does";
    if (asked == Asked::all || asked == Asked::nearest || 20 * hits >= rays) return "";
    return grouped(hits) + " of " + grouped(rays) +
           " hit a triangle: the rate is of rays that hit nothing";
}

double ms_per_ray(const std::vector<RayTimes>& times) {
    double ms = 0;
    double kinds = 0;
    for (const RayTimes& t : times) {
        if ((t.asked != Asked::closest && t.asked != Asked::any) || t.rays == 0) continue;
        ms += 1000 / t.rays_per_second();
        ++kinds;
    }
    return ms / kinds;
}

double AnimatedRays::frames_per_second() const {
    return 1000 / spread(frame_ms).median;
}

TimeToRays InPlaceTree::time() const {
    return {spread(build_ms).median + spread(layout_ms).median, ms_per_ray(times)};
}

TimeToRays TracedTree::time() const {
    return {spread(build.built.milliseconds).median + layout_ms, ms_per_ray(times)};
}

std::optional<Payoff> payoff(const TimeToRays& tree, const TimeToRays& other) {
    const double extra_ms = tree.cost_ms - other.cost_ms;
    const double faster = other.ms_per_ray - tree.ms_per_ray;
    if (extra_ms >= 0 && faster <= 0) return std::nullopt;
    if (extra_ms <= 0 && faster >= 0) return Payoff{};
    if (faster > 0) return Payoff{.from = extra_ms / faster, .to = std::nullopt};
    return Payoff{.from = 0, .to = extra_ms / faster};
}

}  // namespace heapwood::app
