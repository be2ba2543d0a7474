/// @file
/// Reading the triangles of a frame on a GPU.
#pragma once

#include "kdtree/single/frame.cuh"

namespace heapwood::kdtree {

/// gather_frame for all triangles, by a kernel on a stream (a cudaStream_t). Does not wait.
/// @throws std::runtime_error with what CUDA answered.
void gather_on_gpu(const Frame& frame, float scale, Triangle* to, BuildState& state, void* stream);

}  // namespace heapwood::kdtree
