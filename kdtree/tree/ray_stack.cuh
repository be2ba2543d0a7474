/// @file
/// Where a walk keeps the nodes that it comes back to.
///
/// A stack begins with an entry of place kNoNode that is never left out, so that a walk need not
/// ask whether the stack is empty. It has room for one entry a level of the tree.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"

namespace heapwood::kdtree {

/// A node, and the part of the ray in its cell.
struct PendingNode {
    std::uint32_t place;  ///< as RayNode::child tells it
    float from;
    float to;
};

/// The place that ends a walk.
inline constexpr std::uint32_t kNoNode = 0xFFFFFFFFU;

/// A stack in a thread's own memory.
class LocalStack {
public:
    /// Its entries, apart from it: what a GPU indexes at run time lies in local memory as a whole,
    /// and the walk's other variables are to stay in registers.
    struct Storage {
        PendingNode entries[kMaxDepth + 1];
    };

    HEAPWOOD_INLINE explicit LocalStack(Storage& storage) : entries_(storage.entries) { clear(); }

    HEAPWOOD_INLINE void clear() {
        entries_[0] = {kNoNode, -platform::bits_float(0x7F800000U), 0};
        top_ = 1;
    }
    HEAPWOOD_INLINE void push(const PendingNode& node) { entries_[top_++] = node; }
    HEAPWOOD_INLINE PendingNode pop() { return entries_[--top_]; }

private:
    PendingNode* entries_;
    std::uint32_t top_ = 0;
};

#if defined(__CUDACC__)

/// A stack whose first kShared entries are in a block's shared memory, and the others, which few
/// rays need, in local memory. For blocks of kThreads threads in one dimension.
template <unsigned kThreads, unsigned kShared>
class SharedStack {
public:
    /// Of all threads of a block, in shared memory: a word of each thread in turn, so that a warp's
    /// accesses never meet in a bank.
    struct Block {
        std::uint32_t words[kShared][3][kThreads];
    };
    struct Storage {
        PendingNode entries[kMaxDepth + 1 - kShared];
    };

    __device__ __forceinline__ SharedStack(Block& block, Storage& storage)
        : end_(static_cast<std::uint32_t>(__cvta_generic_to_shared(&block + 1))),
          spilled_(storage.entries) {
        clear();
    }

    __device__ __forceinline__ void clear() {
        top_ =
            end_ - static_cast<std::uint32_t>(sizeof(Block) - sizeof(std::uint32_t) * threadIdx.x);
        push({kNoNode, -platform::bits_float(0x7F800000U), 0});
    }
    __device__ __forceinline__ void push(const PendingNode& node) {
        if (top_ < end_) {
            word(0) = node.place;
            word(1) = __float_as_uint(node.from);
            word(2) = __float_as_uint(node.to);
        } else {
            spilled_[(top_ - end_) / kEntry] = node;
        }
        top_ += kEntry;
    }
    __device__ __forceinline__ PendingNode pop() {
        top_ -= kEntry;
        if (top_ < end_) {
            return {word(0), __uint_as_float(word(1)), __uint_as_float(word(2))};
        }
        return spilled_[(top_ - end_) / kEntry];
    }

private:
    /// Bytes from a thread's entry to its next.
    static constexpr std::uint32_t kEntry = sizeof(Block) / kShared;

    /// The i-th word of the thread's entry at top_.
    __device__ __forceinline__ std::uint32_t& word(std::uint32_t i) const {
        return *static_cast<std::uint32_t*>(__cvta_shared_to_generic(top_ + i * (kEntry / 3)));
    }

    // Addresses in shared memory, in one register each.
    std::uint32_t top_;
    std::uint32_t end_;  ///< of the block: from there on entries are spilled
    PendingNode* spilled_;
};

#endif

}  // namespace heapwood::kdtree
