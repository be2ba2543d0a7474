/// @file
/// Laying trees out for rays on a GPU.
#include "kdtree/rays/ray_in_place.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "allocators/platform/cuda_runtime.h"

namespace heapwood::kdtree::detail {
namespace {

using platform::check_cuda;

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    lay_out_kernel(const __grid_constant__ TreeInPlace made, const __grid_constant__ RayMemory to) {
    lay_out_for_rays(made, to, blockIdx.x * std::uint64_t{kThreads} + threadIdx.x,
                     gridDim.x * std::uint64_t{kThreads});
}

class PinnedCounts final : public LateCounts {
public:
    PinnedCounts() {
        void* memory = nullptr;
        check_cuda(cudaHostAlloc(&memory, sizeof(LeafCounts), cudaHostAllocDefault),
                   "making room for two counts");
        counts_ = static_cast<std::uint64_t*>(memory);
        *counts_ = 0;
    }
    PinnedCounts(const PinnedCounts&) = delete;
    PinnedCounts& operator=(const PinnedCounts&) = delete;
    // A destructor cannot report: the next checked call names a failure.
    ~PinnedCounts() override { static_cast<void>(cudaFreeHost(counts_)); }

    LeafCounts value() const override {
        return std::bit_cast<LeafCounts>(platform::AtomicRef(*counts_).load_relaxed());
    }
    void copy(const LeafCounts* from, void* stream) override {
        check_cuda(cudaMemcpyAsync(counts_, from, sizeof(LeafCounts), cudaMemcpyDeviceToHost,
                                   static_cast<cudaStream_t>(stream)),
                   "copying two counts");
    }

private:
    std::uint64_t* counts_ = nullptr;
};

}  // namespace

std::unique_ptr<LateCounts> make_late_counts() {
    return std::make_unique<PinnedCounts>();
}

void lay_out_on_gpu(const TreeInPlace& made, const RayMemory& to, void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    check_cuda(cudaMemsetAsync(to.counts, 0, sizeof(LeafCounts), on), "clearing two counts");
    const std::uint64_t most = std::max<std::uint64_t>({made.node_end, made.reference_end, 1});
    const std::uint64_t blocks = std::min<std::uint64_t>(
        platform::resident_blocks(lay_out_kernel, kThreads), (most + kThreads - 1) / kThreads);
    lay_out_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, on>>>(made, to);
    check_cuda(cudaGetLastError(), "laying the tree out for rays");
}

void copy_on_gpu(void* to, const void* from, std::uint64_t bytes, void* stream) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                               static_cast<cudaStream_t>(stream)),
               "copying the tree");
}

}  // namespace heapwood::kdtree::detail
