/// @file
/// Distributions of sizes of requests, as quantiles: allocators::Tickets::kSizes of them in
/// ascending order, each as likely as any other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/measure/trace.h"
#include "app/inputs/input.h"

namespace heapwood::app {

/// A power law: the density of size s is proportional to s to the power of -1.5, so that the mean
/// is about the geometric mean of least and most.
/// @param least,most bytes: multiples of 4, least from 4 on and at most `most`
std::vector<std::uint32_t> power_law_sizes(std::uint32_t least, std::uint32_t most);

/// Reads a trace, or a log of RMM, for its sizes. @throws what read_trace() throws, and InputError
/// for a request of 4 GiB or more.
SizesFile read_sizes(const std::string& path);

/// The sizes that a trace asks for. @param trace that read_sizes() takes
std::vector<std::uint32_t> sizes_of(const allocators::Trace& trace);

}  // namespace heapwood::app
