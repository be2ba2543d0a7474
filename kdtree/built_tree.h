/// @file
/// A tree that is built, traced and rebuilt where its triangles are: one call for the common case.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/cambium.cuh"
#include "allocators/memory/stream_scope.h"
#include "kdtree/builder.h"
#include "kdtree/finished_tree.h"
#include "kdtree/rays/ray_batch.h"
#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree_file.h"

namespace heapwood::kdtree {

/// Thrown for a build that has failed. what() says what ran out, and the remedy.
class BuildError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Where build() builds: on the threads of this machine.
struct OnCpu {
    template <class A>
    static CpuMachine machine(const BuildConfig&, const RunConfig& run) {
        return CpuMachine(run.threads, run.stop);
    }
};

#if defined(__CUDACC__)
/// The same on the current GPU.
struct OnGpu {
    template <class A>
    static GpuMachine<A> machine(const BuildConfig& config, const RunConfig&) {
        return GpuMachine<A>(config);
    }
};
#endif

/// A Builder and the RayTree of its last build. Rays and hits lie where the tree lies. For one
/// thread at a time; neither movable nor copyable.
template <allocators::Allocator A, class Machine>
class BuiltTree {
public:
    /// Makes an empty tree with room for scenes of at most `triangles` triangles. If
    /// RunConfig::pool_bytes is 0, the pool has pool_bytes_for(); result().pool_bytes says it.
    /// @throws as Builder.
    BuiltTree(const Machine& machine, std::uint64_t triangles, const BuildConfig& config = {},
              const RunConfig& run = {})
        : config_(config), builder_(machine, triangles, config, run), rays_(machine.place()) {}

    /// The tree of a scene or a frame, as rebuild() makes it. @throws also as rebuild().
    template <class Source>
    BuiltTree(const Machine& machine, const Source& source, const BuildConfig& config,
              const RunConfig& run, void* stream)
        : BuiltTree(machine, triangles_of(source), config, run) {
        rebuild(source, stream);
    }

    /// Builds the tree of a scene of the host; the scene may go afterwards.
    /// @param stream GPU only: a cudaStream_t of the current device; nullptr: the default stream.
    /// The call waits for the build, and the layout for rays follows on the stream, and batches on
    /// it. A build on another stream may begin when they have ended.
    /// @throws BuildError, after which no ray meets anything; and as Builder::rebuild, after which
    /// the former tree is still there.
    void rebuild(const scenes::Scene& scene, void* stream = nullptr) {
        require(builder_.rebuild(scene, stream), stream);
        if (rays_.place() == allocators::Place::host) {
            rays_ = RayTree(builder_.tree(), scene);  // with the CPU's vector instructions
        } else {
            rays_.lay_out(builder_.tree_in_place(), stream);
        }
    }
    /// The same of a frame where the machine's memory is. Nothing of it passes the host.
    void rebuild(const Frame& frame, void* stream = nullptr) {
        require(builder_.rebuild(frame, stream), stream);
        rays_.lay_out(builder_.tree_in_place(), stream);
    }

    /// Begins a build and the layout behind it, and waits for neither: batches can follow on the
    /// stream. The first call, and the first one after result().enlarged, makes room for the
    /// largest tree that the builder has room for; a call of as many triangles after it can be
    /// captured in a CUDA graph. If the build fails, no ray meets anything, and finish() says why.
    /// @throws as Builder::enqueue and RayTree::reserve.
    void enqueue(const Frame& frame, void* stream = nullptr) {
        const allocators::StreamScope scope(stream);
        rays_.reserve(builder_.tree_in_flight());
        builder_.enqueue(frame, stream);
        rays_.lay_out(builder_.tree_in_flight(), stream);
    }
    /// Waits for a build that enqueue() began, or a graph repeated.
    /// @throws BuildError, and std::invalid_argument for a faulty frame: no ray meets anything
    /// then.
    void finish(void* stream = nullptr) { require(builder_.finish(stream), stream); }

    /// Batches, as in rays/ray_batch.h.
    void closest_hits(const Ray* rays, std::uint64_t count, Hit* hits,
                      const BatchOptions& options = {}) const {
        kdtree::closest_hits(rays_, rays, count, hits, options);
    }
    void closest_hits(const RayArrays& rays, const HitArrays& hits,
                      const BatchOptions& options = {}) const {
        kdtree::closest_hits(rays_, rays, hits, options);
    }
    void any_hits(const Ray* rays, std::uint64_t count, std::uint32_t* found,
                  const BatchOptions& options = {}) const {
        kdtree::any_hits(rays_, rays, count, found, options);
    }
    void any_hits(const RayArrays& rays, bool* found, const BatchOptions& options = {}) const {
        kdtree::any_hits(rays_, rays, found, options);
    }
    void count_hits(const Ray* rays, std::uint64_t count, std::uint32_t* counts,
                    const BatchOptions& options = {}) const {
        kdtree::count_hits(rays_, rays, count, counts, options);
    }
    void count_hits(const RayArrays& rays, std::uint32_t* counts,
                    const BatchOptions& options = {}) const {
        kdtree::count_hits(rays_, rays, counts, options);
    }
    HitLists all_hits(const Ray* rays, std::uint64_t count,
                      const BatchOptions& options = {}) const {
        return kdtree::all_hits(rays_, rays, count, options);
    }
    /// For rays of a kernel (rays/traversal.cuh), by rays().view().
    const RayTree& rays() const { return rays_; }

    /// What is known of the last build, but for its tree and memory.
    const BuildResult& result() const { return builder_.result(); }
    /// The tree in canonical form, copied to the host.
    Tree to_host() const { return builder_.tree(); }
    /// Writes a tree file of the tree and its scene. @throws TreeWriteError.
    void save(const std::string& path, const scenes::Scene& scene) const {
        save_tree(path, to_host(), scene, config_);
    }

    /// Gives up the last tree, without the memory of builds, which goes with this object: it can
    /// only be destroyed then. Only after a build that is done.
    /// @param stream of the build. @throws as FinishedTree.
    FinishedTree finished(void* stream = nullptr) && {
        const TreeInPlace made = builder_.tree_in_place();
        return FinishedTree(std::move(rays_), made, builder_.summary(), stream);
    }

private:
    static std::uint64_t triangles_of(const scenes::Scene& scene) { return scene.triangles.size(); }
    static std::uint64_t triangles_of(const Frame& frame) { return frame.triangle_count; }

    void require(bool done, void* stream) {
        if (done) return;
        rays_.lay_out({}, stream);
        throw BuildError(builder_.result().message);
    }

    BuildConfig config_;
    Builder<A, Machine> builder_;
    RayTree rays_;
};

/// A tree of a scene of the host, or of a Frame, built on a GPU or a CPU:
///     auto tree = build<OnGpu>(scene);
///     tree.closest_hits(rays, count, hits);
/// @throws as BuiltTree and its rebuild().
template <class Where, allocators::Allocator A = allocators::Cambium, class Source>
auto build(const Source& source, const BuildConfig& config = {}, const RunConfig& run = {},
           void* stream = nullptr) {
    using Machine = decltype(Where::template machine<A>(config, run));
    return BuiltTree<A, Machine>(Where::template machine<A>(config, run), source, config, run,
                                 stream);
}

}  // namespace heapwood::kdtree
