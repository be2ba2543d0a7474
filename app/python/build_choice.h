/// @file
/// What Python's calls choose a build by, read once for `build` and `Builder`.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "app/backends/backend.h"
#include "app/base/outcome.h"
#include "app/base/pool_size.h"
#include "kdtree/build_result.h"

namespace heapwood::python {

/// The builder of a method ("single" or "levels") and an allocator.
/// @param grows whether its pool is to grow while a build runs
/// @throws std::invalid_argument, and app::UsageError for an allocator that is not there.
const app::Backend& backend_named(const std::string& method, const std::string& allocator, bool gpu,
                                  bool grows);

/// A pool as Python asks for it: a size, or nothing for the default, and how far the pool may grow:
/// "" for the default, or nothing if it does not.
struct AskedPool {
    /// @throws app::UsageError for a text that is no size.
    AskedPool(const std::optional<std::string>& size, const std::optional<std::string>& grow);

    std::optional<app::PoolSize> size;
    app::GrowthChoice growth;
};

/// A dictionary of texts. @throws std::invalid_argument for an option or a value that the
/// backend's allocator does not have.
allocators::Choices read_options(const nanobind::dict& options, const app::Backend& backend);

/// @throws what suits the ending of a build with a pool of `pool_bytes`, unless it is done:
/// OutOfPool with the size to pass, VerificationError, allocators::BufferError for arrays and
/// memory, std::runtime_error for all else.
/// @param chosen the pool that the caller has asked for, if any
void require_done(const app::Failure& ending, const allocators::Traits& allocator,
                  std::uint64_t pool_bytes, const std::optional<app::PoolSize>& chosen);

}  // namespace heapwood::python
