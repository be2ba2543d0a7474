/// @file
/// The LiveTree of an allocator and a machine. Compiled for every one of them.
#pragma once

#include <cstdint>
#include <utility>

#include "app/backends/live_tree.h"
#include "kdtree/built_tree.h"

namespace heapwood::app {

template <allocators::Allocator A, class Machine>
class LiveTreeOf final : public LiveTree {
public:
    /// As kdtree::BuiltTree: an empty tree with room for `triangles` triangles.
    LiveTreeOf(const Machine& machine, std::uint64_t triangles, const kdtree::BuildConfig& config,
               const kdtree::RunConfig& run)
        : tree_(machine, triangles, config, run) {}

    void rebuild(const scenes::Scene& scene, void* stream) override {
        tree_.rebuild(scene, stream);
    }
    void rebuild(const kdtree::Frame& frame, void* stream) override {
        tree_.rebuild(frame, stream);
    }
    const kdtree::RayTree& rays() const override { return tree_.rays(); }
    const kdtree::BuildResult& result() const override { return tree_.result(); }
    kdtree::Tree to_host() const override { return tree_.to_host(); }
    kdtree::FinishedTree finished(void* stream) override {
        return std::move(tree_).finished(stream);
    }

private:
    kdtree::BuiltTree<A, Machine> tree_;
};

}  // namespace heapwood::app
