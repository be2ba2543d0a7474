/// @file
/// A tree in the form that suits the vector instructions of a CPU: three levels of nodes at a time,
/// and a leaf's triangles by fours.
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Three levels of a tree in a cache line: seven planes in the order of a heap (the children of
/// plane s are 2 s + 1 and 2 s + 2, the low one first) and what lies below them. Where the tree
/// ends earlier there is a plane at infinity with all on its low side.
struct alignas(64) Treelet {
    float planes[7];
    std::uint32_t axes;         ///< two bits for each plane, the first one's lowest; and kOne
    std::uint32_t children[8];  ///< see WideTreeView

    /// The bits of 1.0: a query reads the axes as an eighth plane, and a float that is not normal
    /// would take it some hundred cycles.
    static constexpr std::uint32_t kOne = 0x3F800000U;
    static constexpr std::uint32_t kLeaf = 1U << 31;  ///< a child with this bit is a leaf,
    static constexpr std::uint32_t kEmpty = kLeaf;    ///< and this one is without triangles
    static constexpr unsigned kCountBits = 5;  ///< of a leaf: its references; below, the first
    static constexpr unsigned kFirstBits = 31 - kCountBits;
    static constexpr std::uint32_t kLarge = (1U << kCountBits) - 1;  ///< count of a LargeLeaf
};
static_assert(sizeof(Treelet) == 64);

/// A leaf that a child's word cannot tell: the word has its number in place of the first reference.
struct LargeLeaf {
    std::uint32_t first;
    std::uint32_t count;
};

/// Where a query reads it. A child is a treelet's number, or a leaf.
struct WideTreeView {
    const Treelet* treelets;
    const LargeLeaf* large;
    const CornerRow* rows;  ///< the RayTree's
    std::uint32_t root;     ///< a child
    Box bounds;
};

/// The owner, in host memory.
class WideTree {
public:
    /// Whether this CPU has the instructions for it (AVX2 and FMA).
    static bool is_supported();

    /// Of a tree that RayTree accepts, and the RayTree's rows. @throws allocators::BufferError.
    WideTree(const Tree& tree, const CornerRow* rows);

    const WideTreeView& view() const { return view_; }
    std::uint64_t bytes() const { return treelets_.size() + large_.size(); }

private:
    allocators::Buffer treelets_;
    allocators::Buffer large_;
    WideTreeView view_{};
};

/// closest_hit and any_hit (1 or 0) of `count` rays, with TriangleTest. Where is_supported().
void wide_closest_hits(const WideTreeView& tree, const Ray* rays, std::uint64_t count, Hit* hits);
void wide_any_hits(const WideTreeView& tree, const Ray* rays, std::uint64_t count,
                   std::uint32_t* found);

}  // namespace heapwood::kdtree
