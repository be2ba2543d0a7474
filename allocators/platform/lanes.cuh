/// @file
/// Lanes of a warp that happen to make the same call at the same time.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
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
    template <class T>
    HEAPWOOD_INLINE T sum(T v, T& before) const {
        before = 0;
        return v;
    }
    HEAPWOOD_INLINE void sync() const {}
};

#if defined(__CUDA_ARCH__)
/// Lanes of a warp that construct this together for the same word: the leader may do for all of
/// them what each would do for itself. The word is the one that the leader changes or reads for the
/// group. Its address tells the lanes of one pool from those of another pool of the same allocator,
/// which a warp may use in the same call. Which lanes are together is the hardware's choice: often
/// all that could be, or one; on a CPU always one. A program must be right with any grouping.
///
/// The members of a group call its methods in the same order, each of them all methods or none:
/// between two of them they may go separate ways, and meet again in the next.
class Lanes {
public:
    template <class T, Scope kScope>
    HEAPWOOD_INLINE explicit Lanes(const AtomicRef<T, kScope>& word) : mask_(__activemask()) {
        // The lanes that were active in the instruction before meet in this one: each of them has
        // the same mask, and none can leave between the two, as in cooperative_groups::
        // coalesced_threads().
        const auto address = reinterpret_cast<std::uint64_t>(word.address());
        if (!is_alone()) mask_ = __match_any_sync(mask_, address + hidden_zero());
    }
    /// The same, of lanes that also pass the same key.
    template <class T, Scope kScope>
    HEAPWOOD_INLINE Lanes(const AtomicRef<T, kScope>& word, std::uint32_t key) : Lanes(word) {
        if (!is_alone()) mask_ = __match_any_sync(mask_, key + hidden_zero());
    }

    HEAPWOOD_INLINE unsigned count() const { return popcount(mask_); }
    /// The number of this lane in the group; the leader is number 0.
    HEAPWOOD_INLINE unsigned rank() const {
        return popcount(mask_ & lower_lanes());
    }
    /// What the leader passes.
    template <class T>
    HEAPWOOD_INLINE T of_leader(T v) const {
        return __shfl_sync(mask_, v, __ffs(static_cast<int>(mask_)) - 1);
    }
    /// The sum over all lanes. @param before becomes that over the lanes of lower rank
    template <class T>
    HEAPWOOD_INLINE T sum(T v, T& before) const {
        // Bit by bit, for a group is seldom of neighbours, and most sums have few bits.
        before = 0;
        T all = 0;
        const std::uint32_t lower = mask_ & lower_lanes();
        for (T bits = any_of(v); bits != 0; bits &= bits - 1) {
            const unsigned bit = lowest_bit(bits);
            const std::uint32_t lanes = __ballot_sync(mask_, (v >> bit & 1) != 0);
            before += T{popcount(lanes & lower)} << bit;
            all += T{popcount(lanes)} << bit;
        }
        return all;
    }
    /// Waits for all lanes and makes their accesses visible to one another.
    HEAPWOOD_INLINE void sync() const { __syncwarp(mask_); }

private:
    HEAPWOOD_INLINE bool is_alone() const { return (mask_ & (mask_ - 1)) == 0; }
    /// The lanes of the warp below this one. By threadIdx they would be known for blocks of one
    /// dimension only.
    HEAPWOOD_INLINE static std::uint32_t lower_lanes() {
        std::uint32_t lanes;
        asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
        return lanes;
    }
    /// The bits that any lane's value has.
    HEAPWOOD_INLINE std::uint32_t any_of(std::uint32_t v) const {
#if __CUDA_ARCH__ >= 800
        return __reduce_or_sync(mask_, v);
#else
        std::uint32_t any = 0;
        for (unsigned bit = 0; bit < 32; ++bit) {
            any |= std::uint32_t{__any_sync(mask_, v >> bit & 1) != 0} << bit;
        }
        return any;
#endif
    }
    HEAPWOOD_INLINE std::uint64_t any_of(std::uint64_t v) const {
        return any_of(static_cast<std::uint32_t>(v)) |
               std::uint64_t{any_of(static_cast<std::uint32_t>(v >> 32))} << 32;
    }

    /// 0, which the assembler cannot know. If it knows that lanes compare the same value, a
    /// constant perhaps, it takes their mask for that of all lanes which are active at any later
    /// point. But lanes of other groups may be there too, and then some do not wait for their
    /// leader, and others for ever (ptxas of CUDA 13.0 for sm_90).
    HEAPWOOD_INLINE static std::uint32_t hidden_zero() {
        std::uint32_t self;
        asm("mov.u32 %0, %%lanemask_eq;" : "=r"(self));
        return popcount(self) - 1;
    }

    std::uint32_t mask_;
};
#else
struct Lanes : Alone {
    template <class T, Scope kScope>
    HEAPWOOD_INLINE explicit Lanes(const AtomicRef<T, kScope>&, std::uint32_t = 0) {}
};
#endif

}  // namespace heapwood::platform
