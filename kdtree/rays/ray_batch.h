/// @file
/// Many rays at once, through a tree on either machine.
///
/// Rays and results lie where the tree lies, in one row or as arrays of their parts
/// (model/arrays.cuh), and results are those of traversal.cuh. On a CPU all
/// cores, or as many threads as asked for, share the rays, and a call returns when all are traced.
/// On a GPU a call launches kernels on the caller's stream and returns: results are there, and rays
/// may be changed, when the stream has come past. The tree must live until then.
///
/// All throw std::runtime_error with CUDA's answer if a launch fails, and where the program was
/// built without CUDA and the tree lies on a device.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "allocators/memory/buffer.h"
#include "kdtree/model/arrays.cuh"
#include "kdtree/model/triangle.cuh"
#include "kdtree/rays/ray_tree.h"

namespace heapwood::kdtree {

/// How a batch is traced.
struct BatchOptions {
    /// With FastTriangleTest, which may be wrong for some rays: see there. (On a
    /// CPU with vector instructions first and any hits are exact all the same: nothing is faster.)
    bool fast = false;
    /// Neighbouring rays take similar ways, as those of a camera's pixels do. Then a GPU's threads
    /// have their stacks in local memory, where those of neighbours are accessed together, and
    /// warps take new rays later, when fewer of theirs are left. On a CPU with vector instructions
    /// packets of eight rays then go through the tree together. There a thread also looks at the
    /// rays that it takes, and does so where they are alike.
    bool coherent = false;
    /// GPU only: a cudaStream_t of the current device; nullptr: the default stream.
    void* stream = nullptr;
    /// CPU only: threads; 0: one a core.
    unsigned threads = 0;
    /// CPU only: once this is requested, by any thread, the call returns soon. Results are then
    /// those of some rays only, and all_hits returns none.
    std::stop_token stop = {};
};

/// The first hit of each of `count` rays.
void closest_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, Hit* hits,
                  const BatchOptions& options = {});
void closest_hits(const RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                  const BatchOptions& options = {});

/// For each of `count` rays 1 if it meets anything, else 0.
void any_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* found,
              const BatchOptions& options = {});
void any_hits(const RayTree& tree, const RayArrays& rays, bool* found,
              const BatchOptions& options = {});

/// For each of `count` rays how many triangles it meets.
void count_hits(const RayTree& tree, const Ray* rays, std::uint64_t count, std::uint32_t* counts,
                const BatchOptions& options = {});
void count_hits(const RayTree& tree, const RayArrays& rays, std::uint32_t* counts,
                const BatchOptions& options = {});

/// All hits of each of `count` rays, front to back: those of ray i become hits[offsets[i]] and the
/// following ones, which there must be room for: as many as count_hits finds.
void list_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
               const std::uint64_t* offsets, Hit* hits, const BatchOptions& options = {});
void list_hits(const RayTree& tree, const RayArrays& rays, const std::uint64_t* offsets,
               const HitArrays& hits, const BatchOptions& options = {});

/// Waits until all batches on the options' stream are done; on a CPU they are.
void wait(const RayTree& tree, const BatchOptions& options = {});

/// A moment between batches: on a GPU, when the options' stream comes past; on a CPU, now.
class BatchMoment {
public:
    BatchMoment(const RayTree& tree, const BatchOptions& options);

    /// Milliseconds from an earlier moment of the same tree and stream to this one. Waits until it
    /// has come.
    double ms_since(const BatchMoment& earlier) const;

private:
    std::chrono::steady_clock::time_point host_;
    std::shared_ptr<const void> device_;  ///< nullptr on a CPU
};

/// All hits of many rays: those of ray i are hits[offsets[i]] to hits[offsets[i + 1]], exclusive.
struct HitLists {
    allocators::Buffer offsets;  ///< a std::uint64_t for each ray, and one more: the total
    allocators::Buffer hits;     ///< of Hit
    std::uint64_t total = 0;
};

/// Counts, makes room where the tree lies, and lists. Returns when all is done, on a GPU too.
/// @throws allocators::BufferError if there is no room.
HitLists all_hits(const RayTree& tree, const Ray* rays, std::uint64_t count,
                  const BatchOptions& options = {});

/// offsets[i] = counts[0] + ... + counts[i - 1] for i = 0 .. count, where the tree lies, as
/// list_hits takes them. Waits for the options' stream.
/// @return the last of them.
std::uint64_t offsets_of(const RayTree& tree, const std::uint32_t* counts, std::uint64_t count,
                         std::uint64_t* offsets, const BatchOptions& options = {});

}  // namespace heapwood::kdtree
