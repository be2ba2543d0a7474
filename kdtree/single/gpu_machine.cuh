/// @file
/// The machine of a build on a GPU: one persistent kernel. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "allocators/memory/stream_scope.h"
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/multiprocessor.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/build_result.h"
#include "kdtree/single/build_worker.cuh"
#include "kdtree/single/frame_gpu.h"

namespace heapwood::kdtree {

/// Warps of a block, and the blocks a multiprocessor should hold: the second bounds the registers.
inline constexpr unsigned kWarpsPerBlock = 4;
inline constexpr unsigned kBlocksPerMultiprocessor = 5;

/// Warps that have the same CallerCache in a build with A.
template <class A>
inline constexpr std::uint32_t kCacheUsers = A::traits().shares_cache ? kWarpsPerBlock : 1;

/// A block's warps as a team, as SoloTeam is one.
struct BlockTeam {
    HEAPWOOD_INLINE static std::uint32_t teams() {
#if defined(__CUDA_ARCH__)
        return gridDim.x;
#else
        return 1;
#endif
    }
    HEAPWOOD_INLINE static std::uint32_t all_warps() {
        return teams() * kWarpsPerBlock;
    }
    HEAPWOOD_INLINE static std::uint32_t rank() {
#if defined(__CUDA_ARCH__)
        return threadIdx.x / 32 * gridDim.x + blockIdx.x;
#else
        return 0;
#endif
    }
    HEAPWOOD_INLINE static bool leads() {
#if defined(__CUDA_ARCH__)
        return threadIdx.x < 32;
#else
        return true;
#endif
    }
    HEAPWOOD_INLINE static void sync() {
#if defined(__CUDA_ARCH__)
        __syncthreads();
#endif
    }
};

/// The whole build. Its warps wait for one another, so it is launched by launch_resident().
template <class A, Arrays kArrays>
__global__ void __launch_bounds__(kWarpsPerBlock * 32, kBlocksPerMultiprocessor)
    build_kernel(const __grid_constant__ Problem problem,
                 const __grid_constant__ typename A::Ref allocator, std::uint32_t multiprocessors) {
    __shared__ Scratch<platform::DeviceWarp> scratch[kWarpsPerBlock];
    constexpr std::uint32_t kUsers = kCacheUsers<A>;
    __shared__ allocators::CallerCache caches[kWarpsPerBlock / kUsers];
    const std::uint32_t in_block = threadIdx.x / 32;
    if (threadIdx.x % (kUsers * 32) == 0) caches[in_block / kUsers] = {};
    __syncthreads();
    const allocators::Context context{.multiprocessor = platform::multiprocessor(multiprocessors),
                                      .warp = blockIdx.x * kWarpsPerBlock + in_block,
                                      .cache = &caches[in_block / kUsers]};
    // Then the kernel has no code of allocators for callers without a cache.
    __builtin_assume(context.cache != nullptr);
    BuildWorker<platform::DeviceWarp, BlockTeam, A, kArrays> worker({}, {}, problem, allocator,
                                                                    context, scratch[in_block]);
    worker.run();
}

/// The machine of a build with A on the current GPU: as many blocks of A's kernel as are resident.
/// Another allocator, such as A in an adaptor, can be run as well, on fewer blocks if its kernel
/// has fewer.
template <class A>
class GpuMachine {
public:
    /// @throws std::runtime_error if there is no usable device.
    explicit GpuMachine(const BuildConfig& config)
        : small_arrays_(config.small_arrays),
          multiprocessors_(platform::multiprocessors()),
          blocks_(resident_blocks<A>()) {}

    allocators::Place place() const { return allocators::Place::device; }
    std::uint32_t warps() const { return blocks_ * kWarpsPerBlock; }
    std::uint32_t cache_users() const { return kCacheUsers<A>; }
    std::uint32_t lanes() const { return platform::DeviceWarp::width; }
    std::uint32_t multiprocessors() const { return multiprocessors_; }

    /// A build between two events of the scope's stream.
    class Launch {
    public:
        template <class Enqueue>
        explicit Launch(const Enqueue& enqueue) {
            start_.record(stream());
            enqueue();
            stop_.record(stream());
        }
        /// Waits until the build has ended. @return its milliseconds.
        double ms() const { return stop_.since(start_, "running the build kernel"); }

    private:
        platform::CudaEvent start_;
        platform::CudaEvent stop_;
    };

    template <class B>
    Launch launch(const Problem& problem, const typename B::Ref& allocator) const {
        return Launch([&] { enqueue<B>(problem, allocator); });
    }
    template <class B>
    void enqueue(const Problem& problem, const typename B::Ref& allocator) const {
        std::uint32_t blocks = blocks_;
        if constexpr (!std::is_same_v<A, B>) blocks = std::min(blocks, resident_blocks<B>());
        platform::launch_resident("running the build kernel", kernel<B>(), blocks,
                                  kWarpsPerBlock * 32, stream(), problem, allocator,
                                  multiprocessors_);
    }

    /// Waits for all that is on the stream.
    void wait() const {
        platform::check_cuda(cudaStreamSynchronize(stream()), "running the build kernel");
    }
    /// Reads a frame's triangles.
    void gather(const Frame& frame, float scale, Triangle* to, BuildState& state) const {
        gather_on_gpu(frame, scale, to, state, stream());
    }
    /// Widens a box by a frame's triangles.
    void widen(const Frame& frame, WideningBox& box) const { widen_on_gpu(frame, box, stream()); }

    template <class B>
    void describe(BuildResult& result) const {
        cudaFuncAttributes attributes{};
        platform::check_cuda(cudaFuncGetAttributes(&attributes, kernel<B>()),
                             "inspecting the kernel");
        result.registers = static_cast<unsigned>(attributes.numRegs);
        result.spill_bytes = static_cast<unsigned>(attributes.localSizeBytes);
    }

private:
    static cudaStream_t stream() {
        return static_cast<cudaStream_t>(allocators::StreamScope::stream());
    }

    /// A's kernels are those that are timed.
    template <class B>
    auto kernel() const {
        if constexpr (std::is_same_v<A, B>) {
            return small_arrays_ ? build_kernel<B, Arrays::every> : build_kernel<B, Arrays::large>;
        } else {
            return build_kernel<B, Arrays::either>;
        }
    }
    template <class B>
    std::uint32_t resident_blocks() const {
        return platform::resident_blocks(kernel<B>(), kWarpsPerBlock * 32);
    }

    bool small_arrays_;
    std::uint32_t multiprocessors_;
    std::uint32_t blocks_;
};

}  // namespace heapwood::kdtree
