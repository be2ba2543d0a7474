/// @file
/// What the threads of a heap do whose pool grows while they run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// What one thread saw.
struct GrowthTally {
    std::uint64_t blocks;
    std::uint64_t bytes;    ///< asked for, of blocks
    std::uint64_t refused;  ///< answered with nullptr
    std::uint64_t corrupt;  ///< blocks whose bytes had changed

    void operator+=(const GrowthTally& t) {
        blocks += t.blocks;
        bytes += t.bytes;
        refused += t.refused;
        corrupt += t.corrupt;
    }
};

/// Every thread fills its slots with stamped blocks, of which it frees none but a few at once. It
/// goes on after a refusal.
template <class Ref>
struct TakeAllBody {
    Ref heap;
    Block* slots;  ///< `each` of each thread
    unsigned each;
    std::uint64_t largest;  ///< bytes of a request
    std::uint64_t seed;
    GrowthTally* tallies;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned thread = w * W::width + warp.lane();
        Dice dice{seed + thread * 0x9e3779b97f4a7c15U};
        GrowthTally tally{};
        for (unsigned i = 0; i < each; ++i) {
            Block& b = slots[std::uint64_t{thread} * each + i];
            // One in eight is given back at once, so that frees meet the growth.
            heap.free(dice.below(8) == 0 ? heap.malloc(dice.size(largest)) : nullptr);
            b.bytes = largest / 2 + dice.below(largest / 2) + 1;
            b.stamp = dice.next();
            b.data = heap.malloc(b.bytes);
            if (b.data == nullptr) {
                ++tally.refused;
                continue;
            }
            write_stamp(b);
            ++tally.blocks;
            tally.bytes += b.bytes;
        }
        tallies[thread] = tally;
    }
};

/// Every thread checks and frees the blocks of another one.
template <class Ref>
struct CheckAndFreeBody {
    Ref heap;
    Block* slots;
    unsigned each;
    unsigned threads;
    GrowthTally* tallies;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned thread = w * W::width + warp.lane();
        const unsigned other = (thread + threads / 2) % threads;
        for (unsigned i = 0; i < each; ++i) {
            Block& b = slots[std::uint64_t{other} * each + i];
            if (b.data == nullptr) continue;
            if (!has_stamp(b) || heap.usable_size(b.data) < b.bytes) ++tallies[thread].corrupt;
            heap.free(b.data);
            b.data = nullptr;
        }
    }
};

}  // namespace heapwood::tests
