/// @file
/// Device memory for the time of some work on a stream. Included by .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

#include "allocators/platform/cuda_runtime.h"

namespace heapwood::kdtree {

/// The pool of the current device that StreamArray takes from, made at its first use and kept until
/// the process ends. CUDA's own pool gives all its memory back to the system whenever the host
/// waits for a stream, and the next batch would have to wait for the system.
/// @throws std::runtime_error with CUDA's answer.
inline cudaMemPool_t stream_pool() {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    int device = 0;
    platform::check_cuda(cudaGetDevice(&device), "finding the device");
    const std::lock_guard lock(mutex);
    const auto known = pools.find(device);
    if (known != pools.end()) return known->second;

    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    platform::check_cuda(cudaMemPoolCreate(&pool, &properties), "making a pool for rays");
    std::uint64_t kept_bytes = 64ULL << 20;
    const cudaError_t set =
        cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept_bytes);
    // What was wrong before is what is told.
    if (set != cudaSuccess) (void)cudaMemPoolDestroy(pool);
    platform::check_cuda(set, "setting what a pool for rays keeps");
    pools.emplace(device, pool);
    return pool;
}

/// An array that is made and freed in the order of a stream, so that neither waits for the device.
template <class T>
class StreamArray {
public:
    /// @throws std::runtime_error with CUDA's answer.
    StreamArray(std::uint64_t count, cudaStream_t stream) : stream_(stream) {
        void* data = nullptr;
        platform::check_cuda(
            cudaMallocFromPoolAsync(&data, std::max<std::uint64_t>(count, 1) * sizeof(T),
                                    stream_pool(), stream),
            "making room for a batch of rays");
        data_ = static_cast<T*>(data);
    }
    StreamArray(const StreamArray&) = delete;
    StreamArray& operator=(const StreamArray&) = delete;
    // A destructor cannot report: the next checked call names a failure.
    ~StreamArray() { (void)cudaFreeAsync(data_, stream_); }

    T* data() const { return data_; }

private:
    cudaStream_t stream_;
    T* data_ = nullptr;
};

}  // namespace heapwood::kdtree
