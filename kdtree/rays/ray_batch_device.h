/// @file
/// The CUDA half of ray_batch.h, behind plain functions: ray_batch_gpu.cu, or ray_batch_none.cpp,
/// which refuses, where there is no CUDA.
///
/// Internal to the library.
#pragma once

#include <cstdint>
#include <memory>

#include "kdtree/rays/ray_batch.h"

namespace heapwood::kdtree::detail {

void device_closest_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, Hit* hits,
                         const BatchOptions& options);
void device_any_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
                     std::uint32_t* found, const BatchOptions& options);
void device_count_hits(const RayTreeView& tree, const Ray* rays, std::uint64_t count,
                       std::uint32_t* counts, const BatchOptions& options);
void device_list_hits(const RayTreeView& tree, const Ray* rays, std::uint64_t count,
                      const std::uint64_t* offsets, Hit* hits, const BatchOptions& options);

/// offsets[i] = counts[0] + ... + counts[i - 1] for i = 0 .. count. Waits for the stream.
/// @return the last of them.
std::uint64_t device_offsets(const std::uint32_t* counts, std::uint64_t count,
                             std::uint64_t* offsets, const BatchOptions& options);

/// The same on either machine, where the tree lies. Waits for the stream.
std::uint64_t offsets_of(const RayTree& tree, const std::uint32_t* counts, std::uint64_t count,
                         std::uint64_t* offsets, const BatchOptions& options);

/// When the stream comes past.
std::shared_ptr<const void> device_moment(const BatchOptions& options);
/// Milliseconds between two moments, of which the second comes later. Waits for it.
double device_ms(const void* from, const void* to);

/// Waits for the stream.
void device_wait(const BatchOptions& options);

}  // namespace heapwood::kdtree::detail
