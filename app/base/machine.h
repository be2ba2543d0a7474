/// @file
/// The machine a build runs on, for the report and for deciding how large a pool may get.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace heapwood::app {

/// A GPU, or the CPU.
struct Machine {
    bool gpu = false;
    std::string name;           ///< as its maker calls it
    unsigned units = 0;         ///< multiprocessors, or hardware threads
    std::string driver;         ///< CUDA version the driver speaks; empty on a CPU
    std::string runtime;        ///< CUDA version of the program; empty on a CPU
    std::uint64_t memory = 0;   ///< bytes: of the GPU, or what the system can still give
    unsigned architecture = 0;  ///< compute capability, 90 for 9.0; 0 on a CPU

    /// One of kDevices.
    const char* kind() const { return gpu ? "gpu" : "cpu"; }
    /// In one line.
    std::string text() const;
};

/// The kinds of machines, as the command line and JSON have them.
inline constexpr std::array kDevices{"cpu", "gpu"};

/// The CPU this runs on.
Machine cpu();

/// The GPU. @throws NoDevice if there is none, with the reason.
Machine gpu();

}  // namespace heapwood::app
