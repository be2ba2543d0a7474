/// @file
/// A worker process of a build in parts: this program once more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/distributed/remote_workers.h"
#include "app/measure/engine/child.h"

namespace heapwood::app {

/// The variable by which CUDA shows a process one GPU alone, as its number 0: NAME=VALUE.
/// @param devices of the processes, one for each part, over again from the first; by CUDA's numbers
/// in this program. None: no variable.
/// @param visible what this program's CUDA_VISIBLE_DEVICES is, whose entries such numbers count; or
/// nullptr.
std::vector<std::string> device_of_part(const std::vector<std::uint32_t>& devices,
                                        std::uint32_t part, const char* visible);

class ProcessPeer final : public Peer {
public:
    /// @param arguments the program's command line, which the process reads as well.
    /// @param environment as Child's.
    /// @param interrupts a descriptor that ends every wait when it is readable.
    /// @throws std::runtime_error if the system refuses a process.
    ProcessPeer(const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment, int interrupts);

    void send(const Json& request) override;
    /// @throws PeerLost, and Interrupted.
    Json receive(double seconds) override;

private:
    Child child_;
    int interrupts_;
};

}  // namespace heapwood::app
