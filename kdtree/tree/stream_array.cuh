/// @file
/// Device memory for the time of some work on a stream. Included by .cu files only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/platform/cuda_runtime.h"

namespace heapwood::kdtree {

/// An array that is made and freed in the order of a stream, so that neither waits for the device.
template <class T>
class StreamArray {
public:
    /// @throws std::runtime_error with CUDA's answer.
    StreamArray(std::uint64_t count, cudaStream_t stream) : stream_(stream) {
        void* data = nullptr;
        platform::check_cuda(
            cudaMallocAsync(&data, std::max<std::uint64_t>(count, 1) * sizeof(T), stream),
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
