/// @file
/// How the circular allocators lay a pool out before its first use: the granule, and the chunks
/// into which the pool is split beforehand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "allocators/circular/header.cuh"

namespace heapwood::allocators::circular {

/// Chunks of a level relative to those of the level above. The papers' equation (1) halves them;
/// their kd-tree builder, which this library follows, takes 0.8 of them.
inline constexpr double kLevelRatio = 0.8;
/// No level is made of chunks below this size: what is left of the pool stays in one piece.
inline constexpr std::uint64_t kSmallestChunk = 4096;

/// Log2 of the smallest granule's bytes.
inline constexpr std::uint32_t kSmallestShift = 4;

/// Log2 of the granule's bytes: 16 bytes, doubled until the pool has at most kMostGranules.
constexpr std::uint32_t granule_shift(std::uint64_t pool_bytes) {
    std::uint32_t shift = kSmallestShift;
    while ((pool_bytes >> shift) > kMostGranules) ++shift;
    return shift;
}

/// Splits a pool for programs that ask for one block of `first_bytes`, then two smaller ones, and
/// so on (Vinkler & Havran 2015, equation 1): level l has 2^l chunks of first_bytes * ratio^l
/// bytes, rounded up to granules, and whatever no further chunk of its level fits in, or would be
/// split below kSmallestChunk, is one last chunk.
/// @param granules of the pool, at least 1
/// @param first_bytes 0: one chunk
/// @param levels at most so many
/// @return the granules at which chunks start, ascending from 0.
inline std::vector<std::uint32_t> presplit(
    std::uint64_t granules, std::uint32_t shift, std::uint64_t first_bytes,
    double ratio = kLevelRatio, std::uint32_t levels = std::numeric_limits<std::uint32_t>::max()) {
    std::vector<std::uint32_t> starts{0};
    if (first_bytes == 0 || first_bytes >= granules << shift) return starts;
    std::uint64_t at = 0;
    double bytes = static_cast<double>(first_bytes);
    for (std::uint64_t chunks = 1;; chunks *= 2, bytes *= ratio) {
        if (levels-- == 0) return starts;
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

/// A pool that is cut into shares, one for each hint, behind chunks for the largest requests.
struct Shares {
    std::vector<std::uint32_t> starts;  ///< the granules at which chunks start, ascending from 0
    std::uint32_t first;                ///< index in `starts` of the first share
    std::uint32_t count;                ///< how many shares there are; at least 1
};

/// How many levels presplit() makes for requests that do not fit in a share: the root's array, its
/// children's and theirs.
inline constexpr std::uint32_t kLevelsBeforeShares = 3;

/// Cuts a pool as presplit() does for kLevelsBeforeShares levels, but no more than half of it, and
/// the rest into `wanted` equal shares, or fewer, so that none is below kSmallestChunk.
inline Shares presplit_shares(std::uint64_t granules, std::uint32_t shift,
                              std::uint64_t first_bytes, std::uint32_t wanted) {
    Shares shares{presplit(granules / 2, shift, first_bytes, kLevelRatio, kLevelsBeforeShares), 0,
                  1};
    // The last chunk of presplit() is what its half of the pool had left.
    shares.first = static_cast<std::uint32_t>(shares.starts.size() - 1);
    const std::uint64_t begin = shares.starts.back();
    const std::uint64_t rest = granules - begin;
    shares.count = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((rest << shift) / kSmallestChunk, 1, wanted));
    for (std::uint64_t i = 1; i < shares.count; ++i) {
        shares.starts.push_back(static_cast<std::uint32_t>(begin + rest * i / shares.count));
    }
    return shares;
}

}  // namespace heapwood::allocators::circular
