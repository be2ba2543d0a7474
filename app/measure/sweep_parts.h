/// @file
/// What the sweeps of several papers share: points, axes, and the papers' families of tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "app/measure/sweeps.h"

namespace heapwood::app::sweeps {

inline constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Pool and callers with --quick.
inline constexpr std::uint64_t kQuickPool = 4 * kMiB;
inline constexpr std::uint32_t kQuickCallers = 96;
/// The largest pool on a CPU, unless the user chooses one.
inline constexpr std::uint64_t kPoolOnCpu = 256 * kMiB;

inline const Metric kMs{"ms", "time", "ms", true};
inline const Axis kBytes{"bytes", "bytes of a request"};
inline const Axis kPool{"pool_bytes", "bytes of the pool"};

/// Powers of `factor` times `first`, up to `last`.
std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

/// The points of a sweep, of which --quick keeps the first and one in the middle.
std::vector<std::uint64_t> chosen(std::vector<std::uint64_t> values, const SweepSettings& settings);

/// What all tasks have in common.
Task task_of(Procedure procedure, std::uint64_t pool, const SweepSettings& settings);

/// Bytes that are in use at once, on average over the dice.
std::uint64_t wanted_bytes(const Task& task);

/// A series whose points are made by `change(task, x)` from a common task. Points that want more
/// than one in `part` of their pool are left out.
template <class Change>
std::vector<Point> points(const std::vector<std::uint64_t>& values, const Task& common,
                          std::uint64_t part, const Change& change) {
    std::vector<Point> all;
    for (const std::uint64_t x : values) {
        Point point{static_cast<double>(x), common};
        change(point.task, x);
        const bool takes_all = common.procedure == Procedure::fill;
        if (takes_all || wanted_bytes(point.task) <= point.task.pool_bytes / part) {
            all.push_back(point);
        }
    }
    return all;
}

inline std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
inline void set_bytes(Task& task, std::uint64_t bytes) {
    task.min_bytes = task.max_bytes = narrow(bytes);
}
inline void set_callers(Task& task, std::uint64_t callers) {
    task.callers = narrow(callers);
}
inline void set_pool(Task& task, std::uint64_t bytes) {
    task.pool_bytes = bytes;
}

/// The tests of Vinkler & Havran 2014 and 2015: "ad", "acd" or "p".
std::vector<Series> generic(const std::string& test, const SweepSettings& settings);
/// The tests of Huang et al. 2010 and 2013.
std::vector<Series> xmalloc(const SweepSettings& settings);
/// Those of Winter et al. 2021: any other test that runs.
std::vector<Series> survey(const std::string& test, const SweepSettings& settings);

}  // namespace heapwood::app::sweeps
