/// @file
/// Division by a number that is known before the kernel starts, in four instructions instead of
/// some twenty.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// A divisor with its reciprocal.
class Divisor {
public:
    Divisor() = default;
    /// `by`: at least 1.
    explicit Divisor(std::uint32_t by)
        : by_(by),
          reciprocal_(static_cast<std::uint32_t>(
              std::min<std::uint64_t>((std::uint64_t{1} << 32) / by, ~std::uint32_t{0}))) {}

    HEAPWOOD_INLINE operator std::uint32_t() const { return by_; }

    HEAPWOOD_INLINE std::uint32_t quotient(std::uint32_t of) const {
        const auto low = static_cast<std::uint32_t>((std::uint64_t{of} * reciprocal_) >> 32);
        // The reciprocal is too small by less than 1, so the quotient is by 1 at most.
        return of - low * by_ >= by_ ? low + 1 : low;
    }
    HEAPWOOD_INLINE std::uint32_t remainder(std::uint32_t of) const {
        return of - quotient(of) * by_;
    }

private:
    std::uint32_t by_;
    std::uint32_t reciprocal_;  ///< 2^32 / by, rounded down, but at most 2^32 - 1
};

}  // namespace heapwood::allocators::circular
