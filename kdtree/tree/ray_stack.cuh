/// @file
/// Where a walk keeps the nodes that it comes back to.
///
/// A stack begins with an entry of number kNoNode that is never left out, so that a walk need not
/// ask whether the stack is empty. It has room for one entry a level of the tree.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/config.h"

namespace heapwood::kdtree {

/// A node, and the part of the ray in its cell.
struct PendingNode {
    std::uint32_t number;
    float from;
    float to;
};

/// The number that ends a walk.
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
        : mine_(&block.words[0][0][threadIdx.x]), spilled_(storage.entries) {
        clear();
    }

    __device__ __forceinline__ void clear() {
        top_ = 0;
        push({kNoNode, -platform::bits_float(0x7F800000U), 0});
    }
    __device__ __forceinline__ void push(const PendingNode& node) {
        if (top_ < kWords) {
            mine_[top_] = node.number;
            mine_[top_ + kThreads] = __float_as_uint(node.from);
            mine_[top_ + 2 * kThreads] = __float_as_uint(node.to);
        } else {
            spilled_[(top_ - kWords) / kEntry] = node;
        }
        top_ += kEntry;
    }
    __device__ __forceinline__ PendingNode pop() {
        top_ -= kEntry;
        if (top_ < kWords) {
            return {mine_[top_], __uint_as_float(mine_[top_ + kThreads]),
                    __uint_as_float(mine_[top_ + 2 * kThreads])};
        }
        return spilled_[(top_ - kWords) / kEntry];
    }

private:
    static constexpr std::uint32_t kEntry = 3 * kThreads;  ///< words from an entry to the next
    static constexpr std::uint32_t kWords = kShared * kEntry;

    std::uint32_t* mine_;
    PendingNode* spilled_;
    std::uint32_t top_;
};

#endif

}  // namespace heapwood::kdtree
