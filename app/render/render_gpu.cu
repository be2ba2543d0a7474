/// @file
/// Pictures on a GPU.
#include <cuda_runtime.h>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/cuda_runtime.h"
#include "app/render/render_loop.h"

namespace heapwood::app::detail {
namespace {

constexpr unsigned kThreads = 128;

template <class Stage>
__global__ void __launch_bounds__(kThreads)
    run_stage(const __grid_constant__ Stage stage, std::uint64_t count, Total* total) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i >= count) return;
    const Made made = stage(i);
    // Sums, which the host reads after the kernel.
    if (made.rays != 0) platform::AtomicRef(total->rays).count_relaxed(made.rays);
    if (made.shadow_rays != 0) {
        platform::AtomicRef(total->shadow_rays).count_relaxed(made.shadow_rays);
    }
}

class GpuStages {
public:
    static constexpr std::uint64_t kSamples = 1 << 21;

    explicit GpuStages(unsigned) : total_(allocators::Place::device, sizeof(Total)) {}

    template <class Stage>
    Total run(std::uint64_t count, const Stage& stage) {
        total_.zero();
        const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
        run_stage<<<blocks, kThreads>>>(stage, count, total_.as<Total>());
        platform::check_cuda(cudaGetLastError(), "launching a stage of a picture");
        platform::check_cuda(cudaDeviceSynchronize(), "rendering");
        Total sum;
        total_.read(0, &sum, sizeof sum);
        return sum;
    }

private:
    allocators::Buffer total_;
};

}  // namespace

Rendering render_on_gpu(const RenderJob& job) {
    return RenderLoop<GpuStages>(job).run();
}

}  // namespace heapwood::app::detail
