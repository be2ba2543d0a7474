/// @file
/// A tree where it was built, for rays, without the memory of its build.
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "kdtree/build_result.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/single/tree_in_place.cuh"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// What is left of a BuiltTree that has given its tree up. The host's tree is made when it is asked
/// for: until then nothing of the tree passes the host.
class FinishedTree {
public:
    /// Copies nodes and references to memory of their own, where they lie: 8 bytes a node and 4
    /// bytes a reference, gaps included. Waits for the stream, so the build's memory may go.
    /// @param rays the layout of `made`, at its place
    /// @param result of the build, without its tree and what it has left in the pool
    /// @param stream GPU only: the cudaStream_t of the build; nullptr: the default stream
    /// @throws allocators::BufferError, and std::runtime_error with CUDA's answer.
    FinishedTree(RayTree rays, const TreeInPlace& made, BuildResult result, void* stream);

    const RayTree& rays() const { return rays_; }
    const BuildResult& result() const { return result_; }
    /// The tree in canonical form, copied to the host. Any thread may call it; the GPU of the tree
    /// is the current one. @throws as canonical_copy.
    Tree to_host() const;

private:
    RayTree rays_;
    BuildResult result_;
    allocators::Buffer nodes_;
    allocators::Buffer references_;
    Box bounds_;
    float scale_;
};

}  // namespace heapwood::kdtree
