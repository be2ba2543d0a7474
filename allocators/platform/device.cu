/// @file
/// device.h by the CUDA runtime.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "allocators/platform/device.h"

namespace heapwood::platform {
namespace {

/// CUDA's 1000 * major + 10 * minor as people write it; 0 means that there is no driver.
std::string version_text(int version) {
    if (version == 0) return "none";
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) {
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
    }
}

}  // namespace

std::string device_absence() {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) return "";
    // A failed query must not be found again by the next call's error check.
    static_cast<void>(cudaGetLastError());
    return status == cudaSuccess ? "the CUDA driver lists none" : cudaGetErrorString(status);
}

bool device_available() {
    return device_absence().empty();
}

DeviceInfo device_info() {
    cudaDeviceProp properties{};
    int driver = 0;
    int runtime = 0;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return {.name = properties.name,
            .multiprocessors = properties.multiProcessorCount,
            .driver = version_text(driver),
            .runtime = version_text(runtime),
            .memory_bytes = properties.totalGlobalMem,
            .architecture = 10 * properties.major + properties.minor};
}

}  // namespace heapwood::platform
