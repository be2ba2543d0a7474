/// @file
/// A tree and its triangles laid out for rays, on either machine.
#pragma once

#include <cstdint>
#include <optional>

#include "allocators/memory/buffer.h"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/rays/wide_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// A node of a canonical tree as rays read it: pair p of children is nodes 2 p - 1 and 2 p of the
/// tree, as pair 0 is where walks end.
RayNode ray_node(const Tree& tree, const Node& node);

/// What queries (traversal.cuh, ray_batch.h) read: a copy of a tree's nodes without its empty
/// leaves, and of the triangles in the leaves' order, so that a leaf's triangles follow one
/// another. 8 bytes a node and 48 bytes a reference; on a CPU with vector instructions the inner
/// nodes again, by sevens in 64 bytes. Neither tree nor scene is needed afterwards.
class RayTree {
public:
    /// Lays the tree out on the host with all cores and copies the result to `place`: 34 ms for 2.7
    /// million references on 16 cores, the copy to a GPU included (measured). A tree without nodes
    /// is one that no ray meets.
    /// @throws std::runtime_error for a tree that refers to nodes or triangles that there are not,
    /// is deeper than kMaxDepth, or has 2^28 node pairs or more; allocators::BufferError.
    RayTree(const Tree& tree, const scenes::Scene& scene,
            allocators::Place place = allocators::Place::host);

    /// Where the tree lies: where its view may be read.
    allocators::Place place() const { return nodes_.place(); }
    /// Valid as long as this object, also when it has moved.
    const RayTreeView& view() const { return view_; }
    /// On the host the nodes again, for the CPU's vector instructions if it has them: for batches.
    const std::optional<WideTree>& wide() const { return wide_; }
    /// Whether more than one in 64 references is in a leaf of more than 16. Then lanes of a GPU's
    /// warp test a leaf's triangles together. Of five scenes that this divides rightly the shares
    /// are 22.4 and 4.4 %, where it pays, and 0.55, 0.07 and 0.00 %, where it costs (measured).
    bool has_large_leaves() const { return has_large_leaves_; }
    std::uint64_t bytes() const {
        return nodes_.size() + rows_.size() + (wide_ ? wide_->bytes() : 0);
    }

private:
    allocators::Buffer nodes_;
    allocators::Buffer rows_;
    std::optional<WideTree> wide_;
    bool has_large_leaves_ = false;
    RayTreeView view_;
};

}  // namespace heapwood::kdtree
