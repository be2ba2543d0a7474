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

double TracedTree::cost_ms() const {
    return spread(build.built.milliseconds).median + layout_ms;
}

double TracedTree::ms_per_ray() const {
    double ms = 0;
    double kinds = 0;
    for (const RayTimes& t : times) {
        if ((t.asked != Asked::closest && t.asked != Asked::any) || t.rays == 0) continue;
        ms += 1000 / t.rays_per_second();
        ++kinds;
    }
    return ms / kinds;
}

std::optional<Payoff> payoff(const TracedTree& tree, const TracedTree& other) {
    const double dearer = tree.cost_ms() - other.cost_ms();
    const double faster = other.ms_per_ray() - tree.ms_per_ray();
    if (dearer >= 0 && faster <= 0) return std::nullopt;
    if (dearer <= 0 && faster >= 0) return Payoff{};
    if (faster > 0) return Payoff{.from = dearer / faster, .to = std::nullopt};
    return Payoff{.from = 0, .to = dearer / faster};
}

}  // namespace heapwood::app
