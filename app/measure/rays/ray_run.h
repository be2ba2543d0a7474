/// @file
/// Rays of every kind through the trees of one scene, and points beside them, timed.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "app/backends/backend.h"
#include "app/measure/rays/ray_report.h"
#include "app/measure/rays/rays.h"
#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_replicas.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::app {

/// Traces the same rays through one tree after another. The scene must live as long.
class RayBench {
public:
    /// @param run how often, and on a CPU by how many threads @param gpu rather than on the CPU
    RayBench(const scenes::Scene& scene, RayOptions options, RunOptions run, bool gpu)
        : scene_(scene), options_(std::move(options)), run_(std::move(run)), gpu_(gpu) {}

    /// Lays a tree out and times all rays; the first hits of the first tree are where secondary
    /// rays begin. Times are by a steady clock, until all results are there.
    /// @throws std::runtime_error, allocators::BufferError.
    void trace(const kdtree::Tree& tree, TracedTree& to);

    /// The same unless the build has failed, which is told, or an equal tree was traced before.
    /// What goes wrong is in the result.
    void trace_once(const kdtree::Tree& tree, TracedTree& to,
                    const std::vector<TracedTree>& before);

    /// The same tree, by the same backend, where its triangles lie, after trace_once() has traced
    /// it or an equal one: builds, lays out and traces behind one another on a stream. Rays are
    /// traced once through equal trees. Nothing where the backend has no such trees, or GPUs share
    /// the rays. Where it cannot be done a warning says why.
    void trace_in_place(const Backend& backend, const MeasureOptions& measure, TracedTree& to,
                        const std::vector<TracedTree>& before);

    /// Rebuilds the trees of frames by the same backend, one after another, and traces the primary
    /// rays of trace_once() through each. Does nothing for a tree that was not traced, or where the
    /// backend has no such trees. What goes wrong is in the result.
    void trace_frames(const Backend& backend, const MeasureOptions& measure,
                      const std::vector<scenes::Scene>& frames, TracedTree& to);

    /// As trace() with Embree's own tree, after a first trace(); nothing if it is not
    /// installed, or on a GPU.
    std::optional<TracedTree> trace_with_embree() const;

    /// Where primary rays come from; nothing before a first trace().
    const std::optional<Camera>& camera() const { return camera_; }

    /// Rays of each kind: a square picture's.
    std::uint64_t rays() const { return std::uint64_t{width()} * width(); }

private:
    unsigned width() const;
    /// Calls add(set, what is asked) for each kind of rays and of points, in the report's order.
    template <class Add>
    void for_questions(const Add& add) const;
    void make_sets(const kdtree::RayReplicas& replicas);
    kdtree::BatchOptions options_of(const RaySet& set) const;
    RayTimes time_shared(const kdtree::RayReplicas& replicas, const RaySet& set, Asked asked) const;
    RayTimes time(const kdtree::RayTree& tree, const RaySet& set, Asked asked) const;
    InPlaceTree time_in_place(LiveTree& tree, const InPlaceTree* same) const;
    AnimatedRays time_frames(LiveTree& tree, const std::vector<scenes::Scene>& frames) const;

    const scenes::Scene& scene_;
    RayOptions options_;
    RunOptions run_;
    bool gpu_;
    std::optional<Camera> camera_;
    std::vector<RaySet> sets_;    ///< random rays first
    std::vector<RaySet> points_;  ///< as origins
};

}  // namespace heapwood::app
