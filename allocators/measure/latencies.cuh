/// @file
/// How long single calls take: a histogram of fixed size that many threads fill at once. Buckets
/// are linear within each power of two, so that a quantile has a relative error of 1/64 at most,
/// however large it is.
#pragma once

#include <cmath>
#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// A histogram of whole numbers. All bits zero: of none.
struct Latencies {
    /// Buckets of each power of two.
    static constexpr std::uint32_t kParts = 32;
    static constexpr std::uint32_t kPartBits = 5;
    /// Numbers below kParts have a bucket each, and 2^5 to 2^63 begin kParts buckets each.
    static constexpr std::uint32_t kBuckets = kParts * (64 - kPartBits + 1);

    std::uint64_t counts[kBuckets];
    std::uint64_t worst;  ///< the largest number, exactly

    /// Its bucket.
    HEAPWOOD_INLINE static std::uint32_t bucket(std::uint64_t value) {
        if (value < kParts) return static_cast<std::uint32_t>(value);
        const std::uint32_t shift = platform::floor_log2(value) - kPartBits;
        return kParts * shift + static_cast<std::uint32_t>(value >> shift);
    }
    /// The mean of the numbers of a bucket.
    static double middle(std::uint32_t bucket) {
        if (bucket < kParts) return bucket;
        const std::uint32_t shift = bucket / kParts - 1;
        const std::uint64_t first = std::uint64_t{bucket - kParts * shift} << shift;
        return static_cast<double>(first) +
               static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
    }

    /// Adds a number; other threads may do so meanwhile. Orders nothing: a reader waits for
    /// the end of the launch. The thread notes its largest number itself (note_worst).
    HEAPWOOD_INLINE void add(std::uint64_t value) {
        platform::AtomicRef(counts[bucket(value)]).count_relaxed(1);
    }
    HEAPWOOD_INLINE void note_worst(std::uint64_t value) {
        platform::AtomicRef(worst).max_relaxed(value);
    }

    /// How many numbers there are. Only while no thread adds any; as quantile().
    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) sum += count;
        return sum;
    }
    /// The smallest number that at least `share` (above 0, at most 1) of all do not exceed, within
    /// 1/64 of it. There is one number at least.
    double quantile(double share) const {
        const auto rank =
            static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total())));
        std::uint64_t seen = 0;
        std::uint32_t bucket = 0;
        while (bucket + 1 < kBuckets && (seen += counts[bucket]) < rank) ++bucket;
        return middle(bucket);
    }
};

}  // namespace heapwood::allocators
