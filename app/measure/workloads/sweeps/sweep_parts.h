/// @file
/// What the sweeps of several papers share: points and axes; and the papers' tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "app/measure/workloads/sweeps/sweeps.h"

namespace heapwood::app::sweeps {

inline constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Pool and callers with --quick.
inline constexpr std::uint64_t kQuickPool = 4 * kMiB;
inline constexpr std::uint32_t kQuickCallers = 96;
/// The largest pool on a CPU, unless the user chooses one.
inline constexpr std::uint64_t kPoolOnCpu = 256 * kMiB;

inline const Metric kMs{"ms", "time", "ms", true};

inline std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
inline void set_bytes(Task& task, std::uint64_t bytes) {
    task.min_bytes = task.max_bytes = narrow(bytes);
}

inline const Axis kBytes{"bytes", "bytes of a request", set_bytes};
inline const Axis kPool{"pool_bytes", "bytes of the pool",
                        [](Task& task, std::uint64_t bytes) { task.pool_bytes = bytes; }};

/// Powers of `factor` times `first`, up to `last`.
std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

/// The points of a sweep, of which --quick keeps the first and one in the middle.
std::vector<std::uint64_t> chosen(std::vector<std::uint64_t> values, const SweepSettings& settings);

/// What all tasks have in common.
Task task_of(Procedure procedure, std::uint64_t pool, const SweepSettings& settings);

/// Which points are left out: those that want more than one in so many parts of their pool.
enum class Room : std::uint64_t { whole = 1, half = 2 };

/// A series along an axis, each point the common task with one of the values. Its test is what
/// stands before the id's first point.
Series series(const std::string& id, const std::string& title, const std::string& source,
              const Axis& axis, const std::vector<Metric>& metrics, const Task& common,
              const std::vector<std::uint64_t>& values, Room room);

/// The tests of Vinkler & Havran 2014 and 2015.
std::vector<Series> ad(const SweepSettings& settings);
std::vector<Series> acd(const SweepSettings& settings);
std::vector<Series> p(const SweepSettings& settings);
/// Those of Huang et al. 2010 and 2013.
std::vector<Series> xmalloc(const SweepSettings& settings);
/// Those of Winter et al. 2021.
std::vector<Series> alloc(const SweepSettings& settings);
std::vector<Series> mixed(const SweepSettings& settings);
std::vector<Series> scaling(const SweepSettings& settings);
std::vector<Series> fragmentation(const SweepSettings& settings);
std::vector<Series> oom(const SweepSettings& settings);
std::vector<Series> work(const SweepSettings& settings);
std::vector<Series> access(const SweepSettings& settings);
std::vector<Series> init(const SweepSettings& settings);
std::vector<Series> graph_init(const SweepSettings& settings);
std::vector<Series> graph_update(const SweepSettings& settings);
/// A live set that stays, of nobody's paper.
std::vector<Series> churn(const SweepSettings& settings);

}  // namespace heapwood::app::sweeps
