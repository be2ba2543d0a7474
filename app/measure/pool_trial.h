/// @file
/// After a pool ran out: a pool that would have been large enough.
#pragma once

#include <string>

#include "app/backends/backend.h"
#include "app/base/pool_size.h"

namespace heapwood::app {

/// Builds once with a pool of twice the size, four times, and so on until a build succeeds or the
/// pool would need more than half of `memory` bytes, and returns a sentence with the result.
std::string pool_trial(const Backend& backend, const scenes::Scene& scene,
                       const kdtree::BuildConfig& config, RunOptions run, const PoolSize& failed,
                       std::uint64_t memory);

}  // namespace heapwood::app
