/// @file
/// Lanes of a warp that happen to make the same call at the same time.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::platform {

/// A lane for itself: a group of one.
struct Alone {
    HEAPWOOD_INLINE unsigned count() const { return 1; }
    HEAPWOOD_INLINE unsigned rank() const { return 0; }
    template <class T>
    HEAPWOOD_INLINE T of_leader(T v) const {
        return v;
    }
    HEAPWOOD_INLINE void sync() const {}
};

#if defined(__CUDA_ARCH__)
/// Lanes of a warp that construct this together, with the same key: one of them may do for all what
/// each would do for itself. Which ones are together is the hardware's choice, often all that
/// could, or a lane alone; on a CPU always one. A program must be right with any grouping: nothing
/// may depend on a lane's being in another one's group or not.
///
/// The members of a group call its methods in the same order, each of them all methods or none:
/// between two of them they may go separate ways, and meet again in the next.
class Lanes {
public:
    HEAPWOOD_INLINE explicit Lanes(std::uint32_t key) : mask_(__activemask()) {
        // The lanes that were active in the instruction before meet in this one: each of them has
        // the same mask, and none can leave between the two, as in cooperative_groups::
        // coalesced_threads(). A lane alone has nobody to compare with.
        if ((mask_ & (mask_ - 1)) != 0) mask_ = __match_any_sync(mask_, key);
    }

    HEAPWOOD_INLINE unsigned count() const { return popcount(mask_); }
    /// The number of this lane in the group; the leader is number 0.
    HEAPWOOD_INLINE unsigned rank() const {
        return popcount(mask_ & ((1U << (threadIdx.x % 32)) - 1));
    }
    /// What the leader passes.
    template <class T>
    HEAPWOOD_INLINE T of_leader(T v) const {
        return __shfl_sync(mask_, v, __ffs(static_cast<int>(mask_)) - 1);
    }
    /// Waits for all lanes and makes their accesses visible to one another.
    HEAPWOOD_INLINE void sync() const { __syncwarp(mask_); }

private:
    std::uint32_t mask_;
};
#else
struct Lanes : Alone {
    HEAPWOOD_INLINE explicit Lanes(std::uint32_t) {}
};
#endif

}  // namespace heapwood::platform
