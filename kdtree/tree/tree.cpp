/// @file
/// The digest of a tree.
#include "kdtree/tree/tree.h"

#include "scenes/digest.h"

namespace heapwood::kdtree {

std::uint64_t digest(const Tree& tree) {
    // The number of nodes keeps a node from passing for two references.
    const auto count = static_cast<std::uint32_t>(tree.nodes.size());
    static_assert(sizeof(Node) == 8, "a node is two words, payload and tagged");
    return scenes::digest_words(
        std::array<scenes::WordArray, 3>{{{&count, 1},
                                          {tree.nodes.data(), 2 * tree.nodes.size()},
                                          {tree.references.data(), tree.references.size()}}});
}

}  // namespace heapwood::kdtree
