/// @file
/// A tree as rays read it: nodes and triangles where a kernel or a host thread can reach them.
#pragma once

#include <cstdint>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::kdtree {

/// A node in 8 bytes, read at once. Inner: the split plane, its axis, the number of the pair of
/// adjacent children, and which of them are leaves without references, so that these are never
/// read. Leaf: its first reference and how many there are.
struct alignas(8) RayNode {
    std::uint32_t payload;  ///< inner: bits of the plane's float; leaf: first reference
    std::uint32_t tagged;   ///< low 2 bits: axis, or 3 for a leaf; inner: bits 2 and 3: low and
                            ///< high child are empty; high 28: pair of children, or count;
                            ///< all bits: where a walk ends

    static constexpr std::uint32_t kLeaf = 3;
    /// The sides of an inner node: the bits that mark their children as empty.
    static constexpr std::uint32_t kLow = 4;
    static constexpr std::uint32_t kHigh = 8;
    /// Exclusive bound of pairs and of a leaf's count.
    static constexpr std::uint32_t kLimit = 1U << 28;

    HEAPWOOD_INLINE static RayNode leaf(std::uint32_t first, std::uint32_t count) {
        return {first, count << 4 | kLeaf};
    }
    HEAPWOOD_INLINE static RayNode inner(unsigned axis, std::uint32_t plane, std::uint32_t pair,
                                         bool low_is_empty, bool high_is_empty) {
        return {plane,
                pair << 4 | (high_is_empty ? kHigh : 0U) | (low_is_empty ? kLow : 0U) | axis};
    }

    /// Where a walk ends: a leaf that none is like.
    HEAPWOOD_INLINE static RayNode end() { return {0, 0xFFFFFFFFU}; }

    HEAPWOOD_INLINE bool is_leaf() const { return (tagged & 3U) == kLeaf; }
    HEAPWOOD_INLINE bool is_end() const { return tagged == end().tagged; }
    HEAPWOOD_INLINE unsigned axis() const { return tagged & 3U; }
    HEAPWOOD_INLINE float plane() const { return platform::bits_float(payload); }
    /// Whether the child on that side (kLow or kHigh) is empty.
    HEAPWOOD_INLINE bool is_empty(std::uint32_t side) const { return (tagged & side) != 0; }
    /// The place of the child on that side, in bytes from the first node on: a pair has 16, which
    /// is what `tagged` counts pairs in, and the high child is 8 behind the low one.
    HEAPWOOD_INLINE std::uint32_t child(std::uint32_t side) const {
        return (tagged & ~15U) | (side & kHigh);
    }
    HEAPWOOD_INLINE std::uint32_t first() const { return payload; }
    HEAPWOOD_INLINE std::uint32_t count() const { return tagged >> 4; }
};
static_assert(sizeof(RayNode) == 8);

/// The first place of pair 0, which has no parent: a walk that comes to it has ended.
inline constexpr std::uint32_t kEndOfWalk = 0;
/// The second place of pair 0: the root.
inline constexpr std::uint32_t kRootPlace = 8;
/// Leaves of more references than this are worth a warp's help: see RayTree::has_large_leaves.
inline constexpr std::uint32_t kLargeLeaf = 16;

/// A RayTree where queries read it: passed to kernels by value. Owns nothing.
struct RayTreeView {
    const RayNode* nodes;   ///< pair p is 2 p and 2 p + 1; pair 0 is where walks end, and the root
    const CornerRow* rows;  ///< three for each reference, in the leaves' order
    Box bounds;             ///< the root's cell

    /// The rows of a reference.
    HEAPWOOD_INLINE const CornerRow* triangle(std::uint32_t reference) const {
        return rows + std::uint64_t{3} * reference;
    }
    /// A node at a place that RayNode::child tells, or at kRootPlace.
    HEAPWOOD_INLINE RayNode node(std::uint32_t place) const {
        const char* at = reinterpret_cast<const char*>(nodes) + place;
#if defined(__CUDA_ARCH__)
        const uint2 words = __ldg(reinterpret_cast<const uint2*>(at));
        return {words.x, words.y};
#else
        return *reinterpret_cast<const RayNode*>(at);
#endif
    }
};

}  // namespace heapwood::kdtree
