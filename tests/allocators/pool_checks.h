/// @file
/// What the conformance suite's tests do to a pool, and what must hold of it whenever nothing runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/allocators/any_pool.h"

namespace heapwood::tests {

/// One thread's requests, one after the other.
std::vector<Block> request(AnyPool& pool, const std::vector<std::uint64_t>& sizes);

/// As request, but for pairs: of sizes[0] and sizes[1], sizes[2] and sizes[3] ...
std::vector<Block> request_pairs(AnyPool& pool, const std::vector<std::uint64_t>& sizes);

/// Checks and frees blocks, by so many threads, in that order; refused requests are skipped.
void release(AnyPool& pool, const std::vector<Block>& blocks, unsigned threads = 1);

/// As release, by all threads at once and in random order: mostly another warp than allocated.
void release_shuffled(AnyPool& pool, std::vector<Block> blocks, std::uint64_t seed);

/// Expects that no thread saw a block that it must not see. @return the sum of the tallies.
Tally expect_sound(const Tally* tallies, std::size_t count);
inline Tally expect_sound(SharedArray<Tally>& tallies) {
    return expect_sound(tallies.data(), tallies.size());
}

/// Expects that the live blocks overlap nowhere, and that the walk shows exactly them, or the
/// regions that they share.
void expect_pool_holds(const AnyPool& pool, std::vector<Block> live);

/// Expects that nothing is allocated, if the allocator can free everything.
void expect_empty(const AnyPool& pool);

}  // namespace heapwood::tests
