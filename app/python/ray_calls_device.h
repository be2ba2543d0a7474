/// @file
/// The CUDA half of ray_calls.h: ray_calls_gpu.cu, or ray_calls_none.cpp where there is no CUDA.
///
/// Internal to this folder.
#pragma once

#include "app/python/ray_calls.h"

namespace heapwood::python::detail {

void device_closest_hits(const kdtree::RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                         const kdtree::BatchOptions& options);
void device_any_hits(const kdtree::RayTree& tree, const RayArrays& rays, bool* found,
                     const kdtree::BatchOptions& options);
void device_count_hits(const kdtree::RayTree& tree, const RayArrays& rays, std::int32_t* counts,
                       const kdtree::BatchOptions& options);
/// Writes the rays one after another to `to`, on a device.
void device_gather(const RayArrays& rays, kdtree::Ray* to, const kdtree::BatchOptions& options);
void device_split(const kdtree::Hit* hits, std::uint64_t count, const HitArrays& to,
                  const kdtree::BatchOptions& options);

}  // namespace heapwood::python::detail
