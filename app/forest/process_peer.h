/// @file
/// A worker process of a build in parts: this program once more.
#pragma once

#include <string>
#include <vector>

#include "app/forest/remote_workers.h"
#include "app/measure/child.h"

namespace heapwood::app {

class ProcessPeer final : public Peer {
public:
    /// @param arguments the program's command line, which the process reads as well.
    /// @param interrupts a descriptor that ends every wait when it is readable.
    /// @throws std::runtime_error if the system refuses a process.
    ProcessPeer(const std::vector<std::string>& arguments, int interrupts);

    void send(const Json& request) override;
    /// @throws PeerLost, and Interrupted.
    Json receive(double seconds) override;

private:
    Child child_;
    int interrupts_;
};

}  // namespace heapwood::app
