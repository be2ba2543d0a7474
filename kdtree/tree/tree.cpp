/// @file
/// The digest of a tree.
#include "kdtree/tree/tree.h"

#include "scenes/digest.h"

namespace heapwood::kdtree {

std::uint64_t digest(const Tree& tree) {
    scenes::Fnv hash;
    // The number of nodes keeps a node from passing for two references.
    hash.add(static_cast<std::uint32_t>(tree.nodes.size()));
    for (const Node& node : tree.nodes) {
        hash.add(node.payload);
        hash.add(node.tagged);
    }
    for (const std::uint32_t reference : tree.references) hash.add(reference);
    return hash.value();
}

}  // namespace heapwood::kdtree
