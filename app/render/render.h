/// @file
/// Pictures of a scene through its tree, on either machine: the same bits on both, and with any
/// number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "app/render/batch.cuh"
#include "app/render/camera.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// What the pixels of a picture show, row after row from the upper left corner.
struct Film {
    unsigned width = 0;
    unsigned height = 0;
    std::vector<Shade> pixels;
};

/// The rays of one kind that a picture took.
struct TracedRays {
    std::string_view kind;  ///< primary, bounce, shadow, ambient-occlusion; distance: of points
    bool any_hit = false;   ///< what was asked: whether there is a hit, or which is the first
    std::uint64_t rays = 0;
    double ms = 0;  ///< from when they lie where the tree lies to when the answers do

    double rays_per_second() const { return ms > 0 ? 1000 * static_cast<double>(rays) / ms : 0; }
};

/// A finished picture.
struct Rendering {
    Film film;
    std::vector<TracedRays> rays;  ///< of every kind that there were any of
    double ms = 0;                 ///< all of it: rays, shading, and copies of the pixels
};

/// Called now and then with the part of the picture that is done.
using Progress = std::function<void(double)>;

/// Renders where `rays` lies.
/// @param tree the same tree, for what rays do not know: the depth of leaves
/// @throws UsageError, std::runtime_error, allocators::BufferError.
Rendering render(const scenes::Scene& scene, const kdtree::Tree& tree, const kdtree::RayTree& rays,
                 const Camera& camera, const RenderSettings& settings, const Progress& progress);

namespace detail {

/// What `render` hands to a machine: a batch without arrays.
struct RenderJob {
    const kdtree::RayTree& tree;
    Batch batch;
    const Progress& progress;
};
Rendering render_on_cpu(const RenderJob& job);
/// @throws std::runtime_error in a program without CUDA.
Rendering render_on_gpu(const RenderJob& job);

}  // namespace detail
}  // namespace heapwood::app
