/// @file
/// Rays of one kind where a tree lies, or points, ready to be asked about again and again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocators/memory/buffer.h"
#include "app/measure/rays/ray_report.h"
#include "kdtree/distance/point_arrays.cuh"
#include "kdtree/rays/ray_batch.h"
#include "scenes/digest.h"

namespace heapwood::app {

class RayBatchRun {
public:
    /// Copies the rays, or their origins if these are points, to where the tree lies, and makes
    /// room for the answers there; to list all hits they are counted first. The tree must live as
    /// long.
    /// @throws std::runtime_error, allocators::BufferError.
    RayBatchRun(const kdtree::RayTree& tree, std::span<const kdtree::Ray> rays, Asked asked,
                const kdtree::BatchOptions& options);

    /// As the calls of kdtree/rays/ray_batch.h and kdtree/distance/distance_batch.h: on a GPU it
    /// does not wait.
    void trace() const;

    /// Of what trace() found, after it is there.
    struct Found {
        std::uint64_t hits = 0;  ///< RayTimes::hits
        /// By ray, in order, the words that RayTimes::digest is made of.
        std::vector<std::uint32_t> words;
    };
    Found found() const;

private:
    /// Where the answers of points are: parts of answers_.
    kdtree::NearestArrays nearest() const;

    const kdtree::RayTree& tree_;
    std::uint64_t count_;
    Asked asked_;
    kdtree::BatchOptions options_;
    allocators::Buffer rays_;
    kdtree::HitLists lists_;      ///< if all hits are asked for
    allocators::Buffer answers_;  ///< else
};

}  // namespace heapwood::app
