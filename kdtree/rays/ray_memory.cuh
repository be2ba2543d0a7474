/// @file
/// Where a walk keeps what it looks up at run time: by axis how planes lie to the ray, and the
/// nodes that it comes back to.
///
/// Pending nodes are a stack with room for one a level of the tree. It begins with an entry of
/// place kEndOfWalk that is never left out, so that a walk need not ask whether the stack is empty.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"
#include "kdtree/rays/ray_layout.cuh"

namespace heapwood::kdtree {

/// Where planes at right angles to an axis are along a ray: that at p from p * inverse + earlier to
/// p * inverse + later. One 16-byte load.
struct alignas(16) PlaneTimes {
    float inverse;            ///< of the direction's component
    float earlier;            ///< for the near side of the margin
    float later;              ///< and for its far side
    std::uint32_t near_side;  ///< which child the ray meets first: RayNode::kLow or kHigh
};

/// A node, and the part of the ray in its cell.
struct alignas(16) PendingNode {
    std::uint32_t place;  ///< as RayNode::child tells it
    float from;
    float to;

    /// What a stack begins with.
    HEAPWOOD_INLINE static PendingNode end() {
        return {kEndOfWalk, -platform::bits_float(0x7F800000U), 0};
    }
};

/// Everything in a thread's own memory.
class OwnMemory {
public:
    /// Its entries, apart from it: what a GPU indexes at run time lies in local memory as a whole,
    /// and the walk's other variables are to stay in registers.
    struct Storage {
        PendingNode entries[kMaxDepth + 1];
    };

    HEAPWOOD_INLINE explicit OwnMemory(Storage& storage) : entries_(storage.entries) {}

    HEAPWOOD_INLINE void set_planes(const PlaneTimes& x, const PlaneTimes& y, const PlaneTimes& z) {
        x_ = x;
        y_ = y;
        z_ = z;
    }
    /// Chosen and not looked up: a CPU foresees the axis, and need not wait for a load.
    HEAPWOOD_INLINE PlaneTimes planes(unsigned axis) const {
        if (axis == 0) return x_;
        if (axis == 1) return y_;
        return z_;
    }

    HEAPWOOD_INLINE void clear() {
        entries_[0] = PendingNode::end();
        top_ = 1;
    }
    HEAPWOOD_INLINE void push(const PendingNode& node) { entries_[top_++] = node; }
    HEAPWOOD_INLINE PendingNode pop() { return entries_[--top_]; }

private:
    PlaneTimes x_{};
    PlaneTimes y_{};
    PlaneTimes z_{};
    PendingNode* entries_;
    std::uint32_t top_ = 0;
};

#if defined(__CUDACC__)

/// Planes, and the first kShared entries of the stack, in a block's shared memory; the other
/// entries in local memory. For blocks of kThreads threads in one dimension.
///
/// Where the lanes of a warp take the same way, their entries in local memory are neighbours, and a
/// stack that lies there as a whole (kShared = 0) has one instruction for each push and pop, and
/// nothing to compare.
template <unsigned kThreads, unsigned kShared>
class BlockMemory {
public:
    /// Of all threads of a block, in shared memory. Of entries a word of each thread in turn, so
    /// that a warp's accesses never meet in a bank.
    struct Block {
        PlaneTimes planes[3][kThreads];
        std::uint32_t words[kShared > 0 ? kShared : 1][3][kShared > 0 ? kThreads : 1];
    };
    struct Storage {
        PendingNode entries[kMaxDepth + 1 - kShared];
    };

    __device__ __forceinline__ BlockMemory(Block& block, Storage& storage)
        : planes_(address(&block.planes[0][threadIdx.x])),
          first_(address(&block.words[0][0][kShared > 0 ? threadIdx.x : 0])),
          end_(address(&block + 1)),
          spilled_(storage.entries) {
        // Without this the compiler computes them anew wherever they are used.
        asm volatile("" : "+r"(planes_), "+r"(first_), "+r"(end_));
        top_ = first_;
    }

    __device__ __forceinline__ void set_planes(const PlaneTimes& x, const PlaneTimes& y,
                                               const PlaneTimes& z) {
        at<PlaneTimes>(planes_) = x;
        at<PlaneTimes>(planes_ + kAxis) = y;
        at<PlaneTimes>(planes_ + 2 * kAxis) = z;
    }
    __device__ __forceinline__ PlaneTimes planes(unsigned axis) const {
        return at<PlaneTimes>(planes_ + axis * kAxis);
    }

    __device__ __forceinline__ void clear() {
        if constexpr (kShared == 0) {
            top_ = static_cast<std::uint32_t>(__cvta_generic_to_local(spilled_));
        } else {
            top_ = first_;
        }
        push(PendingNode::end());
    }
    __device__ __forceinline__ void push(const PendingNode& node) {
        if constexpr (kShared == 0) {
            local(top_) = node;
            top_ += sizeof(PendingNode);
        } else {
            const bool shared = top_ < end_;
            if (shared) {
                word(0) = node.place;
                word(1) = __float_as_uint(node.from);
                word(2) = __float_as_uint(node.to);
            }
            if (!shared) {
                really_branch();
                spilled_[(top_ - end_) / kEntry] = node;
            }
            top_ += kEntry;
        }
    }
    __device__ __forceinline__ PendingNode pop() {
        if constexpr (kShared == 0) {
            top_ -= sizeof(PendingNode);
            return local(top_);
        } else {
            top_ -= kEntry;
            if (top_ < end_) {
                return {word(0), __uint_as_float(word(1)), __uint_as_float(word(2))};
            }
            return spilled_[(top_ - end_) / kEntry];
        }
    }

private:
    /// Bytes from an axis to the next, and from a thread's entry to its next.
    static constexpr std::uint32_t kAxis = kThreads * sizeof(PlaneTimes);
    static constexpr std::uint32_t kEntry = 3 * kThreads * sizeof(std::uint32_t);

    /// What lies at an address in shared memory, or in local memory.
    template <class T>
    __device__ __forceinline__ static T& at(std::uint32_t address) {
        return *static_cast<T*>(__cvta_shared_to_generic(address));
    }
    __device__ __forceinline__ static PendingNode& local(std::uint32_t address) {
        return *static_cast<PendingNode*>(__cvta_local_to_generic(address));
    }
    template <class T>
    __device__ __forceinline__ static std::uint32_t address(const T* shared) {
        return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
    }
    /// Keeps instructions that few lanes need out of the others' way: the assembler would have all
    /// lanes go through them, under a condition.
    __device__ __forceinline__ static void really_branch() { __syncwarp(__activemask()); }

    /// The i-th word of the thread's entry at top_.
    __device__ __forceinline__ std::uint32_t& word(std::uint32_t i) const {
        return at<std::uint32_t>(top_ + i * (kEntry / 3));
    }

    // Addresses in shared memory, in one register each; with kShared = 0 top_ is in local memory.
    std::uint32_t planes_;
    std::uint32_t first_;
    std::uint32_t end_;  ///< of the block: from there on entries are spilled
    std::uint32_t top_;
    PendingNode* spilled_;
};

#endif

}  // namespace heapwood::kdtree
