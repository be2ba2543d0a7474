/// @file
/// How small an allocator's pool may be.
#pragma once

#include <cstdint>
#include <optional>

#include "app/backends/backend.h"
#include "kdtree/builder.h"

namespace heapwood::app {

/// Finds by bisection, to 2 %, the smallest pool with which three builds in a row succeed, between
/// the allocator's own lower limit and run.pool_bytes, with which a build has succeeded.
///
/// With many warps it depends on the schedule how much is live at once: a pool of this size will
/// mostly do, and one a little smaller sometimes.
/// @return bytes, as asked of the allocator; nothing if three builds did not succeed with
/// run.pool_bytes either.
/// @throws what a build throws, but for pools that are too small.
std::optional<std::uint64_t> minimal_pool(const Backend& backend, const scenes::Scene& scene,
                                          const kdtree::BuildConfig& config,
                                          kdtree::RunOptions run);

}  // namespace heapwood::app
