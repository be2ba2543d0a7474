/// @file
/// The machines on which the platform layer's tests run, behind one interface, so that a test's
/// body is written once.
///
/// A machine has `name`, `Warp`, `available()`, an `Array<T>` that host and warps can both use
/// (filled with zeros), and `run(warps, body)`: calls `body(warp, w)` on every lane of `warps`
/// warps, all of them running at once, and returns when all are done. A body is a trivially
/// copyable struct with a const templated call operator.
#pragma once

#include <cstddef>
#include <vector>

#include "allocators/platform/warp.cuh"
#include "tests/allocators/platform/lockstep_warp.h"

#if defined(__CUDACC__)
#include "allocators/platform/cuda_runtime.h"

#include <stdexcept>
#include <string>
#endif

namespace heapwood::tests {

/// Threads, each of them a warp of width 1.
struct SerialMachine {
    using Warp = platform::SerialWarp;
    template <class T>
    using Array = std::vector<T>;

    static constexpr const char* name = "SerialWarp";
    static bool available() { return true; }
    template <class Body>
    static void run(unsigned warps, const Body& body) {
        run_serial(warps, body);
    }
};

/// Warps of 32 threads each.
struct LockstepMachine {
    using Warp = LockstepWarp;
    template <class T>
    using Array = std::vector<T>;

    static constexpr const char* name = "LockstepWarp";
    static bool available() { return true; }
    template <class Body>
    static void run(unsigned warps, const Body& body) {
        run_lockstep(warps, body);
    }
};

#if defined(__CUDACC__)

/// @throws std::runtime_error if `status` is an error.
inline void require_cuda(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Memory that host and GPU share, filled with zeros; movable only by not being moved.
template <class T>
class ManagedArray {
public:
    explicit ManagedArray(std::size_t size) : size_(size) {
        require_cuda(cudaMallocManaged(&data_, size * sizeof(T)));
        for (std::size_t i = 0; i < size; ++i) data_[i] = T{};
    }
    ManagedArray(const ManagedArray&) = delete;
    ManagedArray& operator=(const ManagedArray&) = delete;
    ~ManagedArray() { cudaFree(data_); }

    T* data() { return data_; }
    std::size_t size() const { return size_; }
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }

private:
    std::size_t size_;
    T* data_ = nullptr;
};

/// One block of two warps after the other: warps meet within a block and across blocks.
template <class Body>
__global__ void run_body(Body body, unsigned warps) {
    const unsigned w = (blockIdx.x * blockDim.x + threadIdx.x) / platform::DeviceWarp::width;
    if (w < warps) body(platform::DeviceWarp{}, w);
}

/// The GPU.
struct DeviceMachine {
    using Warp = platform::DeviceWarp;
    template <class T>
    using Array = ManagedArray<T>;

    static constexpr const char* name = "DeviceWarp";
    static bool available() {
        int devices = 0;
        return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
    }
    template <class Body>
    static void run(unsigned warps, const Body& body) {
        platform::launch_resident("running a body", run_body<Body>, (warps + 1) / 2,
                                  2 * platform::DeviceWarp::width, nullptr, body, warps);
        require_cuda(cudaDeviceSynchronize());
    }
};

#endif

}  // namespace heapwood::tests
