/// @file
/// Which allocator to take: those that no other beats, and one sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/figures/document.h"
#include "app/report/figures/spread.h"

namespace heapwood::app {

/// An allocator whose work was done everywhere; of every figure less is better. An unknown one is
/// worse than any other.
struct Candidate {
    std::string name;
    double time = 0;
    std::optional<double> memory;  ///< bytes
    std::optional<double> registers;
    std::optional<Interval> times = std::nullopt;  ///< where `time` may lie; none: too few samples
};

/// The Pareto front: candidates that no other equals in all figures and beats in one. The fastest
/// comes first.
std::vector<Candidate> pareto_front(std::vector<Candidate> candidates);

/// Adds the front as a table and what follows from it as a remark, if there is a choice. One is
/// recommended only where its times are surely less than those of all others.
/// @param of what was measured, for the titles: "pool 20x"
/// @param memory what the figures of memory are: "allocated at the peak"
void add_recommendation(const std::string& of, const std::string& memory,
                        const std::vector<Candidate>& candidates, Document& document);

}  // namespace heapwood::app
