/// @file
/// The GPU as the host sees it. A program without CUDA links the same functions: no device there.
#pragma once

#include <cstdint>
#include <string>

namespace heapwood::platform {

/// What a report says of a GPU.
struct DeviceInfo {
    std::string name;
    int multiprocessors = 0;
    std::string driver;              ///< newest CUDA version the driver speaks, "13.0"
    std::string runtime;             ///< CUDA version of this program, "13.0"
    std::uint64_t memory_bytes = 0;  ///< of the whole device
    int architecture = 0;            ///< compute capability, 90 for 9.0
};

/// Whether device 0 can be used.
bool device_available();

/// Why it cannot, as a sentence without a full stop; empty if it can.
std::string device_absence();

/// How many there are, counted from 0; 0 if none can be used.
int device_count();

/// The number of the calling thread's current one; 0 in a program without CUDA.
/// @throws std::runtime_error with CUDA's answer.
int current_device();

/// Waits until the current one has done all that it was given.
/// @throws std::runtime_error with CUDA's answer, or in a program without CUDA.
void wait_for_device();

/// Makes a device the current one of the calling thread, as long as this object lives; then the one
/// before is again.
class DeviceScope {
public:
    /// @throws std::runtime_error if there is no device of that number.
    explicit DeviceScope(std::uint32_t number);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int before_ = 0;
};

/// Properties of device 0. @throws std::runtime_error if there is none.
DeviceInfo device_info();

}  // namespace heapwood::platform
