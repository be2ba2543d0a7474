/// @file
/// Laying trees out for rays on a GPU.
#include "kdtree/rays/ray_layout_gpu.h"

#include <cuda_runtime.h>

#include <algorithm>

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

class PinnedNumber final : public LateNumber {
public:
    PinnedNumber() {
        void* memory = nullptr;
        check_cuda(cudaHostAlloc(&memory, sizeof(std::uint32_t), cudaHostAllocDefault),
                   "making room for a number");
        number_ = static_cast<std::uint32_t*>(memory);
        *number_ = 0;
    }
    PinnedNumber(const PinnedNumber&) = delete;
    PinnedNumber& operator=(const PinnedNumber&) = delete;
    // A destructor cannot report: the next checked call names a failure.
    ~PinnedNumber() override { static_cast<void>(cudaFreeHost(number_)); }

    std::uint32_t value() const override { return platform::AtomicRef(*number_).load_relaxed(); }
    void copy(const std::uint32_t* from, void* stream) override {
        check_cuda(cudaMemcpyAsync(number_, from, sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                                   static_cast<cudaStream_t>(stream)),
                   "copying a number");
    }

private:
    std::uint32_t* number_ = nullptr;
};

}  // namespace

std::unique_ptr<LateNumber> make_late_number() {
    return std::make_unique<PinnedNumber>();
}

void lay_out_on_gpu(const TreeInPlace& made, const RayMemory& to, void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    check_cuda(cudaMemsetAsync(to.in_large_leaves, 0, sizeof(std::uint32_t), on),
               "clearing a counter");
    const std::uint64_t most = std::max<std::uint64_t>({made.node_end, made.reference_end, 1});
    const std::uint64_t blocks = std::min<std::uint64_t>(
        platform::resident_blocks(lay_out_kernel, kThreads), (most + kThreads - 1) / kThreads);
    lay_out_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, on>>>(made, to);
    check_cuda(cudaGetLastError(), "laying the tree out for rays");
}

}  // namespace heapwood::kdtree::detail
