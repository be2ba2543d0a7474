#include "app/report/figures/spread.h"

#include <algorithm>
#include <cmath>

#include "app/base/text.h"

namespace heapwood::app {

Spread spread(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const std::size_t middle = samples.size() / 2;
    const double median =
        samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
    return {.median = median, .min = samples.front(), .max = samples.back()};
}

std::optional<Interval> median_interval(std::vector<double> samples) {
    if (samples.size() < 3) return std::nullopt;
    std::sort(samples.begin(), samples.end());
    // How many samples lie below the median is binomial: about n / 2, give or take 0.98 sqrt(n).
    const auto n = static_cast<double>(samples.size());
    const auto rank = static_cast<std::size_t>(std::max(1.0, (n + 1) / 2 - 0.98 * std::sqrt(n)));
    return Interval{samples[rank - 1], samples[samples.size() - rank]};
}

std::string deviation_text(const std::vector<double>& samples) {
    const std::optional<Interval> interval = median_interval(samples);
    const double median = interval ? spread(samples).median : 0;
    if (median <= 0) return "";
    const double percent = 50 * (interval->high - interval->low) / median;
    return " ±" + fixed(percent, percent < 10 ? 1 : 0) + "%";
}

const Shape<std::vector<double>>& samples_shape() {
    using Of = std::vector<double>;
    static const Shape<Of> shape = [] {
        Shape<Of> all;
        all.field("median", [](const Of& samples) { return spread(samples).median; })
            .field("min", [](const Of& samples) { return spread(samples).min; })
            .field("max", [](const Of& samples) { return spread(samples).max; })
            .field("samples", [](const Of& samples) { return samples; }, "", {{"minItems", 1}});
        return all;
    }();
    return shape;
}

std::optional<std::vector<double>> samples_or_none(const std::vector<double>& samples) {
    return samples.empty() ? std::nullopt : std::optional(samples);
}

}  // namespace heapwood::app
