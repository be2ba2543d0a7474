/// @file
/// How the circular allocators lay a pool out before its first use: the granule, and the chunks
/// into which the pool is split beforehand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "allocators/circular/word.cuh"

namespace heapwood::allocators::circular {

/// Chunks of a level relative to those of the level above. The papers' equation (1) halves them;
/// their kd-tree builder, which this library follows, takes 0.8 of them.
inline constexpr double kLevelRatio = 0.8;
/// No level is made of chunks below this size: what is left of the pool stays in one piece.
inline constexpr std::uint64_t kSmallestChunk = 4096;

/// Log2 of the granule's bytes: 16 bytes, doubled until the pool has at most kMostGranules.
constexpr std::uint32_t granule_shift(std::uint64_t pool_bytes) {
    std::uint32_t shift = 4;
    while ((pool_bytes >> shift) > kMostGranules) ++shift;
    return shift;
}

/// Splits a pool for programs that ask for one block of `first_bytes`, then two smaller ones, and
/// so on (Vinkler & Havran 2015, equation 1): level l has 2^l chunks of first_bytes * ratio^l
/// bytes, rounded up to granules, and whatever no further chunk of its level fits in, or would be
/// split below kSmallestChunk, is one last chunk.
/// @param granules of the pool, at least 1
/// @param first_bytes 0: one chunk
/// @return the granules at which chunks start, ascending from 0.
inline std::vector<std::uint32_t> presplit(std::uint64_t granules, std::uint32_t shift,
                                           std::uint64_t first_bytes, double ratio = kLevelRatio) {
    std::vector<std::uint32_t> starts{0};
    if (first_bytes == 0 || first_bytes >= granules << shift) return starts;
    std::uint64_t at = 0;
    double bytes = static_cast<double>(first_bytes);
    for (std::uint64_t chunks = 1;; chunks *= 2, bytes *= ratio) {
        if (chunks > 1 && bytes < static_cast<double>(kSmallestChunk)) return starts;
        const double granule = static_cast<double>(std::uint64_t{1} << shift);
        const auto size =
            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(bytes / granule)));
        for (std::uint64_t i = 0; i < chunks; ++i) {
            if (granules - at <= size) return starts;
            at += size;
            starts.push_back(static_cast<std::uint32_t>(at));
        }
    }
}

}  // namespace heapwood::allocators::circular
