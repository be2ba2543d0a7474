/// @file
/// KMA's queue of free superblocks: Michael & Scott, "Simple, fast, and practical non-blocking and
/// blocking concurrent queue algorithms", PODC 1996, with numbers in the place of pointers.
///
/// **Structure.** A list of nodes from head to tail. The node at the head is spent: the values of
/// the queue are those of the nodes behind it. A push links its node behind the last one, and then
/// moves the tail on; a pop moves the head on, and has the value of the node there. Whoever finds
/// that the tail is behind moves it on for the other.
///
/// **Nodes are never short, and never freed.** A value that is in no queue owns one node, and the
/// queue owns one more, the spent one. A push puts the value's node in; a pop gives the value the
/// node that it has spent, for the next push. So there is nothing to reclaim, and no push can fail.
///
/// **Why a node that comes back does no harm (ABA).** Head, tail and links are tagged: every change
/// of an end raises its tag, and a push raises the tag of its node's link before the node goes in.
/// So a compare-and-swap that succeeds has found what it had looked at, unchanged:
/// - of an end: the node that was read there has been at this end all the time; a link or a value
///   read in between is that of this node in the queue.
/// - of the last link: a thread that is late finds the link set, as that of every node that has a
///   successor or is spent; or with another tag, if the node has been pushed again. Before the
///   latter is linked it has the new tag, but is not in the queue: a thread that has read this tag
///   sees that the tail has moved (below), and begins anew.
/// A tag has 40 bits: a thread would have to be stalled while 10^12 superblocks come and go.
///
/// **Memory order.** All that a push, or a thread that moves an end, has seen it passes on by a
/// release, and all who read an end or a link acquire:
/// - By the link: the value, its node, and what was done to the superblock, to the pop.
/// - By the head: that the tail has left the node, so that no pop overtakes the tail; by the tail:
///   the last node's link, to the next push.
/// - By the tag of a link: that the tail has left this node for good.
///
/// **Progress.** A loop begins anew only if another thread has changed an end or a link meanwhile,
/// which a push or a pop does that succeeds, or a thread that helps it. A thread that is stalled
/// between its two steps holds up nobody.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::kma {

/// A tagged number of a node: tag << kTagShift | number.
using Link = std::uint64_t;
inline constexpr std::uint32_t kTagShift = 24;
/// No node; the nodes' numbers are below.
inline constexpr std::uint32_t kNoNode = (1U << kTagShift) - 1;

HEAPWOOD_INLINE constexpr std::uint32_t node_in(Link link) {
    return static_cast<std::uint32_t>(link) & kNoNode;
}
/// The link to `node` that comes after `link`.
HEAPWOOD_INLINE constexpr Link next_link(Link link, std::uint32_t node) {
    return ((link >> kTagShift) + 1) << kTagShift | node;
}
/// `link`, which leads nowhere, with its tag, leading to `node`.
HEAPWOOD_INLINE constexpr Link completed(Link link, std::uint32_t node) {
    return (link >> kTagShift) << kTagShift | node;
}

struct Node {
    Link next;
    std::uint32_t value;  ///< of a node in the queue
    std::uint32_t spare;  ///< the node that the value of this node's own number owns
};

/// The ends, each by itself in the L2 cache.
struct QueueEnds {
    alignas(32) Link head;
    alignas(32) Link tail;
};

/// A queue of numbers below n in n + 1 nodes, which it does not own. Policy::pause() is called
/// between any two steps that others may come between.
template <class Policy>
class Queue {
public:
    static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

    HEAPWOOD_INLINE Queue(QueueEnds& ends, Node* nodes) : ends_(ends), nodes_(nodes) {}

    /// How node i of n + 1 begins, for a queue that is empty; its ends are then {n, n}.
    static constexpr Node first_node(std::uint32_t i) { return {kNoNode, 0, i}; }

    /// Of a value that is in no queue, by its owner. A release: all that was done before.
    HEAPWOOD_FN void push(std::uint32_t value) const {
        const std::uint32_t own = spare(value).load_relaxed();
        value_of(own).store_relaxed(value);
        const Link former = next_of(own).load_relaxed();
        // Release: that the tail has left this node, to those that were about to push behind it.
        next_of(own).store_release(next_link(former, kNoNode));
        const End tail(ends_.tail);
        for (std::uint32_t tries = 0;; ++tries) {
            Policy::pause();
            // Acquire: the node, from the thread that has moved the tail there.
            const Link last = tail.load_acquire();
            const End end(next_of(node_in(last)));
            Policy::pause();
            // Acquire: the next node, for whoever moves the tail there; and see its tag above.
            Link next = end.load_acquire();
            if (tail.load_relaxed() != last) continue;
            Policy::pause();
            if (node_in(next) != kNoNode) {
                advance(tail, last, node_in(next));  // for another push
                continue;
            }
            // Release: the value and the node, and what was done before, to the pop.
            if (end.cas_release(next, completed(next, own))) {
                Policy::pause();
                return advance(tail, last, own);
            }
            platform::back_off(tries);
        }
    }
    /// The value that was pushed first, whose owner the caller is from now on; kEmpty: none. An
    /// acquire.
    HEAPWOOD_FN std::uint32_t pop() const {
        const End head(ends_.head);
        const End tail(ends_.tail);
        for (std::uint32_t tries = 0;; ++tries) {
            Policy::pause();
            // Acquire: that the tail is no further back, and the node there.
            Link first = head.load_acquire();
            Policy::pause();
            const Link last = tail.load_relaxed();
            Policy::pause();
            // Acquire: what was pushed.
            const Link next = next_of(node_in(first)).load_acquire();
            if (head.load_relaxed() != first) continue;
            if (node_in(next) == kNoNode) return kEmpty;
            Policy::pause();
            if (node_in(first) == node_in(last)) {
                advance(tail, last, node_in(next));  // for a push
                continue;
            }
            const std::uint32_t value = value_of(node_in(next)).load_relaxed();
            // Release: that the tail has left this node, and the next one, to the next pop.
            if (head.cas_release(first, next_link(first, node_in(next)))) {
                spare(value).store_relaxed(node_in(first));
                return value;
            }
            platform::back_off(tries);
        }
    }
    /// Whether there was nothing to pop a moment ago.
    HEAPWOOD_INLINE bool is_empty() const {
        // Acquire: the node at the head.
        const Link first = End(ends_.head).load_acquire();
        return node_in(next_of(node_in(first)).load_relaxed()) == kNoNode;
    }

private:
    using End = platform::AtomicRef<Link>;

    HEAPWOOD_INLINE End next_of(std::uint32_t node) const { return End(nodes_[node].next); }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> value_of(std::uint32_t node) const {
        return platform::AtomicRef<std::uint32_t>(nodes_[node].value);
    }
    /// The node that a value owns while it is in no queue.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> spare(std::uint32_t value) const {
        return platform::AtomicRef<std::uint32_t>(nodes_[value].spare);
    }
    /// Moves the tail on, if no other thread has.
    HEAPWOOD_INLINE static void advance(End tail, Link last, std::uint32_t to) {
        // Release: the node there, to those that push behind it.
        tail.cas_release(last, next_link(last, to));
    }

    QueueEnds& ends_;
    Node* nodes_;
};

}  // namespace heapwood::allocators::kma
