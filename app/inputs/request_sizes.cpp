#include "app/inputs/request_sizes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "allocators/measure/churn.cuh"
#include "app/base/console.h"
#include "app/base/text.h"
#include "app/inputs/trace_file.h"

namespace heapwood::app {
namespace {

constexpr std::uint32_t kSizes = allocators::Tickets::kSizes;

/// What is asked for, the smallest first.
std::vector<std::uint64_t> ascending(const allocators::Trace& trace) {
    std::vector<std::uint64_t> asked;
    for (const allocators::TraceEvent& event : trace.events) {
        if (event.bytes != 0) asked.push_back(event.bytes);
    }
    std::sort(asked.begin(), asked.end());
    return asked;
}

}  // namespace

std::vector<std::uint32_t> power_law_sizes(std::uint32_t least, std::uint32_t most) {
    // The inverse of the distribution function is linear in 1 / sqrt(s). Square roots are the same
    // on all machines.
    const double first = 1 / std::sqrt(static_cast<double>(least));
    const double last = 1 / std::sqrt(static_cast<double>(most));
    std::vector<std::uint32_t> sizes(kSizes);
    for (std::uint32_t i = 0; i < kSizes; ++i) {
        const double root = first + (i + 0.5) / kSizes * (last - first);
        const auto size = static_cast<std::uint32_t>(1 / (root * root));
        sizes[i] = std::clamp(size / 4 * 4, least, most);
    }
    return sizes;
}

SizesFile read_sizes(const std::string& path) {
    show_progress("reading " + path);
    const auto start = std::chrono::steady_clock::now();
    const TraceFile file = read_trace(path);
    const std::vector<std::uint64_t> asked = ascending(file.trace);
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max() - 3;
    if (asked.back() > kMost) {
        throw InputError(path + ": a request of " + grouped(asked.back()) +
                         " bytes; a live set has requests of at most " + grouped(kMost) +
                         ": choose another file for --sizes, or replay this one");
    }
    const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - start;
    return {.path = path,
            .digest = file.digest,
            .requests = asked.size(),
            .min_bytes = static_cast<std::uint32_t>(asked.front()),
            .max_bytes = static_cast<std::uint32_t>(asked.back()),
            .seconds = reading.count()};
}

std::vector<std::uint32_t> sizes_of(const allocators::Trace& trace) {
    const std::vector<std::uint64_t> asked = ascending(trace);
    std::vector<std::uint32_t> sizes(kSizes);
    for (std::uint64_t i = 0; i < kSizes; ++i) {
        const std::uint64_t place = (2 * i + 1) * asked.size() / (2 * std::uint64_t{kSizes});
        sizes[i] = static_cast<std::uint32_t>(asked[place]);
    }
    return sizes;
}

}  // namespace heapwood::app
