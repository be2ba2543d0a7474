/// @file
/// Reading the triangles of a frame on a GPU, and finding their box.
#pragma once

#include "kdtree/single/frame.cuh"

namespace heapwood::kdtree {

/// gather_frame for all triangles, by a kernel on a stream (a cudaStream_t). Does not wait.
/// @throws std::runtime_error with what CUDA answered.
void gather_on_gpu(const Frame& frame, float scale, Triangle* to, BuildState& state, void* stream);

/// widen_box for all triangles, likewise.
void widen_on_gpu(const Frame& frame, WideningBox& box, void* stream);

}  // namespace heapwood::kdtree
