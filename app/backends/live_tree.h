/// @file
/// A tree that is rebuilt and traced where its triangles are, behind plain functions.
#pragma once

#include <cstdint>
#include <memory>

#include "kdtree/build_result.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {
struct Frame;
class FinishedTree;
class RayTree;
}  // namespace heapwood::kdtree

namespace heapwood::app {

/// A kdtree::BuiltTree of any allocator and machine. The functions are its, and throw what its do.
/// For one thread at a time.
class LiveTree {
public:
    LiveTree() = default;
    LiveTree(const LiveTree&) = delete;
    LiveTree& operator=(const LiveTree&) = delete;
    virtual ~LiveTree() = default;

    /// @param stream a cudaStream_t of the current GPU; nullptr on a CPU, and for the default
    /// stream
    virtual void rebuild(const scenes::Scene& scene, void* stream) = 0;
    /// The same of a frame in the machine's memory.
    virtual void rebuild(const kdtree::Frame& frame, void* stream) = 0;
    virtual const kdtree::RayTree& rays() const = 0;
    virtual const kdtree::BuildResult& result() const = 0;
    virtual kdtree::Tree to_host() const = 0;
    /// BuiltTree::finished(): afterwards this object can only be destroyed.
    virtual kdtree::FinishedTree finished(void* stream) = 0;
};

/// Makes one for scenes of at most `triangles` triangles.
using MakeLiveTree = std::unique_ptr<LiveTree> (*)(std::uint64_t triangles,
                                                   const kdtree::BuildConfig&,
                                                   const kdtree::RunConfig&);

}  // namespace heapwood::app
