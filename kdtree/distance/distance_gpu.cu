/// @file
/// Batches of distances on a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "allocators/platform/cuda_runtime.h"
#include "kdtree/distance/distance_work.cuh"
#include "kdtree/distance/z_order.cuh"
#include "kdtree/rays/stream_array.cuh"

namespace heapwood::kdtree::detail {
namespace {

using platform::check_cuda;

constexpr unsigned kThreads = 128;
/// Blocks of a multiprocessor in which points find their triangles.
constexpr unsigned kBlocks = 6;
/// Points of one launch, and of one order: 16 bytes each.
constexpr std::uint64_t kLaunch = 1 << 21;
/// Fewer points than this are answered sooner than they are ordered.
constexpr std::uint32_t kWorthOrder = 1 << 16;

__device__ std::uint32_t thread_number() {
    return blockIdx.x * kThreads + threadIdx.x;
}

/// Calls a kernel of `count` threads.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(std::uint64_t, std::uint32_t, Parameters...), cudaStream_t stream,
            std::uint64_t first, std::uint32_t count, const Arguments&... arguments) {
    kernel<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(first, count, arguments...);
    check_cuda(cudaGetLastError(), "launching a batch of distances");
}

template <class Work>
__global__ void __launch_bounds__(kThreads, kBlocks)
    answer(std::uint64_t first, std::uint32_t count, const __grid_constant__ Work work) {
    const std::uint32_t i = thread_number();
    if (i >= count) return;
    if constexpr (AboutPoints<Work>) {
        tell(work, first + i, find_reference(work, first + i));
    } else {
        work(first + i);
    }
}

__global__ void place_on_curve(std::uint64_t first, std::uint32_t count, VectorArray points,
                               Box box, std::uint32_t* curve, std::uint32_t* numbers) {
    const std::uint32_t i = thread_number();
    if (i >= count) return;
    curve[i] = z_order(points.at(first + i), box);
    numbers[i] = i;
}

template <class Work>
__global__ void __launch_bounds__(kThreads, kBlocks)
    find_in_order(std::uint64_t first, std::uint32_t count, const __grid_constant__ Work work,
                  const std::uint32_t* numbers, std::uint32_t* references) {
    const std::uint32_t i = thread_number();
    if (i < count) references[numbers[i]] = find_reference(work, first + numbers[i]);
}

template <class Work>
__global__ void tell_all(std::uint64_t first, std::uint32_t count,
                         const __grid_constant__ Work work, const std::uint32_t* references) {
    const std::uint32_t i = thread_number();
    if (i < count) tell(work, first + i, references[i]);
}

/// Threads of a warp have neighbouring points, and walk through the same parts of the tree for
/// about as long. What they find lies scattered: a number a point, which then tells the rest.
template <AboutPoints Work>
void answer_in_order(std::uint64_t first, std::uint32_t count, const Work& work,
                     cudaStream_t stream) {
    const StreamArray<std::uint32_t> words(std::uint64_t{4} * count, stream);
    std::uint32_t* const w = words.data();
    cub::DoubleBuffer<std::uint32_t> curve(w, w + count);
    cub::DoubleBuffer<std::uint32_t> numbers(w + 2 * count, w + 3 * count);
    launch(place_on_curve, stream, first, count, work.points, work.tree.bounds, curve.Current(),
           numbers.Current());
    std::size_t bytes = 0;
    const auto sort = [&](void* scratch) {
        // Without the curve's last six of 30 bits: a pass less.
        check_cuda(
            cub::DeviceRadixSort::SortPairs(scratch, bytes, curve, numbers, count, 6, 30, stream),
            "ordering the points of a batch");
    };
    sort(nullptr);  // only says how much memory it takes
    const StreamArray<std::byte> scratch(bytes, stream);
    sort(scratch.data());
    std::uint32_t* const references = curve.Current();  // whose order is no longer needed
    launch(find_in_order<Work>, stream, first, count, work, numbers.Current(), references);
    launch(tell_all<Work>, stream, first, count, work, references);
}

}  // namespace

void device_distances(std::uint64_t count, const DistanceWork& work, const BatchOptions& options) {
    const auto stream = static_cast<cudaStream_t>(options.stream);
    const auto ask = [&]<class Work>(const Work& body) {
        for (std::uint64_t first = 0; first < count; first += kLaunch) {
            const auto n = static_cast<std::uint32_t>(std::min(kLaunch, count - first));
            if constexpr (AboutPoints<Work>) {
                if (n >= kWorthOrder) {
                    answer_in_order(first, n, body, stream);
                    continue;
                }
            }
            launch(answer<Work>, stream, first, n, body);
        }
    };
    std::visit(ask, work);
}

}  // namespace heapwood::kdtree::detail
