/// @file
/// TBuddy (Gelado & Garland 2019): a buddy system on a static binary tree, with a bulk semaphore
/// for each order.
///
/// **The tree.** The blocks of a pool are nodes, numbered as in a heap in an array: the root is 1,
/// the halves of node n are 2n and 2n + 1, and the nodes of an order lie side by side. A node is
/// free (its bit is in a tree of bits, which finds it), in use as a block (its bit is in `used`),
/// or neither: it is split, part of a larger node, or in one thread's hands. A pool that is no
/// power of two is a forest: at first those nodes are free that lie in it and whose parents do not.
///
/// **Allocate** waits for a node of the order. As a producer it promises one more and goes on to
/// the next order, until it gets a node; then it comes down, and at each order signals one half.
/// What threads want at once is added up that way: of N of them N/2 go to the next order.
///
/// **Free** sets the node's bit and signals. If the buddy is free then too, the thread gets two
/// units of the semaphore, and then the two nodes, and goes on with the parent. Both bits are in
/// one word, so of two threads that free buddies the later one sees both. The units need not be
/// these nodes, and another thread that has got units may be quicker; then the thread puts back
/// what it has got. A merge that it gives up for lack of units is made up for by merge_all(),
/// before a request is refused. So that blocks are not split and merged all the time, a few of each
/// order
/// (`spare`) are not merged before; published are none.
///
/// A thread that merges promises the parent before it takes the halves. So whoever wants one of the
/// halves, or more, waits for it.
///
/// **Memory order.** Setting a node's bit is a release, and taking it an acquire, so what was done
/// to a block by whom ever, whole or in parts, happens before what its next owner does.
#pragma once

#include <cstdint>

#include "allocators/bulkalloc/semaphore.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "allocators/segments/bit_tree.cuh"

namespace heapwood::allocators {

template <class>
class BasicBulkAlloc;

namespace bulkalloc {

using segments::BitTree;
using segments::kNone;
using segments::TreeShape;

/// The number of a node; kNone: there is none.
using Node = std::uint32_t;

/// Of an order; by itself in a sector of the L2 cache.
struct alignas(32) OrderState {
    Count count;
    Node hint;  ///< the node that was taken last
};

/// All blocks of a pool. Policy::pause() is called between any two steps that other threads may
/// come between, and does something in tests only.
template <class Policy>
class Buddies {
public:
    /// The first node of an order; there are as many of them.
    HEAPWOOD_INLINE Node first(std::uint32_t order) const { return Node{1} << (top_ - order); }
    HEAPWOOD_INLINE std::uint32_t top() const { return top_; }

    /// A node of that order; kNone: there is none.
    /// @param place where callers that want to be apart begin to look
    HEAPWOOD_NOINLINE Node allocate(std::uint32_t order, std::uint32_t place) const {
        std::uint32_t at = order;
        Node node = kNone;
        for (; at <= top_; ++at) {
            const Wait got = count(at).wait(1, 2);
            if (got == Wait::produce) continue;
            node = find(at, place);
            if (node == kNone) count(at).signal(1, 0);
            break;
        }
        while (at > order) {
            --at;
            if (node == kNone) {
                count(at).cancel(1);
                continue;
            }
            node *= 2;
            Policy::pause();
            nodes().set(node + 1);
            count(at).signal(1, 1);
        }
        if (node != kNone) used(node).set_relaxed(bit(node));
        return node;
    }
    /// Frees a node of that order. @param expected 1: the node was promised by expect(); or 0
    HEAPWOOD_NOINLINE void free(Node node, std::uint32_t order, std::uint32_t expected) const {
        used(node).count_relaxed(std::uint64_t{0} - bit(node));
        give(node, order, expected);
    }
    HEAPWOOD_INLINE Semaphore<Policy> count(std::uint32_t order) const {
        return Semaphore<Policy>(orders_[order].count);
    }

    /// Merges all buddies that are both free. @return whether there were any
    HEAPWOOD_FN bool merge_all() const {
        bool any = false;
        for (std::uint32_t order = 0; order < top_; ++order) {
            const Node end = 2 * first(order);
            for (Node n = nodes().find(first(order)); n < end; n = nodes().find((n | 1U) + 1)) {
                if (!take_pair(n & ~Node{1}, order, 0)) continue;
                give(n / 2, order + 1, 1);
                any = true;
            }
        }
        return any;
    }

private:
    template <class>
    friend class heapwood::allocators::BasicBulkAlloc;

    HEAPWOOD_INLINE static std::uint64_t bit(Node node) { return std::uint64_t{1} << node % 64; }
    HEAPWOOD_INLINE BitTree nodes() const { return BitTree(free_, shape_); }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint64_t> used(Node node) const {
        return platform::AtomicRef<std::uint64_t>(used_[node / 64]);
    }
    /// Whether two buddies are both free; 0 and 1 are no buddies.
    HEAPWOOD_INLINE bool is_pair(Node even) const {
        return even != 0 && (nodes().leaves(even / 64) >> even % 64 & 3U) == 3;
    }

    /// A free node of that order, for a thread that has got a unit. kNone: all that there are, are
    /// in the hands of threads that put them back.
    HEAPWOOD_FN Node find(std::uint32_t order, std::uint32_t place) const {
        const Node begin = first(order);
        const platform::AtomicRef<Node> hint(orders_[order].hint);
        Node from = begin + (((hint.load_relaxed() & ~Node{63}) | place % 64) & (begin - 1));
        for (std::uint32_t look = 0; look < Policy::kLooks; ++look) {
            Policy::pause();
            Node node = nodes().find(from);
            if (node >= 2 * begin) node = nodes().find(begin);
            if (node >= 2 * begin) {
                platform::back_off(look);
                continue;
            }
            Policy::pause();
            if (nodes().clear(node)) {
                hint.store_relaxed(node);
                return node;
            }
            from = node + 1;
        }
        // A thread that is stalled may keep the summary of a node's bit from being set.
        for (Node node = begin; node < 2 * begin; ++node) {
            const std::uint64_t rest = nodes().leaves(node / 64) >> node % 64;
            node = rest == 0 ? node | 63U : node + platform::lowest_bit(rest);
            if (rest != 0 && node < 2 * begin && nodes().clear(node)) return node;
        }
        return kNone;
    }

    /// Makes a node free, and merges it if it can.
    HEAPWOOD_FN void give(Node node, std::uint32_t order, std::uint32_t expected) const {
        for (;; node /= 2, ++order, expected = 1) {
            Policy::pause();
            nodes().set(node);
            count(order).signal(1, expected);
            if (!take_pair(node & ~Node{1}, order, spare_ >> order)) return;
        }
    }
    /// Takes two buddies that are both free, and promises their parent.
    /// @param spare nodes of the order that are left as they are
    HEAPWOOD_FN bool take_pair(Node even, std::uint32_t order, std::uint32_t spare) const {
        // As long as others come and go: the one that this thread has put back may be what another
        // missed that came back meanwhile.
        while (is_pair(even)) {
            count(order + 1).expect(1);
            const bool enough = count(order).take(2, 2 + spare);
            if (enough) {
                const std::uint64_t both = bit(even) * 3;
                Policy::pause();
                const std::uint64_t got = nodes().clear(even / 64, both);
                if (got == both) return true;
                Policy::pause();
                if (got != 0) nodes().set(even / 64, got);
                count(order).signal(2, 0);
            }
            count(order + 1).cancel(1);
            if (!enough) return false;
        }
        return false;
    }

    std::uint64_t* free_;
    std::uint64_t* used_;
    OrderState* orders_;
    TreeShape shape_;
    std::uint32_t top_;
    std::uint32_t spare_;  ///< of order 0
};

}  // namespace bulkalloc

}  // namespace heapwood::allocators
