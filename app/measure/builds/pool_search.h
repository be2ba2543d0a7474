/// @file
/// How large a pool must be: searches by builds in trial.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/backends/backend.h"
#include "app/base/pool_size.h"
#include "app/measure/builds/turn.h"

namespace heapwood::app {

/// How a pool is tried: three builds in a row. With many warps the schedule decides how much is
/// live at once: a pool that has passed is mostly large enough, and a slightly smaller pool
/// sometimes is.
RunOptions trial_run(RunOptions run, std::uint64_t pool_bytes);

/// Finds by bisection, to 2 %, the smallest pool between `low` and `high` bytes that is enough.
/// @return nothing if `high` is not enough.
/// @throws what `enough` throws.
std::optional<std::uint64_t> smallest_enough(std::uint64_t low, std::uint64_t high,
                                             const std::function<bool(std::uint64_t)>& enough);

/// The smallest pool with which three builds in a row succeed, between the allocator's own lower
/// limit and the turn's pool, in bytes as asked of the allocator.
/// @throws what a build throws, but for pools that are too small.
std::optional<std::uint64_t> minimal_pool(const Backend& backend, const Turn& turn);

/// After the turn's pool, of that size, ran out: builds once with a pool of twice the size, four
/// times, and so on until a build succeeds or the pool would need more than half of `memory` bytes,
/// and returns a sentence with the result.
std::string pool_trial(const Backend& backend, const Turn& turn, const PoolSize& failed,
                       std::uint64_t memory);

}  // namespace heapwood::app
