/// @file
/// Laying a tree out for rays where a build has left it.
#pragma once

#include <cstdint>
#include <memory>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/single/tree_in_place.cuh"

namespace heapwood::kdtree {

/// References of a tree, those in leaves that are worth a warp's help (kLargeLeaf) and all. Only a
/// hint: places that no leaf refers to count, too.
struct alignas(8) LeafCounts {
    std::uint32_t in_large_leaves;
    std::uint32_t all;
};

/// Where a tree is laid out: as many nodes, and three rows for each of as many references, as
/// TreeInPlace has at most.
struct RayMemory {
    RayNode* nodes;
    CornerRow* rows;
    LeafCounts* counts;  ///< zero before
};

/// Node `i` of a tree in place as rays read it.
HEAPWOOD_INLINE RayNode ray_node(const TreeInPlace& made, std::uint64_t end, std::uint64_t i) {
    const Node node = made.nodes[i];
    if (node.is_leaf()) return RayNode::leaf(node.first(), node.count());
    const std::uint32_t child = node.child();
    bool low = false;
    bool high = false;
    // A place that no node refers to may hold any number.
    if (std::uint64_t{child} + 1 < end) {
        const Node l = made.nodes[child];
        const Node h = made.nodes[child + 1];
        low = l.is_leaf() && l.count() == 0;
        high = h.is_leaf() && h.count() == 0;
    }
    return RayNode::inner(node.axis(), platform::float_bits(node.split() * (1 / made.scale)),
                          child / 2, low, high);
}

/// Lays out nodes and references `begin`, `begin + step`, ... Each thread calls it with a number of
/// its own below `step`. What they write is visible to what follows the kernel, or the threads.
/// Places that no node or leaf refers to are read, too, whatever they hold: compute-sanitizer's
/// initcheck reports them.
HEAPWOOD_INLINE void lay_out_for_rays(const TreeInPlace& made, const RayMemory& to,
                                      std::uint64_t begin, std::uint64_t step) {
    const TreeEnds ends = tree_ends(made);
    if (begin == 0) {
        to.nodes[0] = RayNode::end();
        to.nodes[1] = ends.nodes == 0 ? RayNode::leaf(0, 0) : ray_node(made, ends.nodes, 0);
        to.counts->all = static_cast<std::uint32_t>(ends.references);
    }
    std::uint32_t in_large_leaves = 0;
    for (std::uint64_t i = begin; i < ends.nodes; i += step) {
        if (i < 2) continue;  // the root is done, and node 1 is not used
        const RayNode node = ray_node(made, ends.nodes, i);
        to.nodes[i] = node;
        if (node.is_leaf() && node.count() > kLargeLeaf) in_large_leaves += node.count();
    }
    if (in_large_leaves > 0) {
        platform::AtomicRef(to.counts->in_large_leaves).add_relaxed(in_large_leaves);
    }
    const float unscale = 1 / made.scale;
    // +0 for -0, as in every layout.
    const auto coordinate = [&](float x) { return x * unscale + 0.0F; };
    for (std::uint64_t i = begin; i < ends.references; i += step) {
        const std::uint32_t number = made.references[i];
        if (number >= made.triangle_count) continue;  // a place that no leaf refers to
        const Triangle t = load_wide(made.triangles + number);
        CornerRow* rows = to.rows + 3 * i;
        store_wide(rows,
                   CornerRow{coordinate(t.a.x), coordinate(t.b.x), coordinate(t.c.x), number});
        store_wide(rows + 1,
                   CornerRow{coordinate(t.a.y), coordinate(t.b.y), coordinate(t.c.y), number});
        store_wide(rows + 2,
                   CornerRow{coordinate(t.a.z), coordinate(t.b.z), coordinate(t.c.z), number});
    }
}

}  // namespace heapwood::kdtree

/// The CUDA half of RayTree::lay_out and of FinishedTree: ray_layout_gpu.cu, or ray_batch_none.cpp,
/// which refuses, where there is no CUDA. Internal to these two.
namespace heapwood::kdtree::detail {

/// Counts that a stream's work copies to the host, which reads what has arrived and never waits.
class LateCounts {
public:
    virtual ~LateCounts() = default;
    /// What arrived last; 0 at first.
    virtual LeafCounts value() const = 0;
    /// Puts a copy from device memory on the stream.
    virtual void copy(const LeafCounts* from, void* stream) = 0;
};

/// @throws std::runtime_error with CUDA's answer.
std::unique_ptr<LateCounts> make_late_counts();

/// lay_out_for_rays by one kernel on the stream (a cudaStream_t). Does not wait.
/// @throws std::runtime_error with CUDA's answer.
void lay_out_on_gpu(const TreeInPlace& made, const RayMemory& to, void* stream);

/// Copies bytes of the device's memory on the stream. Does not wait.
/// @throws std::runtime_error with CUDA's answer.
void copy_on_gpu(void* to, const void* from, std::uint64_t bytes, void* stream);

}  // namespace heapwood::kdtree::detail
