/// @file
/// What every user of the CUDA runtime in this folder needs. Included by .cu files only.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace heapwood::platform {

/// @throws std::runtime_error naming the call that failed.
inline void check_cuda(cudaError_t error, const char* what) {
    if (error != cudaSuccess) {
        throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
    }
}

/// Owner of a CUDA event.
struct CudaEvent {
    CudaEvent() { check_cuda(cudaEventCreate(&event), "creating an event"); }
    ~CudaEvent() { cudaEventDestroy(event); }
    CudaEvent(const CudaEvent&) = delete;
    CudaEvent& operator=(const CudaEvent&) = delete;
    cudaEvent_t event = nullptr;
};

}  // namespace heapwood::platform
