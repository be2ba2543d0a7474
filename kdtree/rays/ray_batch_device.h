/// @file
/// The CUDA half of ray_batch.h, behind plain functions: ray_batch_gpu.cu, or ray_batch_none.cpp,
/// which refuses, where there is no CUDA.
///
/// Internal to the library.
#pragma once

#include <cstdint>
#include <memory>

#include "kdtree/model/arrays.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/rays/ray_batch.h"

namespace heapwood::kdtree::detail {

/// Rays as a call gives them: in one row, or, where that is nullptr, as arrays.
struct RaysIn {
    const Ray* row;
    RayArrays arrays;

    RaysIn(const Ray* rays, std::uint64_t count) : row(rays), arrays{{}, {}, count} {}
    explicit RaysIn(const RayArrays& rays) : row(nullptr), arrays(rays) {}

    std::uint64_t count() const { return arrays.count; }
    HEAPWOOD_INLINE Ray at(std::uint64_t i) const {
        return row == nullptr ? arrays.at(i) : load_wide(row + i);
    }
};

/// Where hits go: to one row, or, where that is nullptr, to arrays.
struct HitsOut {
    Hit* row;
    HitArrays arrays;

    explicit HitsOut(Hit* hits) : row(hits), arrays{} {}
    explicit HitsOut(const HitArrays& hits) : row(nullptr), arrays(hits) {}

    HEAPWOOD_INLINE void set(std::uint64_t i, const Hit& hit) const {
        if (row == nullptr) return arrays.set(i, hit);
        store_wide(row + i, hit);
    }
};

/// Where it goes whether a ray meets anything: to a row of words, 0 or 1, or, where that is
/// nullptr, to bytes.
struct FoundOut {
    std::uint32_t* row;
    bool* bytes;

    explicit FoundOut(std::uint32_t* found) : row(found), bytes(nullptr) {}
    explicit FoundOut(bool* found) : row(nullptr), bytes(found) {}

    HEAPWOOD_INLINE void set(std::uint64_t i, std::uint32_t found) const {
        if (row == nullptr) {
            bytes[i] = found != 0;
        } else {
            row[i] = found;
        }
    }
};

void device_closest_hits(const RayTree& tree, const RaysIn& rays, const HitsOut& hits,
                         const BatchOptions& options);
void device_any_hits(const RayTree& tree, const RaysIn& rays, const FoundOut& found,
                     const BatchOptions& options);
void device_count_hits(const RayTreeView& tree, const RaysIn& rays, std::uint32_t* counts,
                       const BatchOptions& options);
void device_list_hits(const RayTreeView& tree, const RaysIn& rays, const std::uint64_t* offsets,
                      const HitsOut& hits, const BatchOptions& options);

/// As offsets_of.
std::uint64_t device_offsets(const std::uint32_t* counts, std::uint64_t count,
                             std::uint64_t* offsets, const BatchOptions& options);

/// When the stream comes past.
std::shared_ptr<const void> device_moment(const BatchOptions& options);
/// Milliseconds between two moments, of which the second comes later. Waits for it.
double device_ms(const void* from, const void* to);

/// Waits for the stream.
void device_wait(const BatchOptions& options);

}  // namespace heapwood::kdtree::detail
