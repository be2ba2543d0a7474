/// @file
/// GrowthLimits: how far a pool grows while a kernel uses it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>

namespace heapwood::allocators {

/// How far a pool grows by itself, and how long a call waits for that.
struct GrowthLimits {
    /// Bytes of a new part. It has more if the request needs more, or if the pool could not reach
    /// `most` by its last part otherwise; and less if memory is short.
    std::uint64_t step = std::uint64_t{64} << 20;
    /// Bytes of the whole pool, which it does not exceed.
    std::uint64_t most = 0;
    /// A call that waits longer for a part is refused, and calls wait no more until a part comes.
    std::chrono::nanoseconds patience = std::chrono::seconds(1);
};

// The versions of clang-format lay out concepts differently.
// clang-format off

/// An allocator whose pool can grow while a kernel uses it: Growing, and adaptors around it.
template <class A>
concept GrowsAutomatically = requires(A a, const A& known, const GrowthLimits& limits) {
    a.grow_automatically(limits);
    { known.growth_refusal() } -> std::same_as<std::string>;
    { known.part_count() } -> std::same_as<std::uint32_t>;
};
// clang-format on

}  // namespace heapwood::allocators
