/// @file
/// After a pool ran out: how large a one would have been enough.
#pragma once

#include <string>

#include "app/backends/backend.h"
#include "app/base/pool_size.h"

namespace heapwood::app {

/// Builds once with a pool of twice the size, four times, and so on until a build succeeds or the
/// pool would need more than half of `memory` bytes, and says in a sentence what came of it.
std::string pool_trial(const Backend& backend, const scenes::Scene& scene,
                       const kdtree::BuildConfig& config, RunOptions run, const PoolSize& failed,
                       std::uint64_t memory);

}  // namespace heapwood::app
