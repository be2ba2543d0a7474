/// @file
/// How the circular allocators lay a pool out before its first use: the granule, and the chunks
/// into which the pool is split beforehand.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/header.cuh"

namespace heapwood::allocators::circular {

/// No level is made of chunks below this size: what is left of the pool stays in one piece.
inline constexpr std::uint64_t kSmallestChunk = 4096;

/// Log2 of the smallest granule's bytes.
inline constexpr std::uint32_t kSmallestShift = 4;

/// How the pool of a circular allocator with a single hint is cut before its first use, given the
/// largest request R (PoolConfig::largest_request).
enum class Presplit {
    levels,   ///< a chunk of R bytes, then 2, 4, 8 ... of 0.8, 0.64, 0.512 ... R: the papers'
              ///< builder
    halving,  ///< a chunk of R bytes, then 2, 4, 8 ... of R/2, R/4, R/8 ...: 2015, equation 1
    uniform,  ///< chunks of R bytes
    none,     ///< one chunk
};

/// The option that chooses among them.
inline constexpr Option kPresplit[]{
    {.key = "presplit",
     .flag = "--presplit",
     .values = "levels|halving|uniform|none",
     .help = "How circular allocators with a single hint cut their pool beforehand"}};

inline Presplit presplit_of(const PoolConfig& config) {
    return static_cast<Presplit>(chosen(config.choices, kPresplit[0]));
}

/// Log2 of the granule's bytes: 16 bytes, doubled until the pool has at most kMostGranules.
constexpr std::uint32_t granule_shift(std::uint64_t pool_bytes) {
    std::uint32_t shift = kSmallestShift;
    while ((pool_bytes >> shift) > kMostGranules) ++shift;
    return shift;
}

/// How large a level's chunks are relative to those of the level above.
constexpr double level_ratio(Presplit how) {
    switch (how) {
        case Presplit::levels:
            return 0.8;
        case Presplit::halving:
            return 0.5;
        default:
            return 1;
    }
}

/// Splits a pool beforehand. In levels, level l has 2^l chunks of first_bytes * ratio^l bytes,
/// rounded up to granules; whatever no further chunk fits in, or would be split below
/// kSmallestChunk, is one last chunk.
/// @param granules of the pool, at least 1
/// @param first_bytes 0: one chunk
/// @return the granules at which chunks start, ascending from 0.
inline std::vector<std::uint32_t> presplit(std::uint64_t granules, std::uint32_t shift,
                                           std::uint64_t first_bytes, Presplit how) {
    std::vector<std::uint32_t> starts{0};
    if (how == Presplit::none || first_bytes == 0) return starts;
    const auto granule = static_cast<double>(std::uint64_t{1} << shift);
    auto bytes = static_cast<double>(first_bytes);
    for (std::uint64_t at = 0, chunks = 1;; chunks *= 2, bytes *= level_ratio(how)) {
        if (chunks > 1 && bytes < static_cast<double>(kSmallestChunk)) return starts;
        const auto size =
            std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(bytes / granule)));
        for (std::uint64_t i = 0; i < chunks; ++i) {
            if (granules - at <= size) return starts;
            at += size;
            starts.push_back(static_cast<std::uint32_t>(at));
        }
    }
}

/// A pool that is cut into one chunk for large requests and, behind it, equal shares. A share has
/// equal stretches for small chunks and, behind them, one chunk for those of medium size.
struct Shares {
    std::uint32_t begin;         ///< the granule at which the first share starts
    std::uint32_t count;         ///< shares, at least 1
    std::uint32_t size;          ///< granules of a share
    std::uint32_t stretches;     ///< of a share; a power of two
    std::uint32_t stretch_size;  ///< granules of a stretch, at least 1
};

/// How many times the largest request the chunk for large requests has: the root's array, those of
/// its children, of theirs, and what is lost between them.
inline constexpr std::uint64_t kLargeChunk = 6;

/// What part of a share its stretches for small chunks make up: one in so many.
inline constexpr std::uint64_t kSmallPart = 2;

/// Cuts a pool into a share for each of `multiprocessors` with at most so many stretches, fewer in
/// a small pool: Policy (policy.cuh) says how small they may be. Large requests get kLargeChunk
/// times `largest_bytes`, but at most half of the pool, and a quarter where that is not known (0).
/// All cuts are at multiples of `unit` granules, in which Policy then reckons, but for those
/// between stretches that are one for merging; `unit` is a multiple of how many these are.
template <class Policy>
Shares cut_shares(std::uint64_t granules, std::uint32_t shift, std::uint64_t largest_bytes,
                  std::uint32_t multiprocessors, std::uint32_t unit = 1) {
    const std::uint64_t units = granules / unit;
    const std::uint64_t wanted =
        ((largest_bytes >> shift) + 1) * kLargeChunk / unit + (unit > 1 ? 1 : 0);
    const std::uint64_t large = largest_bytes == 0 ? units / 4 : std::min(units / 2, wanted);
    const std::uint64_t rest = units - large;
    const auto count =
        std::clamp<std::uint64_t>(rest / Policy::kSmallestShare, 1, std::max(multiprocessors, 1U));
    const std::uint64_t size = rest / count;
    const std::uint32_t together = Policy::kStretchesTogether;
    const auto groups = std::bit_floor(std::clamp<std::uint64_t>(
        size / kSmallPart / Policy::kSmallestStretch, 1, Policy::kStretches / together));
    // Units of a group; each stretch has whole ones, if there are enough.
    const std::uint64_t each = std::max<std::uint64_t>(size / kSmallPart / groups, 1);
    const std::uint64_t whole = each < together ? each : each - each % together;
    return {.begin = static_cast<std::uint32_t>(large * unit),
            .count = static_cast<std::uint32_t>(count),
            .size = static_cast<std::uint32_t>(size * unit),
            .stretches = static_cast<std::uint32_t>(groups * together),
            .stretch_size = static_cast<std::uint32_t>(whole * unit / together)};
}

/// The granules at which the chunks of such a pool start, ascending from 0.
inline std::vector<std::uint32_t> starts_of(const Shares& shares) {
    std::vector<std::uint32_t> starts;
    if (shares.begin > 0) starts.push_back(0);
    for (std::uint32_t i = 0; i < shares.count; ++i) {
        const std::uint32_t begin = shares.begin + i * shares.size;
        for (std::uint32_t k = 0; k <= shares.stretches; ++k) {
            starts.push_back(begin + k * shares.stretch_size);
        }
    }
    return starts;
}

}  // namespace heapwood::allocators::circular
