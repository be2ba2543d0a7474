/// @file
/// Calls for many rays on a GPU: gathers their parts, traces them, and divides the hits.
#include <cuda_runtime.h>

#include <algorithm>

#include "app/python/ray_calls_device.h"
#include "kdtree/rays/stream_array.cuh"

namespace heapwood::python {
namespace {

using kdtree::BatchOptions;
using kdtree::Hit;
using kdtree::Ray;
using kdtree::RayTree;
using kdtree::StreamArray;
using platform::check_cuda;

/// Rays that are gathered and traced at a time: as many as keep a GPU busy.
constexpr std::uint64_t kBatch = 1 << 22;

constexpr unsigned kThreads = 256;

cudaStream_t stream_of(const BatchOptions& options) {
    return static_cast<cudaStream_t>(options.stream);
}

template <class Body>
__global__ void call_kernel(std::uint64_t count, const __grid_constant__ Body body) {
    const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        body.call(i);
    }
}

/// Calls body.call(i) for i = 0 .. count - 1 on the options' stream.
template <class Body>
void for_each(std::uint64_t count, const Body& body, const BatchOptions& options) {
    if (count == 0) return;
    constexpr std::uint64_t kMostBlocks = 1 << 20;
    const std::uint64_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
    call_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream_of(options)>>>(count, body);
    check_cuda(cudaGetLastError(), "launching work on arrays of rays");
}

struct Gather {
    RayArrays rays;
    std::uint64_t first;
    Ray* to;

    __device__ void call(std::uint64_t i) const { to[i] = rays.at(first + i); }
};

struct Split {
    const Hit* hits;
    HitArrays to;
    std::uint64_t first;

    __device__ void call(std::uint64_t i) const { to.set(first + i, hits[i]); }
};

/// Copies words, each as another type.
template <class T>
struct Convert {
    const std::uint32_t* from;
    T* to;

    __device__ void call(std::uint64_t i) const { to[i] = static_cast<T>(from[i]); }
};

/// Gathers the rays by batches: trace(first, rays, n).
template <class Trace>
void in_batches(const RayArrays& rays, const BatchOptions& options, const Trace& trace) {
    const StreamArray<Ray> gathered(std::min(rays.count, kBatch), stream_of(options));
    for (std::uint64_t first = 0; first < rays.count; first += kBatch) {
        const std::uint64_t n = std::min(kBatch, rays.count - first);
        for_each(n, Gather{rays, first, gathered.data()}, options);
        trace(first, gathered.data(), n);
    }
}

}  // namespace

namespace detail {

void device_closest_hits(const RayTree& tree, const RayArrays& rays, const HitArrays& hits,
                         const BatchOptions& options) {
    const StreamArray<Hit> found(std::min(rays.count, kBatch), stream_of(options));
    in_batches(rays, options, [&](std::uint64_t first, const Ray* some, std::uint64_t n) {
        kdtree::closest_hits(tree, some, n, found.data(), options);
        for_each(n, Split{found.data(), hits, first}, options);
    });
}

void device_any_hits(const RayTree& tree, const RayArrays& rays, bool* found,
                     const BatchOptions& options) {
    const StreamArray<std::uint32_t> words(std::min(rays.count, kBatch), stream_of(options));
    in_batches(rays, options, [&](std::uint64_t first, const Ray* some, std::uint64_t n) {
        kdtree::any_hits(tree, some, n, words.data(), options);
        for_each(n, Convert<bool>{words.data(), found + first}, options);
    });
}

void device_count_hits(const RayTree& tree, const RayArrays& rays, std::int32_t* counts,
                       const BatchOptions& options) {
    in_batches(rays, options, [&](std::uint64_t first, const Ray* some, std::uint64_t n) {
        kdtree::count_hits(tree, some, n, reinterpret_cast<std::uint32_t*>(counts + first),
                           options);
    });
}

void device_gather(const RayArrays& rays, Ray* to, const BatchOptions& options) {
    for_each(rays.count, Gather{rays, 0, to}, options);
}

void device_split(const Hit* hits, std::uint64_t count, const HitArrays& to,
                  const BatchOptions& options) {
    for_each(count, Split{hits, to, 0}, options);
}

}  // namespace detail

int current_device() {
    int device = 0;
    check_cuda(cudaGetDevice(&device), "finding the device");
    return device;
}

void wait_for_device() {
    check_cuda(cudaDeviceSynchronize(), "waiting for the GPU");
}

}  // namespace heapwood::python
