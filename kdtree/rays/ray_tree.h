/// @file
/// A tree and its triangles laid out for rays, on either machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "allocators/memory/buffer.h"
#include "kdtree/rays/ray_in_place.cuh"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/rays/wide_tree.h"
#include "kdtree/single/tree_in_place.cuh"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// A node of a canonical tree as rays read it: pair p of children is nodes 2 p - 1 and 2 p of the
/// tree, as pair 0 is where walks end, and the root.
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

    /// A tree that no ray meets, until it is laid out.
    explicit RayTree(allocators::Place place);

    /// Makes room for lay_out() of a tree as large as that. If there was less it waits for the
    /// device; in the order of the StreamScope's stream the former tree is gone, its views are
    /// void, and no ray meets anything.
    /// @throws std::invalid_argument for 2^29 nodes, or 2^28 triangles, and more;
    /// allocators::BufferError, after which the former tree is still there.
    void reserve(const TreeInPlace& made);

    /// Takes over a tree that lies where it was built, in this tree's place: by one kernel on the
    /// stream, without the host, so it can be captured in a CUDA graph (after reserve()). It
    /// belongs to the build: no other build may begin on another stream before it has ended, nor a
    /// batch. Memory is kept from one call to the next: 8 bytes a node and 48 bytes a reference,
    /// gaps included. If memory grows, as in reserve(), the caller captures its graphs again. No
    /// ray meets the tree of a failed build. Rays have the hits that they have in a RayTree of
    /// Builder::tree(), bit for bit. On a host all cores lay out, and batches use no vector
    /// instructions.
    /// @param stream GPU only: the cudaStream_t of the build; nullptr: the default stream
    /// @throws as reserve(), and std::runtime_error with CUDA's answer.
    void lay_out(const TreeInPlace& made, void* stream = nullptr);

    /// Where the tree lies: where its view may be read.
    allocators::Place place() const { return place_; }
    /// Valid until the next lay_out() or reserve(), and as long as this object, also when it has
    /// moved.
    const RayTreeView& view() const { return view_; }
    /// On the host the nodes again, for the CPU's vector instructions if it has them: for batches.
    const std::optional<WideTree>& wide() const { return wide_; }
    /// Whether more than one in 64 references is in a leaf of more than 16. Then lanes of a GPU's
    /// warp test a leaf's triangles together. Of five scenes that this divides rightly the shares
    /// are 22.4 and 4.4 %, where it pays, and 0.55, 0.07 and 0.00 %, where it costs (measured).
    /// After lay_out() on a GPU what the host has heard of so far: a matter of speed alone.
    bool has_large_leaves() const;
    std::uint64_t bytes() const {
        return nodes_.size() + rows_.size() + (wide_ ? wide_->bytes() : 0);
    }

private:
    allocators::Place place_;
    allocators::Buffer nodes_;
    allocators::Buffer rows_;
    std::optional<WideTree> wide_;
    bool has_large_leaves_ = false;
    allocators::Buffer counts_;  ///< LeafCounts of lay_out()
    std::unique_ptr<detail::LateCounts> late_;
    RayTreeView view_;
};

}  // namespace heapwood::kdtree
