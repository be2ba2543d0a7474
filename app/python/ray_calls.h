/// @file
/// Calls for many rays, whose parts lie in arrays of their own (ray_arrays.cuh).
///
/// Results go to where the rays lie, and are those of kdtree/rays/ray_batch.h. Rays on the host and
/// a tree on a device: rays and results are copied. Rays on a device need a tree on it; kernels
/// then run on the options' stream, and closest_hits, any_hits and count_hits do not wait for them.
#pragma once

#include <cstdint>

#include "allocators/memory/buffer.h"
#include "app/python/ray_arrays.cuh"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::python {

/// The first hit of each ray.
void closest_hits(const kdtree::RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                  const kdtree::BatchOptions& options);

/// Whether each ray meets anything.
void any_hits(const kdtree::RayTree& tree, const RayArrays& rays, bool* found,
              const kdtree::BatchOptions& options);

/// How many triangles each ray meets.
void count_hits(const kdtree::RayTree& tree, const RayArrays& rays, std::int32_t* counts,
                const kdtree::BatchOptions& options);

/// All hits of all rays, where the rays lie. Returns when they are there.
kdtree::HitLists all_hits(const kdtree::RayTree& tree, const RayArrays& rays,
                          const kdtree::BatchOptions& options);

/// Writes `count` hits, which lie where `place` says, to arrays there.
void split(allocators::Place place, const kdtree::Hit* hits, std::uint64_t count,
           const HitArrays& to, const kdtree::BatchOptions& options);

/// The current GPU's number; 0 in a program without CUDA.
int current_device();

/// Waits until the current GPU has done all that it was given.
/// @throws std::runtime_error with CUDA's answer, or in a program without CUDA.
void wait_for_device();

}  // namespace heapwood::python
