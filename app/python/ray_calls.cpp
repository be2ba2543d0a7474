/// @file
/// Calls for many rays: copies between host and device where rays and tree lie apart.
#include "app/python/ray_calls.h"

#include <algorithm>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "kdtree/rays/fast_test.cuh"
#include "kdtree/rays/ordered_hits.cuh"

namespace heapwood::python {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BatchOptions;
using kdtree::Hit;
using kdtree::HitArrays;
using kdtree::Ray;
using kdtree::RayTree;

/// Rays that a thread takes at a time.
constexpr std::uint64_t kChunk = 256;

/// Rays that are copied to a device at a time.
constexpr std::uint64_t kBatch = 1 << 22;

/// Rays `first` to `first + count`, exclusive, one after another on the host.
std::vector<Ray> gathered(const PlacedRays& rays, std::uint64_t first, std::uint64_t count) {
    std::vector<Ray> row(count);
    for (std::uint64_t i = 0; i < count; ++i) row[i] = rays.at(first + i);
    return row;
}

/// A copy on a device.
Buffer on_device(const std::vector<Ray>& rays) {
    Buffer there(Place::device, rays.size() * sizeof(Ray));
    there.write(0, rays.data(), there.size());
    return there;
}

/// A copy on the host.
Buffer on_host(const Buffer& there) {
    Buffer here(Place::host, there.size());
    there.read(0, here.data(), here.size());
    return here;
}

/// Rays on the host through a tree on a device. trace(rays, n, results) answers n rays there,
/// store(i, result) keeps what came of ray i.
template <class Result, class Trace, class Store>
void trace_by_copies(const RayTree& tree, const PlacedRays& rays, const BatchOptions& options,
                     const Trace& trace, const Store& store) {
    for (std::uint64_t first = 0; first < rays.count; first += kBatch) {
        const std::uint64_t n = std::min(kBatch, rays.count - first);
        const Buffer rays_there = on_device(gathered(rays, first, n));
        const Buffer results_there(tree.place(), n * sizeof(Result));
        trace(rays_there.as<Ray>(), n, results_there.as<Result>());
        kdtree::wait(tree, options);
        const Buffer results = on_host(results_there);
        for (std::uint64_t i = 0; i < n; ++i) store(first + i, results.as<Result>()[i]);
    }
}

/// all_hits on the host. Each ray goes through the tree once, where kdtree::all_hits counts first:
/// a thread has room for as many hits as it finds.
template <class Test>
Buffer all_hits_here(const RayTree& tree, const PlacedRays& rays,
                     const std::function<HitArrays(std::uint64_t)>& room,
                     const BatchOptions& options) {
    std::vector<std::vector<Hit>> found(rays.count / kChunk + 1);  // by the chunk of their rays
    Buffer begins(Place::host, (rays.count + 1) * sizeof(std::uint64_t));
    auto* offsets = begins.as<std::uint64_t>();
    const auto trace = [&](std::uint64_t begin, std::uint64_t end) {
        if (options.stop.stop_requested()) return;
        std::vector<Hit>& hits = found[begin / kChunk];
        for (std::uint64_t i = begin; i < end; ++i) {
            const std::size_t before = hits.size();
            const Ray ray = rays.at(i);
            kdtree::OrderedHits<Test> of_ray(tree.view(), ray);
            for (Hit hit; of_ray.next(hit);) hits.push_back(hit);
            offsets[i + 1] = hits.size() - before;
        }
    };
    platform::for_chunks(rays.count, kChunk, options.threads, trace);
    if (options.stop.stop_requested()) return {};
    offsets[0] = 0;
    for (std::uint64_t i = 0; i < rays.count; ++i) offsets[i + 1] += offsets[i];
    const HitArrays to = room(offsets[rays.count]);
    const auto join = [&](std::uint64_t begin, std::uint64_t) {
        std::uint64_t i = offsets[begin];
        for (const Hit& hit : found[begin / kChunk]) to.set(i++, hit);
        found[begin / kChunk] = {};
    };
    platform::for_chunks(rays.count, kChunk, options.threads, join);
    return begins;
}

/// all_hits on a device.
Buffer all_hits_there(const RayTree& tree, const PlacedRays& rays,
                      const std::function<HitArrays(std::uint64_t)>& room,
                      const BatchOptions& options) {
    const Buffer counts(tree.place(), rays.count * sizeof(std::uint32_t));
    Buffer begins(tree.place(), (rays.count + 1) * sizeof(std::uint64_t));
    kdtree::count_hits(tree, rays, counts.as<std::uint32_t>(), options);
    const std::uint64_t total = kdtree::offsets_of(tree, counts.as<std::uint32_t>(), rays.count,
                                                   begins.as<std::uint64_t>(), options);
    kdtree::list_hits(tree, rays, begins.as<std::uint64_t>(), room(total), options);
    kdtree::wait(tree, options);
    return begins;
}

/// all_hits of rays on the host through a tree on a device.
Buffer all_hits_by_copies(const RayTree& tree, const PlacedRays& rays,
                          const std::function<HitArrays(std::uint64_t)>& room,
                          const BatchOptions& options) {
    const Buffer rays_there = on_device(gathered(rays, 0, rays.count));
    const kdtree::HitLists lists =
        kdtree::all_hits(tree, rays_there.as<Ray>(), rays.count, options);
    const Buffer hits = on_host(lists.hits);
    const HitArrays to = room(lists.total);
    for (std::uint64_t i = 0; i < lists.total; ++i) to.set(i, hits.as<Hit>()[i]);
    return on_host(lists.offsets);
}

}  // namespace

void closest_hits(const RayTree& tree, const PlacedRays& rays, const HitArrays& hits,
                  const BatchOptions& options) {
    if (rays.place == tree.place()) return kdtree::closest_hits(tree, rays, hits, options);
    trace_by_copies<Hit>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, Hit* results) {
            kdtree::closest_hits(tree, some, n, results, options);
        },
        [&](std::uint64_t i, const Hit& hit) { hits.set(i, hit); });
}

void any_hits(const RayTree& tree, const PlacedRays& rays, bool* found,
              const BatchOptions& options) {
    if (rays.place == tree.place()) return kdtree::any_hits(tree, rays, found, options);
    trace_by_copies<std::uint32_t>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, std::uint32_t* results) {
            kdtree::any_hits(tree, some, n, results, options);
        },
        [&](std::uint64_t i, std::uint32_t any) { found[i] = any != 0; });
}

void count_hits(const RayTree& tree, const PlacedRays& rays, std::uint32_t* counts,
                const BatchOptions& options) {
    if (rays.place == tree.place()) return kdtree::count_hits(tree, rays, counts, options);
    trace_by_copies<std::uint32_t>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, std::uint32_t* results) {
            kdtree::count_hits(tree, some, n, results, options);
        },
        [&](std::uint64_t i, std::uint32_t n) { counts[i] = n; });
}

Buffer all_hits(const RayTree& tree, const PlacedRays& rays,
                const std::function<HitArrays(std::uint64_t)>& room, const BatchOptions& options) {
    if (rays.place != tree.place()) return all_hits_by_copies(tree, rays, room, options);
    if (tree.place() == Place::device) return all_hits_there(tree, rays, room, options);
    return options.fast ? all_hits_here<kdtree::FastTriangleTest>(tree, rays, room, options)
                        : all_hits_here<kdtree::TriangleTest>(tree, rays, room, options);
}

}  // namespace heapwood::python
