/// @file
/// What the threads of a heap's tests do: every call that a heap has, at random. All that may be
/// used of a block is stamped and checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/macros.cuh"
#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// What one thread saw.
struct CallTally {
    std::uint64_t calls;
    std::uint64_t refused;    ///< answered with nullptr
    std::uint64_t wrong;      ///< misaligned, too small, or not zero where zeros are promised
    std::uint64_t corrupt;    ///< blocks whose bytes had changed
    std::uint64_t not_moved;  ///< realloc() that returned the block itself

    void operator+=(const CallTally& t) {
        calls += t.calls;
        refused += t.refused;
        wrong += t.wrong;
        corrupt += t.corrupt;
        not_moved += t.not_moved;
    }
};

/// All threads fill, resize and empty slots of their own, and then empty them all.
/// `Ref` is a HeapRef or a GuardedRef.
template <class Ref>
struct HeapCallsBody {
    Ref heap;
    Block* slots;  ///< `each` of each thread
    unsigned each;
    unsigned rounds;
    std::uint64_t largest;  ///< bytes of a request
    std::uint64_t seed;
    CallTally* tallies;

    template <class W>
    HEAPWOOD_FN void operator()(const W& warp, unsigned w) const {
        const unsigned thread = w * W::width + warp.lane();
        Dice dice{seed + thread * 0x9e3779b97f4a7c15U};
        CallTally tally{};
        Block* const own = slots + std::uint64_t{thread} * each;
        for (unsigned round = 0; round < rounds; ++round) {
            Block& b = own[dice.below(each)];
            if (b.data == nullptr) {
                take(dice, b, tally);
            } else if (dice.below(3) == 0) {
                resize(dice, b, tally);
            } else {
                give(b, tally);
            }
        }
        for (unsigned i = 0; i < each; ++i) {
            if (own[i].data != nullptr) give(own[i], tally);
        }
        tallies[thread] = tally;
    }

private:
    HEAPWOOD_FN void take(Dice& dice, Block& b, CallTally& tally) const {
        b.bytes = dice.size(largest);
        b.stamp = dice.next();
        std::uint64_t alignment = allocators::kAlignment;
        const std::uint64_t kind = dice.below(3);
        if (kind == 0) {
            b.data = heap.malloc(b.bytes);
        } else if (kind == 1) {
            b.data = heap.calloc(1 + b.bytes / 24, 24);
        } else {
            alignment = std::uint64_t{1} << dice.below(13);
            b.data = heap.aligned_alloc(alignment, b.bytes);
        }
        ++tally.calls;
        if (b.data == nullptr) {
            ++tally.refused;
            return;
        }
        if (reinterpret_cast<std::uintptr_t>(b.data) % alignment != 0) ++tally.wrong;
        if (heap.usable_size(b.data) < b.bytes) ++tally.wrong;
        b.bytes = heap.usable_size(b.data);
        if (kind == 1 && !is_zero(b)) ++tally.wrong;
        write_stamp(b);
    }
    HEAPWOOD_FN void resize(Dice& dice, Block& b, CallTally& tally) const {
        const std::uint64_t bytes = dice.size(largest);
        void* const data = heap.realloc(b.data, bytes);
        ++tally.calls;
        if (data == nullptr) {
            ++tally.refused;
            return;
        }
        if (data == b.data) ++tally.not_moved;
        const std::uint64_t room = heap.usable_size(data);
        if (room < bytes) ++tally.wrong;
        if (data == b.data && room != b.bytes) ++tally.wrong;
        if (!has_stamp({data, room < b.bytes ? room : b.bytes, 0, b.stamp})) ++tally.corrupt;
        b = {data, room, 0, b.stamp};
        write_stamp(b);
    }
    HEAPWOOD_FN void give(Block& b, CallTally& tally) const {
        if (!has_stamp(b)) ++tally.corrupt;
        heap.free(b.data);
        ++tally.calls;
        b.data = nullptr;
    }
    HEAPWOOD_FN static bool is_zero(const Block& b) {
        const auto* p = static_cast<const unsigned char*>(b.data);
        for (std::uint64_t i = 0; i < b.bytes; ++i) {
            if (p[i] != 0) return false;
        }
        return true;
    }
};

}  // namespace heapwood::tests
