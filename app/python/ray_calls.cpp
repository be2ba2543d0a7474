/// @file
/// Calls for many rays: those on the host, and the choice between host and device.
#include "app/python/ray_calls.h"

#include <algorithm>
#include <array>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "app/python/ray_calls_device.h"
#include "app/python/ray_coherence.h"
#include "kdtree/rays/fast_test.cuh"
#include "kdtree/rays/ordered_hits.cuh"

namespace heapwood::python {
namespace {

using allocators::Buffer;
using allocators::Place;
using kdtree::BatchOptions;
using kdtree::Hit;
using kdtree::Ray;
using kdtree::RayTree;

/// Rays that a thread takes at a time: they stay in its cache between gathering and tracing.
constexpr std::uint64_t kChunk = 256;

/// Rays that are copied to a device at a time.
constexpr std::uint64_t kBatch = 1 << 22;

BatchOptions on_this_thread(BatchOptions options) {
    options.threads = 1;
    return options;
}

/// Rays on the host through a tree there. trace(rays, n, results) answers n rays, store(i, result)
/// keeps what came of ray i.
template <class Result, class Trace, class Store>
void trace_in_chunks(const RayArrays& rays, const BatchOptions& options, const Trace& trace,
                     const Store& store) {
    const auto chunk = [&](std::uint64_t begin, std::uint64_t end) {
        if (options.stop.stop_requested()) return;
        std::array<Ray, kChunk> gathered{};
        std::array<Result, kChunk> results;
        for (std::uint64_t i = begin; i < end; ++i) gathered[i - begin] = rays.at(i);
        trace(gathered.data(), end - begin, results.data());
        for (std::uint64_t i = begin; i < end; ++i) store(i, results[i - begin]);
    };
    platform::for_chunks(rays.count, kChunk, options.threads, chunk);
}

/// Rays on the host through a tree on a device; trace as above, but with addresses there.
template <class Result, class Trace, class Store>
void trace_by_copies(const RayTree& tree, const RayArrays& rays, const BatchOptions& options,
                     const Trace& trace, const Store& store) {
    const std::uint64_t most = std::min(rays.count, kBatch);
    std::vector<Ray> gathered(most);
    std::vector<Result> results(most);
    Buffer rays_there(tree.place(), most * sizeof(Ray));
    Buffer results_there(tree.place(), most * sizeof(Result));
    for (std::uint64_t first = 0; first < rays.count; first += most) {
        const std::uint64_t n = std::min(most, rays.count - first);
        for (std::uint64_t i = 0; i < n; ++i) gathered[i] = rays.at(first + i);
        rays_there.write(0, gathered.data(), n * sizeof(Ray));
        trace(rays_there.as<Ray>(), n, results_there.as<Result>());
        kdtree::wait(tree, options);
        results_there.read(0, results.data(), n * sizeof(Result));
        for (std::uint64_t i = 0; i < n; ++i) store(first + i, results[i]);
    }
}

/// Either of the two, as the tree lies. trace(rays, n, results, options).
template <class Result, class Trace, class Store>
void trace_from_host(const RayTree& tree, const RayArrays& rays, const BatchOptions& options,
                     const Trace& trace, const Store& store) {
    if (tree.place() == Place::device) {
        const auto there = [&](const Ray* some, std::uint64_t n, Result* results) {
            trace(some, n, results, options);
        };
        return trace_by_copies<Result>(tree, rays, options, there, store);
    }
    const BatchOptions alone = on_this_thread(options);
    const kdtree::Box bounds = tree.view().bounds;
    const auto here = [&](const Ray* some, std::uint64_t n, Result* results) {
        BatchOptions how = alone;
        how.coherent = how.coherent || are_coherent(some, n, bounds);
        trace(some, n, results, how);
    };
    trace_in_chunks<Result>(rays, options, here, store);
}

/// All rays one after another, at `place`.
Buffer gather(const RayArrays& rays, Place place, const BatchOptions& options) {
    const std::uint64_t bytes = rays.count * sizeof(Ray);
    if (rays.place == Place::device) {
        Buffer gathered(place, bytes);
        detail::device_gather(rays, gathered.as<Ray>(), options);
        return gathered;
    }
    Buffer here(Place::host, bytes);
    platform::for_chunks(rays.count, kChunk, options.threads,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             for (std::uint64_t i = begin; i < end; ++i) {
                                 here.as<Ray>()[i] = rays.at(i);
                             }
                         });
    if (place == Place::host) return here;
    Buffer there(place, bytes);
    there.write(0, here.data(), bytes);
    return there;
}

/// A copy in the host's memory.
Buffer to_host(const Buffer& there) {
    Buffer here(Place::host, there.size());
    there.read(0, here.data(), here.size());
    return here;
}

/// All hits of rays on the host, through a tree there. Each ray goes through the tree once, where
/// kdtree::all_hits counts first: a thread has room for as many hits as it finds.
template <class Test>
kdtree::HitLists all_hits_here(const RayTree& tree, const RayArrays& rays,
                               const BatchOptions& options) {
    std::vector<std::vector<Hit>> found(rays.count / kChunk + 1);  // by the chunk of their rays
    kdtree::HitLists lists;
    lists.offsets = Buffer(Place::host, (rays.count + 1) * sizeof(std::uint64_t));
    auto* offsets = lists.offsets.as<std::uint64_t>();
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
    lists.total = offsets[rays.count];
    lists.hits = Buffer(Place::host, lists.total * sizeof(Hit));
    const auto join = [&](std::uint64_t begin, std::uint64_t) {
        std::vector<Hit>& hits = found[begin / kChunk];
        std::copy(hits.begin(), hits.end(), lists.hits.as<Hit>() + offsets[begin]);
        hits = {};
    };
    platform::for_chunks(rays.count, kChunk, options.threads, join);
    return lists;
}

}  // namespace

void closest_hits(const RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                  const BatchOptions& options) {
    if (rays.place == Place::device) return detail::device_closest_hits(tree, rays, hits, options);
    trace_from_host<Hit>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, Hit* results, const BatchOptions& how) {
            kdtree::closest_hits(tree, some, n, results, how);
        },
        [&](std::uint64_t i, const Hit& hit) { hits.set(i, hit); });
}

void any_hits(const RayTree& tree, const RayArrays& rays, bool* found,
              const BatchOptions& options) {
    if (rays.place == Place::device) return detail::device_any_hits(tree, rays, found, options);
    trace_from_host<std::uint32_t>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, std::uint32_t* results, const BatchOptions& how) {
            kdtree::any_hits(tree, some, n, results, how);
        },
        [&](std::uint64_t i, std::uint32_t any) { found[i] = any != 0; });
}

void count_hits(const RayTree& tree, const RayArrays& rays, std::int32_t* counts,
                const BatchOptions& options) {
    if (rays.place == Place::device) return detail::device_count_hits(tree, rays, counts, options);
    trace_from_host<std::uint32_t>(
        tree, rays, options,
        [&](const Ray* some, std::uint64_t n, std::uint32_t* results, const BatchOptions& how) {
            kdtree::count_hits(tree, some, n, results, how);
        },
        [&](std::uint64_t i, std::uint32_t n) { counts[i] = static_cast<std::int32_t>(n); });
}

kdtree::HitLists all_hits(const RayTree& tree, const RayArrays& rays, const BatchOptions& options) {
    if (rays.place == Place::host && tree.place() == Place::host) {
        return options.fast ? all_hits_here<kdtree::FastTriangleTest>(tree, rays, options)
                            : all_hits_here<kdtree::TriangleTest>(tree, rays, options);
    }
    const Buffer gathered = gather(rays, tree.place(), options);
    kdtree::HitLists lists = kdtree::all_hits(tree, gathered.as<Ray>(), rays.count, options);
    if (rays.place == tree.place()) return lists;
    return {.offsets = to_host(lists.offsets), .hits = to_host(lists.hits), .total = lists.total};
}

void split(Place place, const Hit* hits, std::uint64_t count, const HitArrays& to,
           const BatchOptions& options) {
    if (place == Place::device) return detail::device_split(hits, count, to, options);
    platform::for_chunks(count, kChunk, options.threads,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             for (std::uint64_t i = begin; i < end; ++i) to.set(i, hits[i]);
                         });
}

}  // namespace heapwood::python
