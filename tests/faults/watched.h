/// @file
/// A watch-dog: what may hang or crash runs in a child process, and costs no more than that.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace heapwood::tests {

/// What a child process is about, in memory that it shares with its parent.
class Steps {
public:
    Steps();
    Steps(const Steps&) = delete;
    Steps& operator=(const Steps&) = delete;
    ~Steps();

    /// The child begins its next step, of which this sentence is shown if it does not end it.
    void begin(const std::string& what);
    /// How many steps have begun.
    std::uint64_t count() const;
    /// The last one's sentence; only when the child has ended.
    std::string what() const;

private:
    struct Shared;
    Shared* shared_;
};

/// Runs the body in a child process, which is to end every step within the patience. A hang, a
/// crash and expectations of the body's that do not hold are failures of the calling test. To be
/// called while the process has one thread.
/// @return how many steps have begun.
std::uint64_t run_watched(std::chrono::seconds patience, const std::function<void(Steps&)>& body);

}  // namespace heapwood::tests
