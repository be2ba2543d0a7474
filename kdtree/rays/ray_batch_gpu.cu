/// @file
/// Batches of rays on a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "allocators/platform/cuda_runtime.h"
#include "kdtree/rays/fast_test.cuh"
#include "kdtree/rays/ray_batch_device.h"
#include "kdtree/rays/ray_kernels.cuh"
#include "kdtree/rays/stream_array.cuh"

namespace heapwood::kdtree::detail {
namespace {

using platform::check_cuda;
using platform::resident_blocks;

/// Rays of one launch, so that 32 bits number them.
constexpr std::uint64_t kLaunch = 1U << 30;

// Measured on an H100, on five scenes: README.md of this folder.
using Coherent = KernelShape<128, 8, 0, 24, 6>;
using Incoherent = KernelShape<128, 8, 8, 16, 8>;
// For trees with large leaves; eight blocks are slower.
using CoherentTogether = KernelShape<128, 7, 0, 24, 6, true>;
using IncoherentTogether = KernelShape<128, 7, 8, 16, 8, true>;
/// Threads of a block where each has one ray.
constexpr unsigned kThreads = 128;

cudaStream_t stream_of(const BatchOptions& options) {
    return static_cast<cudaStream_t>(options.stream);
}

/// Calls launch(first ray, rays) for parts of the batch.
template <class Launch>
void in_parts(std::uint64_t count, const Launch& launch) {
    for (std::uint64_t first = 0; first < count; first += kLaunch) {
        launch(first, static_cast<std::uint32_t>(std::min(kLaunch, count - first)));
        check_cuda(cudaGetLastError(), "launching a batch of rays");
    }
}

unsigned blocks_for(std::uint32_t rays, unsigned threads) {
    return rays / threads + (rays % threads != 0);
}

template <class Query, class Shape, class Out>
void trace_as(const RayTreeView& tree, const RaysIn& rays, const Out& results,
              cudaStream_t stream) {
    const auto kernel = trace_batch<Query, Shape, Out>;
    const unsigned resident = platform::resident_blocks(kernel, Shape::kThreads);
    const StreamArray<std::uint32_t> taken(1, stream);
    in_parts(rays.count(), [&](std::uint64_t first, std::uint32_t n) {
        check_cuda(cudaMemsetAsync(taken.data(), 0, sizeof(std::uint32_t), stream),
                   "setting a counter");
        kernel<<<std::min(resident, blocks_for(n, Shape::kThreads)), Shape::kThreads, 0, stream>>>(
            tree, rays, first, n, results, taken.data());
    });
}

template <class Query, class Out>
void trace(const RayTree& tree, const RaysIn& rays, const Out& results,
           const BatchOptions& options) {
    const auto run = tree.has_large_leaves()
                         ? (options.coherent ? &trace_as<Query, CoherentTogether, Out>
                                             : &trace_as<Query, IncoherentTogether, Out>)
                         : (options.coherent ? &trace_as<Query, Coherent, Out>
                                             : &trace_as<Query, Incoherent, Out>);
    run(tree.view(), rays, results, stream_of(options));
}

struct Sum {
    HEAPWOOD_INLINE std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
        return a + b;
    }
};

/// Calls run with the test that the options ask for as its template argument.
template <class Run>
void with_test(const BatchOptions& options, const Run& run) {
    if (options.fast) {
        run.template operator()<FastTriangleTest>();
    } else {
        run.template operator()<TriangleTest>();
    }
}

}  // namespace

void device_closest_hits(const RayTree& tree, const RaysIn& rays, const HitsOut& hits,
                         const BatchOptions& options) {
    with_test(options, [&]<class Test>() { trace<ClosestQuery<Test>>(tree, rays, hits, options); });
}

void device_any_hits(const RayTree& tree, const RaysIn& rays, const FoundOut& found,
                     const BatchOptions& options) {
    with_test(options, [&]<class Test>() { trace<AnyQuery<Test>>(tree, rays, found, options); });
}

void device_count_hits(const RayTreeView& tree, const RaysIn& rays, std::uint32_t* counts,
                       const BatchOptions& options) {
    with_test(options, [&]<class Test>() {
        in_parts(rays.count(), [&](std::uint64_t first, std::uint32_t n) {
            trace_counts<Test><<<blocks_for(n, kThreads), kThreads, 0, stream_of(options)>>>(
                tree, rays, first, n, counts);
        });
    });
}

void device_list_hits(const RayTreeView& tree, const RaysIn& rays, const std::uint64_t* offsets,
                      const HitsOut& hits, const BatchOptions& options) {
    with_test(options, [&]<class Test>() {
        in_parts(rays.count(), [&](std::uint64_t first, std::uint32_t n) {
            trace_lists<Test><<<blocks_for(n, kThreads), kThreads, 0, stream_of(options)>>>(
                tree, rays, first, n, offsets, hits);
        });
    });
}

std::uint64_t device_offsets(const std::uint32_t* counts, std::uint64_t count,
                             std::uint64_t* offsets, const BatchOptions& options) {
    const cudaStream_t stream = stream_of(options);
    check_cuda(cudaMemsetAsync(offsets, 0, sizeof(std::uint64_t), stream), "setting an offset");
    if (count > 0) {
        std::size_t bytes = 0;
        const auto scan = [&](void* scratch) {
            check_cuda(cub::DeviceScan::InclusiveScanInit(scratch, bytes, counts, offsets + 1,
                                                          Sum{}, std::uint64_t{0}, count, stream),
                       "summing up how many hits there are");
        };
        scan(nullptr);  // only says how much memory it takes
        const StreamArray<std::byte> scratch(bytes, stream);
        scan(scratch.data());
    }
    std::uint64_t total = 0;
    check_cuda(
        cudaMemcpyAsync(&total, offsets + count, sizeof total, cudaMemcpyDeviceToHost, stream),
        "reading how many hits there are");
    device_wait(options);
    return total;
}

std::shared_ptr<const void> device_moment(const BatchOptions& options) {
    const auto moment = std::make_shared<platform::CudaEvent>();
    moment->record(stream_of(options));
    return moment;
}

double device_ms(const void* from, const void* to) {
    return static_cast<const platform::CudaEvent*>(to)->since(
        *static_cast<const platform::CudaEvent*>(from), "tracing rays");
}

void device_wait(const BatchOptions& options) {
    check_cuda(cudaStreamSynchronize(stream_of(options)), "tracing rays");
}

}  // namespace heapwood::kdtree::detail
