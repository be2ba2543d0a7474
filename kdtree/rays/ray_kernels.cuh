/// @file
/// The kernels behind ray_batch.h. Included by .cu files only.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "kdtree/rays/ordered_hits.cuh"
#include "kdtree/rays/ray_batch_device.h"
#include "kdtree/rays/ray_query.cuh"
#include "kdtree/rays/ray_together.cuh"

namespace heapwood::kdtree::detail {

/// How a kernel uses a multiprocessor.
template <unsigned kThreadsOfABlock, unsigned kBlocks, unsigned kSharedEntries, unsigned kIdleLanes,
          unsigned kLeastLanes, bool kHelpingLanes = false>
struct KernelShape {
    static constexpr unsigned kThreads = kThreadsOfABlock;
    /// Blocks that are to be resident: bounds the registers of a thread.
    static constexpr unsigned kResident = kBlocks;
    /// Entries of a thread's stack in shared memory: see BlockMemory.
    static constexpr unsigned kShared = kSharedEntries;
    /// A warp takes new rays when as many of its lanes are done.
    static constexpr unsigned kIdle = kIdleLanes;
    /// And visits leaves when fewer of its lanes are on their way to one.
    static constexpr unsigned kLeast = kLeastLanes;
    /// Whether lanes test a large leaf's triangles together: see ray_together.cuh.
    static constexpr bool kTogether = kHelpingLanes;

    using Memory = BlockMemory<kThreads, kShared>;
};

/// Warps that stay: lanes whose rays are done take new ones from the counter, which counts the rays
/// that are taken. A warp takes rays for all its idle lanes at once, in their order, so that
/// neighbours stay neighbours.
/// @param first_ray of the launch, which has `count`
template <class Query, class Shape, class Out>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kResident)
    trace_batch(const __grid_constant__ RayTreeView tree, const __grid_constant__ RaysIn rays,
                std::uint64_t first_ray, std::uint32_t count, const __grid_constant__ Out results,
                std::uint32_t* taken) {
    using Memory = typename Shape::Memory;
    constexpr std::uint32_t kNoRay = 0xFFFFFFFFU;
    constexpr unsigned kAll = 0xFFFFFFFFU;
    __shared__ typename Memory::Block block;
    typename Memory::Storage storage;
    const unsigned lane = threadIdx.x % 32;
    RayWalk<Memory> walk{Memory(block, storage)};
    Query query(Ray{{0, 0, 0}, {1, 0, 0}, 0, 0});
    std::uint32_t mine = kNoRay;
    bool more = true;
    for (;;) {
        const unsigned idle = __ballot_sync(kAll, walk.has_ended());
        const unsigned wanted = platform::popcount(idle);
        if (wanted >= Shape::kIdle || !more) {
            if (walk.has_ended() && mine != kNoRay) {
                results.set(first_ray + mine, query.result(tree));
                mine = kNoRay;
            }
            if (more) {
                // Hands out numbers, publishes nothing.
                std::uint32_t first = 0;
                if (lane == 0) first = platform::AtomicRef(*taken).add_relaxed(wanted);
                first = __shfl_sync(kAll, first, 0);
                more = first < count && count - first > wanted;
                const std::uint32_t place = platform::popcount(idle & ((1U << lane) - 1));
                if (walk.has_ended() && first < count && count - first > place) {
                    mine = first + place;
                    const Ray ray = rays.at(first_ray + mine);
                    query = Query(ray);
                    if (ray.is_valid()) walk.restart(tree, ray);
                }
            } else if (idle == kAll) {
                return;
            }
        }
        // At the end, when there is nothing else to do for the others, all go on.
        const unsigned least = more ? Shape::kLeast : 0;
        const bool at = walk.descend(tree, query.limit(), least);
        if constexpr (Shape::kTogether) {
            visit_together(platform::DeviceWarp{}, tree, walk.leaf(), at, query);
        } else if (at) {
            visit(tree, walk.leaf(), query);
        }
        if (at) go_on(tree, query, walk);
    }
}

/// How many triangles each ray meets.
template <class Test>
__global__ void trace_counts(const __grid_constant__ RayTreeView tree,
                             const __grid_constant__ RaysIn rays, std::uint64_t first_ray,
                             std::uint32_t count, std::uint32_t* counts) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Ray ray = rays.at(first_ray + i);
    counts[first_ray + i] = OrderedHits<Test>(tree, ray).count();
}

/// All hits of each ray.
template <class Test>
__global__ void trace_lists(const __grid_constant__ RayTreeView tree,
                            const __grid_constant__ RaysIn rays, std::uint64_t first_ray,
                            std::uint32_t count, const std::uint64_t* offsets,
                            const __grid_constant__ HitsOut hits) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const Ray ray = rays.at(first_ray + i);
    OrderedHits<Test> along(tree, ray);
    std::uint64_t to = offsets[first_ray + i];
    for (Hit hit; along.next(hit); ++to) hits.set(to, hit);
}

}  // namespace heapwood::kdtree::detail
