/// @file
/// A copy on the host, in canonical form, of a tree that a build has left on either machine.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "allocators/memory/buffer.h"
#include "kdtree/tree/canonical.h"
#include "kdtree/tree/canonical_gpu.h"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// Nodes and references as a build leaves them, and how many of each may belong to the tree. Among
/// these are places that no node or leaf refers to. Memory: a Buffer, or a block of an ArrayPool.
template <class Memory>
struct LeftTree {
    const Memory& nodes;
    std::uint64_t node_end;
    const Memory& references;
    std::uint64_t reference_end;
    Box bounds;   ///< of the scene
    float scale;  ///< that the nodes' planes are multiplied by, a power of two
    allocators::Place place;
};

/// On a GPU by kernels, on the stream of the caller's StreamScope or the default stream; where they
/// lack memory, and on the host, by canonical(). Waits for the copy.
/// @throws std::runtime_error if the nodes are not a tree, and as Buffer.
template <class Memory>
Tree canonical_copy(const LeftTree<Memory>& made) {
    if (made.place == allocators::Place::device) {
        std::optional<Tree> tree =
            detail::canonical_on_gpu({made.nodes.template as<Node>(), made.node_end,
                                      made.references.template as<std::uint32_t>(),
                                      made.reference_end, made.bounds, made.scale});
        if (tree) return *std::move(tree);
    }
    // Unwritten places are copied along, and canonical() takes none of them. compute-sanitizer's
    // initcheck reports these two copies, where a GPU lacks memory for the kernels.
    std::vector<Node> nodes(made.node_end);
    std::vector<std::uint32_t> references(made.reference_end);
    made.nodes.read(0, nodes.data(), nodes.size() * sizeof(Node));
    made.references.read(0, references.data(), references.size() * sizeof(std::uint32_t));
    Tree tree = canonical(nodes, references, made.bounds);
    denormalise(tree.nodes, made.scale);
    return tree;
}

}  // namespace heapwood::kdtree
