/// @file
/// device.h by the CUDA runtime.
#include "allocators/platform/cuda_runtime.h"
#include "allocators/platform/device.h"

namespace heapwood::platform {
namespace {

/// The device before, if a scope has not changed it.
constexpr int kUnchanged = -1;

/// CUDA's 1000 * major + 10 * minor as people write it; 0 means that there is no driver.
std::string version_text(int version) {
    if (version == 0) return "none";
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

std::string device_absence() {
    int devices = 0;
    const std::string failure = cuda_failure(cudaGetDeviceCount(&devices));
    if (!failure.empty()) return failure;
    return devices > 0 ? "" : "the CUDA driver lists none";
}

bool device_available() {
    return device_absence().empty();
}

int device_count() {
    int devices = 0;
    return cuda_failure(cudaGetDeviceCount(&devices)).empty() ? devices : 0;
}

int current_device() {
    int device = 0;
    check_cuda(cudaGetDevice(&device), "asking for the current device");
    return device;
}

void wait_for_device() {
    check_cuda(cudaDeviceSynchronize(), "waiting for the GPU");
}

DeviceScope::DeviceScope(std::uint32_t number) : before_(current_device()) {
    if (before_ == static_cast<int>(number)) {
        before_ = kUnchanged;
    } else {
        check_cuda(cudaSetDevice(static_cast<int>(number)), "changing to another device");
    }
}

// A destructor cannot report: what follows on a device that has failed says so.
DeviceScope::~DeviceScope() {
    if (before_ != kUnchanged) (void)cudaSetDevice(before_);
}

DeviceInfo device_info() {
    cudaDeviceProp properties{};
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
    check_cuda(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check_cuda(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    return {.name = properties.name,
            .multiprocessors = properties.multiProcessorCount,
            .driver = version_text(driver),
            .runtime = version_text(runtime),
            .memory_bytes = properties.totalGlobalMem,
            .architecture = 10 * properties.major + properties.minor};
}

}  // namespace heapwood::platform
