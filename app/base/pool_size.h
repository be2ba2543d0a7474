/// @file
/// The size of a pool as users write it: 20x (times the root node's primitive array) or 512MiB.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "allocators/allocator.cuh"

namespace heapwood::app {

/// A pool's size, absolute or relative to the scene.
struct PoolSize {
    double multiple = 200;    ///< of the root node's primitive array; counts if `bytes` is 0
    std::uint64_t bytes = 0;  ///< absolute size, or 0

    /// From `NUMBERx`, `NUMBERKiB`, `NUMBERMiB`, `NUMBERGiB` or `INTEGERB`; digits and one point,
    /// no sign, no exponent, no blanks. @throws UsageError that says what is wrong with the text.
    static PoolSize parse(std::string_view text);

    /// The size for a scene whose root array has `root_bytes` bytes.
    /// @throws UsageError if it exceeds what an address can hold.
    std::uint64_t bytes_for(std::uint64_t root_bytes) const;

    /// Twice as much.
    PoolSize doubled() const;

    /// As `parse` reads it.
    std::string text() const;
};

/// Whether a pool grows while a build runs, and how far.
struct GrowthChoice {
    bool grows = false;
    std::optional<PoolSize> most = std::nullopt;  ///< of the whole pool; nothing: PoolSize()
};

/// What a pool begins with that grows, where no size is chosen.
inline constexpr PoolSize kFirstOfGrowing{.multiple = 20};

/// The pool of a build that nobody has chosen one for: PoolSize(), but at most a third of the
/// machine's `memory` bytes, for allocators have tables of up to three quarters of their pool and
/// the build needs memory as well; and at least `smallest`.
std::uint64_t default_pool_bytes(std::uint64_t root_bytes, std::uint64_t memory,
                                 std::uint64_t smallest);

/// The sentence that a pool of `bytes` bytes is below what an allocator needs; empty: it is not.
std::string below_smallest_pool(std::uint64_t bytes, const allocators::Traits& allocator);

}  // namespace heapwood::app
