/// @file
/// A child process: this program once more, at the other end of a socket.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "app/measure/engine/lines.h"

namespace heapwood::app {

/// Runs until it is destroyed, which kills it. Its standard input is a socket on which it also
/// answers; its standard output goes to this program's standard error. It is in a process group of
/// its own, so that Ctrl-C on the terminal does not reach it.
class Child {
public:
    /// Starts the executable that this program is, with these arguments, the first of which is its
    /// name. @param environment NAME=VALUE of the variables that are not those of this program.
    /// @throws std::runtime_error if the system refuses.
    explicit Child(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {});
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    Lines& lines() { return lines_; }

    /// Waits for the end of a child that has closed its side, or else kills it, and says how it
    /// ended: "was killed by signal 11 (Segmentation fault)", "ended with exit code 1".
    std::string end();

private:
    int socket_ = -1;
    pid_t process_ = -1;
    Lines lines_{-1};
};

/// To be called by a child first, whose socket to its parent is its standard input: it is killed
/// when its parent ends, however that comes about, and leaves to it the signals of a terminal, or
/// of a system that ends all processes at once.
void become_child();

}  // namespace heapwood::app
