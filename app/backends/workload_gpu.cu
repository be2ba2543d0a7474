#include <cub/device/device_scan.cuh>
#include <vector>

#include "allocators/memory/buffer.h"
#include "app/backends/workload_gpu.cuh"

namespace heapwood::app {
namespace {

__global__ void touch_kernel(const __grid_constant__ allocators::Touch touch) {
    const std::uint64_t toucher = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (toucher < touch.blocks.slots * allocators::kTouchers) touch_blocks(touch, toucher);
}

__global__ void edges_kernel(const __grid_constant__ allocators::EdgeCopy copy) {
    const std::uint64_t toucher = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (toucher < std::uint64_t{copy.vertices} * allocators::kTouchers) copy_edges(copy, toucher);
}

__global__ void sizes_kernel(const __grid_constant__ allocators::Blocks blocks,
                             std::uint64_t* sizes) {
    const std::uint64_t slot = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (slot < blocks.slots) sizes[slot] = blocks.bytes(slot);
}

__global__ void pointers_kernel(const __grid_constant__ allocators::Blocks blocks,
                                const std::uint64_t* ends, char* memory) {
    const std::uint64_t slot = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (slot < blocks.slots) blocks.data[slot] = memory + (ends[slot] - blocks.bytes(slot));
}

/// The machine whose callers are threads of the GPU.
class GpuWorkloads final : public WorkloadMachine {
public:
    GpuWorkloads() { load_kernels(); }

    allocators::Place place() const override { return allocators::Place::device; }
    std::uint32_t multiprocessors() const override { return multiprocessors_; }
    std::uint32_t threads() const override {
        return multiprocessors_ * platform::threads_of_multiprocessor();
    }
    std::uint32_t resident_callers() const override {
        return multiprocessors() * kResidentBlocks * (kCallersPerBlock / 32);
    }

    double touch(const allocators::Touch& touch) override {
        return platform::run_timed_by_cuda("touching blocks", [&] {
            touch_kernel<<<blocks_for(touch.blocks.slots * allocators::kTouchers),
                           kCallersPerBlock>>>(touch);
        });
    }

    double copy_edges(const allocators::EdgeCopy& copy) override {
        return platform::run_timed_by_cuda("copying edges", [&] {
            edges_kernel<<<blocks_for(std::uint64_t{copy.vertices} * allocators::kTouchers),
                           kCallersPerBlock>>>(copy);
        });
    }

    /// With cudaMalloc for sums and blocks, as in the survey: it is part of what this way costs.
    double place_by_prefix_sum(const allocators::Blocks& blocks) override {
        using allocators::Buffer;
        return platform::run_timed_by_cuda("placing by a prefix sum", [&] {
            Buffer sizes(place(), blocks.slots * sizeof(std::uint64_t));
            auto* ends = sizes.as<std::uint64_t>();
            sizes_kernel<<<blocks_for(blocks.slots), kCallersPerBlock>>>(blocks, ends);
            std::size_t scratch_bytes = 0;
            const auto count = static_cast<std::int64_t>(blocks.slots);
            platform::check_cuda(
                cub::DeviceScan::InclusiveSum(nullptr, scratch_bytes, ends, ends, count),
                "asking for scratch memory");
            Buffer scratch(place(), scratch_bytes);
            platform::check_cuda(
                cub::DeviceScan::InclusiveSum(scratch.data(), scratch_bytes, ends, ends, count),
                "summing sizes");
            std::uint64_t sum = 0;
            sizes.read((blocks.slots - 1) * sizeof(sum), &sum, sizeof(sum));
            placed_ = Buffer(place(), sum);
            pointers_kernel<<<blocks_for(blocks.slots), kCallersPerBlock>>>(blocks, ends,
                                                                            placed_.as<char>());
        });
    }
    double release_placed() override {
        return platform::run_timed_by_cuda("freeing what a prefix sum placed",
                                           [&] { placed_ = {}; });
    }

private:
    /// CUDA loads a kernel at its first launch, which is not to be timed.
    void load_kernels() {
        allocators::Buffer memory(place(), sizeof(void*) + sizeof(allocators::Counts));
        memory.zero();
        const allocators::Blocks one{
            .data = memory.as<void*>(), .slots = 1, .min_bytes = 16, .max_bytes = 16, .seed = 0};
        place_by_prefix_sum(one);
        auto* counts = reinterpret_cast<allocators::Counts*>(memory.as<void*>() + 1);
        touch({.write = true, .blocks = one, .counts = counts});
        // A vertex that has no edges, for the counts are zero.
        copy_edges({.gather = false,
                    .vertices = 1,
                    .arrays = one.data,
                    .first = reinterpret_cast<const std::uint64_t*>(counts),
                    .targets = nullptr});
        release_placed();
    }

    const std::uint32_t multiprocessors_ = platform::multiprocessors();
    allocators::Buffer placed_;
};

}  // namespace

std::unique_ptr<WorkloadMachine> gpu_workloads() {
    return std::make_unique<GpuWorkloads>();
}

}  // namespace heapwood::app
