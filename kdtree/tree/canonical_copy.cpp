/// @file
/// A copy on the host, in canonical form, of a tree that a build has left on either machine.
#include "kdtree/tree/canonical_copy.h"

#include <optional>
#include <utility>
#include <vector>

#include "kdtree/tree/canonical.h"
#include "kdtree/tree/canonical_gpu.h"

namespace heapwood::kdtree {

Tree canonical_copy(const LeftTree& made) {
    if (made.place == allocators::Place::device) {
        std::optional<Tree> tree = detail::canonical_on_gpu(
            {made.nodes.as<Node>(), made.node_end, made.references.as<std::uint32_t>(),
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
