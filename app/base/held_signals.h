/// @file
/// Signals that wait for a moment.
#pragma once

#include <csignal>

#include <array>

namespace heapwood::app {

/// While it exists, SIGHUP, SIGINT and SIGTERM are noted; after it the last one has its effect, as
/// if it came then. For all threads, those of libraries too, which a signal mask is not. Signals
/// that are ignored stay ignored. One at a time.
class HeldSignals {
public:
    HeldSignals();
    HeldSignals(const HeldSignals&) = delete;
    HeldSignals& operator=(const HeldSignals&) = delete;
    ~HeldSignals();

private:
    std::array<struct sigaction, 3> before_{};
};

}  // namespace heapwood::app
