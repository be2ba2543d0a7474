/// @file
/// Samples of a quantity: their spread, and how sure their median is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/figures/shape.h"

namespace heapwood::app {

/// Smallest, middle and largest of the samples.
struct Spread {
    double median = 0;
    double min = 0;
    double max = 0;
};

/// Of at least one sample; the median of an even number is the mean of the middle two.
Spread spread(std::vector<double> samples);

/// From one figure to another.
struct Interval {
    double low = 0;
    double high = 0;
};

/// Where the median of what was sampled lies, with a confidence of about 95 %: between two of the
/// samples, by the sign test; of fewer than six it is from the smallest to the largest, which is
/// less sure. Nothing is said from fewer than three.
std::optional<Interval> median_interval(std::vector<double> samples);

/// How sure the median of the samples is, as " ±1.5%": half of median_interval() over the median;
/// empty where that says nothing.
std::string deviation_text(const std::vector<double>& samples);

/// What that text means.
inline constexpr const char* kDeviationRemark =
    "±: half the interval in which the median lies with 95 % confidence; of three to five samples, "
    "half of their range.";

/// The spread of at least one sample, and the samples, as every document has them.
const Shape<std::vector<double>>& samples_shape();

/// The samples; nullopt if the list is empty.
std::optional<std::vector<double>> samples_or_none(const std::vector<double>& samples);

}  // namespace heapwood::app
