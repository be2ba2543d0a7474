/// @file
/// Calls for many rays that lie on the host or on a device, through trees on either.
///
/// Results go to where the rays lie, and are those of kdtree/rays/ray_batch.h. Rays on the host and
/// a tree on a device: rays and results are copied. Rays on a device need a tree on it; kernels
/// then run on the options' stream, and closest_hits, any_hits and count_hits do not wait for them.
#pragma once

#include <cstdint>
#include <functional>

#include "allocators/memory/buffer.h"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::python {

/// Rays, and where their arrays lie.
struct PlacedRays : kdtree::RayArrays {
    allocators::Place place;
};

/// The first hit of each ray.
void closest_hits(const kdtree::RayTree& tree, const PlacedRays& rays,
                  const kdtree::HitArrays& hits, const kdtree::BatchOptions& options);

/// Whether each ray meets anything.
void any_hits(const kdtree::RayTree& tree, const PlacedRays& rays, bool* found,
              const kdtree::BatchOptions& options);

/// How many triangles each ray meets.
void count_hits(const kdtree::RayTree& tree, const PlacedRays& rays, std::uint32_t* counts,
                const kdtree::BatchOptions& options);

/// All hits of all rays, front to back. Returns when they are there.
/// @param room called once with the number of hits: arrays for them where the rays lie
/// @return a std::uint64_t for each ray, where its hits begin, and one more: the total; or none if
/// the options' stop was requested. It lies where the rays lie.
allocators::Buffer all_hits(const kdtree::RayTree& tree, const PlacedRays& rays,
                            const std::function<kdtree::HitArrays(std::uint64_t)>& room,
                            const kdtree::BatchOptions& options);

}  // namespace heapwood::python
