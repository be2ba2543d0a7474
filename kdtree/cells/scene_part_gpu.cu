/// @file
/// A scene as one part on a GPU.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "allocators/platform/device.h"
#include "allocators/platform/threads.h"
#include "kdtree/cells/scene_part_driver.h"
#include "kdtree/levels/gpu_levels.cuh"

namespace heapwood::kdtree {
namespace {

/// Copies pieces of a GPU's memory to pinned memory, on a stream that waits for no other.
class Copier {
public:
    static constexpr std::uint64_t kPiece = std::uint64_t{4} << 20;

    Copier() {
        platform::check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                             "making a stream");
        const cudaError_t status = cudaMallocHost(&piece_, kPiece);
        if (status == cudaSuccess) return;
        static_cast<void>(cudaStreamDestroy(stream_));
        throw allocators::BufferError("allocating pinned memory failed: " +
                                      platform::cuda_failure(status));
    }
    // A destructor cannot report.
    ~Copier() {
        static_cast<void>(cudaFreeHost(piece_));
        static_cast<void>(cudaStreamDestroy(stream_));
    }
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    /// Waits for the copy, which is there until the next one.
    const void* copy(const std::byte* from, std::uint64_t bytes) const {
        platform::check_cuda(cudaMemcpyAsync(piece_, from, bytes, cudaMemcpyDeviceToHost, stream_),
                             "copying a piece of the tree");
        platform::check_cuda(cudaStreamSynchronize(stream_), "copying a piece of the tree");
        return piece_;
    }

private:
    cudaStream_t stream_ = nullptr;
    void* piece_ = nullptr;
};

/// Made on its device.
class GpuPart : public GpuLevels {
public:
    GpuPart(std::uint32_t device, unsigned threads)
        : device_(device),
          copiers_(std::clamp(platform::thread_count(threads), 1U, kMostCopiers)) {}

    platform::DeviceScope enter() const { return platform::DeviceScope(device_); }

    template <class Use>
    void fetch(const void* from, std::uint64_t bytes, const Use& use) const {
        std::atomic<std::uint64_t> next{0};
        const auto take = [&](std::uint32_t thread, std::uint32_t) {
            const platform::DeviceScope scope(device_);
            for (std::uint64_t at = 0; (at = next.fetch_add(Copier::kPiece)) < bytes;) {
                const std::uint64_t size = std::min(Copier::kPiece, bytes - at);
                use(copiers_[thread].copy(static_cast<const std::byte*>(from) + at, size), at,
                    size);
            }
        };
        const std::uint64_t pieces = platform::ceil_div(bytes, Copier::kPiece);
        platform::run_threads(
            static_cast<unsigned>(std::min<std::uint64_t>(copiers_.size(), pieces)), take);
    }

private:
    static constexpr unsigned kMostCopiers = 8;

    std::uint32_t device_;
    std::vector<Copier> copiers_;
};

}  // namespace

std::unique_ptr<ScenePart> scene_part_on_gpu(const scenes::Scene& scene, float scale,
                                             const BuildConfig& config, std::uint32_t device,
                                             unsigned threads) {
    const platform::DeviceScope scope(device);
    return std::make_unique<ScenePartOn<GpuPart>>(scene, scale, config, device, threads);
}

}  // namespace heapwood::kdtree
