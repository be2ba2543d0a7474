/// @file
/// The CUDA runtime as the host uses it: answers, times, and what the current device has. Nothing
/// else in the library or the program looks at CUDA's answers. Included by .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace heapwood::platform {

/// Why a call failed, in CUDA's words; empty if it did not. A failure is thereby dealt with: it is
/// not blamed on a later, innocent call.
inline std::string cuda_failure(cudaError_t status) {
    if (status == cudaSuccess) return {};
    static_cast<void>(cudaGetLastError());
    return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}

/// @throws std::runtime_error saying what failed, and why.
inline void check_cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string("CUDA: ") + what + ": " + cuda_failure(status));
}

/// Owner of a CUDA event.
class CudaEvent {
public:
    CudaEvent() { check_cuda(cudaEventCreate(&event_), "creating an event"); }
    ~CudaEvent() { static_cast<void>(cudaEventDestroy(event_)); }
    CudaEvent(const CudaEvent&) = delete;
    CudaEvent& operator=(const CudaEvent&) = delete;

    void record(cudaStream_t stream = nullptr) {
        check_cuda(cudaEventRecord(event_, stream), "recording an event");
    }
    /// Milliseconds from `start`, which was recorded before this one; waits until both have come.
    double since(const CudaEvent& start, const char* what) const {
        check_cuda(cudaEventSynchronize(event_), what);
        float ms = 0;
        check_cuda(cudaEventElapsedTime(&ms, start.event_, event_), what);
        return static_cast<double>(ms);
    }

private:
    cudaEvent_t event_ = nullptr;
};

/// Calls `launch()` and waits for what it puts on the default stream. `what` names it in errors.
/// @return milliseconds between an event before it and one after it.
template <class Launch>
double run_timed_by_cuda(const char* what, const Launch& launch) {
    CudaEvent start;
    CudaEvent stop;
    start.record();
    launch();
    check_cuda(cudaGetLastError(), what);
    stop.record();
    return stop.since(start, what);
}

/// The current device's multiprocessors, and the threads that one of them holds.
inline std::uint32_t device_attribute(cudaDeviceAttr attribute, const char* what) {
    int device = 0;
    int value = 0;
    check_cuda(cudaGetDevice(&device), "finding the device");
    check_cuda(cudaDeviceGetAttribute(&value, attribute, device), what);
    return static_cast<std::uint32_t>(value);
}
inline std::uint32_t multiprocessors() {
    return device_attribute(cudaDevAttrMultiProcessorCount, "counting multiprocessors");
}
inline std::uint32_t threads_of_multiprocessor() {
    return device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor, "counting threads");
}

/// Blocks of a kernel that are resident at once on the current device.
template <class Kernel>
std::uint32_t resident_blocks(Kernel* kernel, unsigned threads_of_block) {
    int of_multiprocessor = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_multiprocessor, kernel,
                                                             static_cast<int>(threads_of_block), 0),
               "computing the occupancy");
    return multiprocessors() * static_cast<std::uint32_t>(of_multiprocessor);
}

/// Launches a kernel whose blocks wait for one another, such as at a barrier. The launch is
/// cooperative: the GPU starts the kernel when it has room for all blocks, and until then none of
/// them takes room from another kernel. After an ordinary launch a kernel may keep a part of the
/// GPU while it waits for blocks that have no room, and two such kernels never end. A capture makes
/// a cooperative node of it, so launches of a graph are cooperative, too.
/// @param blocks at most resident_blocks(kernel, threads_of_block)
/// @param what names the launch in errors
/// @throws std::runtime_error saying what failed, and why; also for too many blocks.
template <class... Parameters, class... Arguments>
void launch_resident(const char* what, void (*kernel)(Parameters...), std::uint32_t blocks,
                     unsigned threads_of_block, cudaStream_t stream,
                     const Arguments&... arguments) {
    cudaLaunchAttribute cooperative{};
    cooperative.id = cudaLaunchAttributeCooperative;
    cooperative.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads_of_block);
    config.stream = stream;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), what);
}

}  // namespace heapwood::platform
