/// @file
/// The canonical form of a finished tree.
///
/// Where a pair of nodes goes depends on how many come before it in pre-order. So the pairs and
/// references below each of many nodes are counted first, by all threads, and checked; then their
/// places are known, and all threads put them there.
#include "kdtree/tree/canonical.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/for_chunks.h"
#include "allocators/platform/threads.h"

namespace heapwood::kdtree {
namespace {

/// Each thread has at least about so many nodes, for its start takes time, too.
constexpr std::size_t kNodesPerThread = std::size_t{1} << 15;
/// Levels down to the end of a tree.
constexpr std::uint32_t kAllLevels = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void malformed(std::size_t node, const std::string& what) {
    throw std::runtime_error("malformed kd-tree: node " + std::to_string(node) + " " + what);
}

/// A node, where it goes, and how many levels are left to go through below it.
struct Pending {
    std::uint32_t from;
    std::uint32_t to;
    std::uint32_t levels;
};

/// How much of the two canonical arrays something takes, or where in them it begins.
struct Extent {
    std::uint64_t nodes = 0;
    std::uint64_t references = 0;
};

/// A subtree for one thread, where its root goes, and where what is below it begins.
struct Subtree {
    std::uint32_t from;
    std::uint32_t to = 0;
    Extent size = {};
    Extent begin = {};
};

/// Which nodes have a parent already.
class Placed {
public:
    /// @param shared by several threads.
    Placed(std::size_t nodes, bool shared) : words_(nodes / 64 + 1), shared_(shared) {}

    /// Notes a node and the next one. Of several threads that note the same node, one is the first.
    /// @return whether both are noted for the first time.
    bool add_pair(std::uint32_t first) {
        const unsigned bit = first % 64;
        const bool fresh = add(first / 64, std::uint64_t{3} << bit);
        return bit != 63 ? fresh : add(first / 64 + 1, 1) && fresh;
    }
    void add_root() { words_.front() = 1; }

private:
    bool add(std::size_t place, std::uint64_t bits) {
        std::uint64_t& word = words_[place];
        const std::uint64_t before =
            shared_ ? platform::AtomicRef(word).or_acquire(bits) : std::exchange(word, word | bits);
        return (before & bits) == 0;
    }

    std::vector<std::uint64_t> words_;
    bool shared_;
};

class Canonical {
public:
    Canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
              unsigned threads)
        : nodes_(nodes),
          references_(references),
          threads_(threads),
          placed_(nodes.size(), threads > 1) {
        placed_.add_root();
    }

    Tree tree(const Box& bounds) {
        // More subtrees than threads, for they are not of one size.
        constexpr unsigned kMoreLevels = 6;
        const std::uint32_t levels =
            threads_ == 1 ? kAllLevels
                          : static_cast<std::uint32_t>(std::bit_width(threads_)) + kMoreLevels;
        std::vector<Subtree> subtrees;
        Extent all =
            measured(0, levels, [&](std::uint32_t from) { subtrees.push_back({.from = from}); });
        platform::for_chunks(subtrees.size(), 1, threads_, [&](std::uint64_t i, std::uint64_t) {
            subtrees[i].size = measured(subtrees[i].from, kAllLevels, [](std::uint32_t) {});
        });
        all.nodes += 1;  // the root
        for (const Subtree& subtree : subtrees) {
            all.nodes += subtree.size.nodes;
            all.references += subtree.size.references;
        }
        if (all.references > references_.size()) {
            throw std::runtime_error("malformed kd-tree: leaves share references");
        }

        Tree tree{std::vector<Node>(all.nodes), std::vector<std::uint32_t>(all.references), bounds};
        Extent next{.nodes = 1};
        auto subtree = subtrees.begin();
        place(tree, {0, 0, levels}, next, [&](const Pending& at) {
            subtree->to = at.to;
            subtree->begin = next;
            next.nodes += subtree->size.nodes;
            next.references += subtree->size.references;
            ++subtree;
        });
        platform::for_chunks(subtrees.size(), 1, threads_, [&](std::uint64_t i, std::uint64_t) {
            const Subtree& one = subtrees[i];
            Extent begin = one.begin;
            place(tree, {one.from, one.to, kAllLevels}, begin, [](const Pending&) {});
        });
        return tree;
    }

private:
    /// What is below a node, checked; nodes so many levels below it go to stop(node), in pre-order.
    /// Each pair is noted at most once, so this ends whatever the nodes are.
    template <class Stop>
    Extent measured(std::uint32_t root, std::uint32_t levels, const Stop& stop) {
        Extent found;
        std::vector<Pending> stack{{root, 0, levels}};
        while (!stack.empty()) {
            const auto [from, unused, left] = stack.back();
            stack.pop_back();
            const Node node = nodes_[from];
            if (node.is_leaf()) {
                const std::uint64_t end = std::uint64_t{node.first()} + node.count();
                if (end > references_.size()) {
                    malformed(from, "has references up to number " + std::to_string(end) + " of " +
                                        std::to_string(references_.size()));
                }
                found.references += node.count();
                continue;
            }
            if (left == 0) {
                stop(from);
                continue;
            }
            const std::uint32_t child = node.child();
            if (std::uint64_t{child} + 1 >= nodes_.size()) {
                malformed(from, "has child " + std::to_string(child + 1) + " of " +
                                    std::to_string(nodes_.size()) + " nodes");
            }
            if (!placed_.add_pair(child)) {
                malformed(from, "has a child that another node has as well, or that is the root");
            }
            found.nodes += 2;
            stack.push_back({child + 1, 0, left - 1});
            stack.push_back({child, 0, left - 1});
        }
        return found;
    }

    /// Places what is below a node, and the node itself, in pre-order from `next` on; nodes so many
    /// levels below go to stop(pending), which may move `next`.
    template <class Stop>
    void place(Tree& tree, const Pending& root, Extent& next, const Stop& stop) const {
        std::vector<Pending> stack{root};
        while (!stack.empty()) {
            const Pending at = stack.back();
            stack.pop_back();
            const Node node = nodes_[at.from];
            if (node.is_leaf()) {
                const auto first = static_cast<std::uint32_t>(next.references);
                tree.nodes[at.to] = Node::leaf(first, node.count());
                std::uint32_t* const to = tree.references.data() + first;
                std::copy_n(references_.data() + node.first(), node.count(), to);
                std::sort(to, to + node.count());
                next.references += node.count();
                continue;
            }
            if (at.levels == 0) {
                stop(at);
                continue;
            }
            const auto to = static_cast<std::uint32_t>(next.nodes);
            next.nodes += 2;
            tree.nodes[at.to] = {node.payload, to << 2 | node.axis()};
            stack.push_back({node.child() + 1, to + 1, at.levels - 1});
            stack.push_back({node.child(), to, at.levels - 1});
        }
    }

    const std::vector<Node>& nodes_;
    const std::vector<std::uint32_t>& references_;
    unsigned threads_;
    Placed placed_;
};

}  // namespace

Tree canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
               const Box& bounds, unsigned threads) {
    if (nodes.empty()) throw std::runtime_error("malformed kd-tree: no root");
    if (references.size() > 0xFFFFFFFFU) {
        throw std::runtime_error("malformed kd-tree: more references than 32 bits can number");
    }
    return Canonical(nodes, references, threads).tree(bounds);
}

Tree canonical(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& references,
               const Box& bounds) {
    const std::size_t most = nodes.size() / kNodesPerThread + 1;
    const auto threads =
        static_cast<unsigned>(std::min<std::size_t>(platform::thread_count(0), most));
    return canonical(nodes, references, bounds, threads);
}

void denormalise(std::vector<Node>& nodes, float scale) {
    for (Node& node : nodes) {
        if (!node.is_leaf()) {
            node = Node::inner(node.axis(), node.split() / scale, node.child());
        }
    }
}

}  // namespace heapwood::kdtree
