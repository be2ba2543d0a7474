/// @file
/// Lays a tree out for a CPU's vector instructions.
#include "kdtree/rays/wide_tree.h"

#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "allocators/memory/large_pages.h"
#include "allocators/platform/for_chunks.h"
#include "kdtree/rays/ray_packets.h"

namespace heapwood::kdtree {
namespace {

using allocators::Buffer;
using allocators::Place;

constexpr std::uint32_t kNone = 0xFFFFFFFFU;
constexpr std::uint64_t kChunk = 1 << 13;

/// The nodes of one treelet: a heap of seven inner nodes, and the eight below them. Where a leaf
/// stands above the lowest row, its slot is kNone and it is its own low child.
struct Slots {
    std::array<std::uint32_t, 15> nodes;

    Slots(const Tree& tree, std::uint32_t root) {
        nodes.fill(kNone);
        nodes[0] = root;
        for (std::size_t s = 0; s < 7; ++s) {
            if (nodes[s] == kNone) continue;
            const Node node = tree.nodes[nodes[s]];
            if (node.is_leaf()) {
                nodes[2 * s + 1] = nodes[s];
                nodes[s] = kNone;
            } else {
                nodes[2 * s + 1] = node.child();
                nodes[2 * s + 2] = node.child() + 1;
            }
        }
    }
};

template <class T>
Buffer copied(const std::vector<T>& values) {
    Buffer buffer(Place::host, values.size() * sizeof(T));
    buffer.write(0, values.data(), buffer.size());
    return buffer;
}

}  // namespace

bool WideTree::is_supported() {
#if defined(HEAPWOOD_WIDE_RAYS)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

WideTree::WideTree(const Tree& tree, const CornerRow* rows) {
    // What a child's word says of each node, for leaves first.
    std::vector<std::uint32_t> word(tree.nodes.size(), Treelet::kEmpty);
    std::vector<LargeLeaf> large;
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
        const Node node = tree.nodes[n];
        if (!node.is_leaf() || node.count() == 0) continue;
        std::uint32_t first = node.first();
        std::uint32_t count = node.count();
        if (count >= Treelet::kLarge || first >> Treelet::kFirstBits != 0) {
            large.push_back({first, count});
            first = static_cast<std::uint32_t>(large.size() - 1);
            count = Treelet::kLarge;
        }
        word[n] = Treelet::kLeaf | count << Treelet::kFirstBits | first;
    }

    // The treelets, one after the other depth first.
    std::vector<std::uint32_t> roots;
    std::vector<std::uint32_t> pending;
    if (!tree.nodes.empty() && !tree.nodes[0].is_leaf()) pending.push_back(0);
    while (!pending.empty()) {
        const std::uint32_t root = pending.back();
        pending.pop_back();
        word[root] = static_cast<std::uint32_t>(roots.size());
        roots.push_back(root);
        const Slots slots(tree, root);
        for (std::size_t s = 15; s-- > 7;) {
            const std::uint32_t n = slots.nodes[s];
            if (n != kNone && !tree.nodes[n].is_leaf()) pending.push_back(n);
        }
    }

    treelets_ = Buffer(Place::host, roots.size() * sizeof(Treelet));
    prefer_large_pages(treelets_);
    auto* treelets = treelets_.as<Treelet>();
    platform::for_chunks(roots.size(), kChunk, 0, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            const Slots slots(tree, roots[i]);
            Treelet& t = treelets[i];
            t.axes = Treelet::kOne;
            for (unsigned s = 0; s < 7; ++s) {
                const std::uint32_t n = slots.nodes[s];
                t.planes[s] =
                    n == kNone ? std::numeric_limits<float>::infinity() : tree.nodes[n].split();
                if (n != kNone) t.axes |= tree.nodes[n].axis() << (2 * s);
            }
            for (unsigned c = 0; c < 8; ++c) {
                const std::uint32_t n = slots.nodes[7 + c];
                t.children[c] = n == kNone ? Treelet::kEmpty : word[n];
            }
        }
    });
    large_ = copied(large);
    view_ = {treelets, large_.as<LargeLeaf>(), rows, tree.nodes.empty() ? Treelet::kEmpty : word[0],
             tree.bounds};
}

#if !defined(HEAPWOOD_WIDE_RAYS)
// Never called: is_supported() says so.
void wide_closest_hits(const WideTreeView&, const Ray*, std::uint64_t, Hit*) {
    throw std::logic_error("no vector instructions for rays");
}
void wide_any_hits(const WideTreeView&, const Ray*, std::uint64_t, std::uint32_t*) {
    throw std::logic_error("no vector instructions for rays");
}
void packet_closest_hits(const PacketView&, const Ray*, std::uint64_t, Hit*) {
    throw std::logic_error("no vector instructions for rays");
}
void packet_any_hits(const PacketView&, const Ray*, std::uint64_t, std::uint32_t*) {
    throw std::logic_error("no vector instructions for rays");
}
#endif

}  // namespace heapwood::kdtree
