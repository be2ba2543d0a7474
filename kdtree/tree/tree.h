/// @file
/// The finished kd-tree: 8-byte nodes with adjacent siblings, and the leaves' references.
#pragma once

#include <cstdint>
#include <vector>

#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/model/box.cuh"

namespace heapwood::kdtree {

/// A node in 8 bytes. Inner: the split plane, its axis and the index of the first of two adjacent
/// children (left = lower side). Leaf: where its references start and how many there are.
struct Node {
    std::uint32_t payload;  ///< inner: bits of the plane's float; leaf: first reference
    std::uint32_t tagged;   ///< low 2 bits: axis, or 3 for a leaf; high 30: child, or count

    static constexpr std::uint32_t kLeaf = 3;
    /// Exclusive bound of child indices and of a leaf's count.
    static constexpr std::uint32_t kLimit = 1U << 30;

    HEAPWOOD_INLINE static Node inner(unsigned axis, float split, std::uint32_t child) {
        return {platform::float_bits(split), child << 2 | axis};
    }
    HEAPWOOD_INLINE static Node leaf(std::uint32_t first, std::uint32_t count) {
        return {first, count << 2 | kLeaf};
    }

    HEAPWOOD_INLINE bool is_leaf() const { return (tagged & 3U) == kLeaf; }
    HEAPWOOD_INLINE unsigned axis() const { return tagged & 3U; }
    HEAPWOOD_INLINE float split() const { return platform::bits_float(payload); }
    HEAPWOOD_INLINE std::uint32_t child() const { return tagged >> 2; }
    HEAPWOOD_INLINE std::uint32_t first() const { return payload; }
    HEAPWOOD_INLINE std::uint32_t count() const { return tagged >> 2; }
};

static_assert(sizeof(Node) == 8);

/// A kd-tree over the triangles of one scene. The root is nodes[0], its cell is `bounds`.
///
/// A tree from `canonical` is in canonical form: the child pairs follow one another in pre-order
/// of their parents, the leaves' references in pre-order of the leaves, ascending within a leaf.
/// Two builds of one scene with one configuration give equal arrays, bit for bit.
struct Tree {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> references;  ///< triangle numbers
    Box bounds;
};

/// Brings a tree as the builder leaves it (node pairs and leaves in any order, gaps between them)
/// into canonical form. `nodes[0]` is the root.
Tree canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
               const Box& bounds);

/// The digest (scenes/digest.h) of a canonical tree: of the number of its nodes, the nodes and the
/// references. The same on every machine.
std::uint64_t digest(const Tree& tree);

}  // namespace heapwood::kdtree
