/// @file
/// The CUDA half of RayTree::lay_out: ray_layout_gpu.cu, or ray_batch_none.cpp, which refuses,
/// where there is no CUDA.
///
/// Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>

#include "kdtree/rays/ray_in_place.cuh"

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

}  // namespace heapwood::kdtree::detail
