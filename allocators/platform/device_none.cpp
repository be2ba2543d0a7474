/// @file
/// device.h of a program without CUDA.
#include "allocators/platform/device.h"

#include <stdexcept>

namespace heapwood::platform {

bool device_available() {
    return false;
}

std::string device_absence() {
    return "this heapwood was built without CUDA";
}

int device_count() {
    return 0;
}

int current_device() {
    return 0;
}

void wait_for_device() {
    throw std::runtime_error(device_absence());
}

DeviceScope::DeviceScope(std::uint32_t) {
    throw std::runtime_error(device_absence());
}

DeviceScope::~DeviceScope() = default;

DeviceInfo device_info() {
    throw std::runtime_error(device_absence());
}

}  // namespace heapwood::platform
