/// @file
/// Ctrl-C and similar signals as a descriptor to wait for.
#pragma once

namespace heapwood::app {

/// While it exists, the first SIGINT, SIGTERM or SIGHUP does not end the program but is noted; the
/// second ends it as usual. Signals that the program was told to ignore stay ignored. One at a
/// time.
class Interrupts {
public:
    Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;
    ~Interrupts();

    /// Readable once a signal has come.
    int descriptor() const;
    /// The number of the signal that has come, or 0.
    int signal() const;
};

}  // namespace heapwood::app
