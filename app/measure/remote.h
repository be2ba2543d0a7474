/// @file
/// A backend at work in a process of its own, so that nothing it does can harm more than its turn.
#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/backends/backend.h"
#include "app/measure/child.h"
#include "app/measure/report.h"
#include "app/measure/worker.h"

namespace heapwood::app {

/// Thrown out of a wait that a signal has ended.
class Interrupted : public std::runtime_error {
public:
    Interrupted() : std::runtime_error("interrupted") {}
};

/// What a worker shall load.
struct RemoteScene {
    std::string path;
    std::uint64_t digest = 0;  ///< what it must have there
    double seconds = 0;        ///< that loading may take
};

/// Starts its process when it is needed, and anew after a failure.
class Remote {
public:
    /// @param arguments the worker's command line.
    /// @param interrupts a descriptor that is readable once a signal has come.
    Remote(const Backend& backend, std::vector<std::string> arguments, int interrupts)
        : backend_(&backend), arguments_(std::move(arguments)), interrupts_(interrupts) {}

    const Backend& backend() const { return *backend_; }

    /// Lets the process begin to load the scene, if it has another, and does not wait.
    /// @throws std::runtime_error if the system refuses a process.
    void prepare(const RemoteScene& scene);

    /// Builds the scene that it was prepared for. Whatever goes wrong is in the result: a process
    /// that takes more than `seconds`, dies or answers nonsense, or what the build itself says.
    /// @throws Interrupted, and what prepare() throws.
    Result build(const BuildRequest& request, double seconds);

    /// Ends the process. The next prepare() starts another.
    void stop();

private:
    /// Waits for a line. @return false if none came; then `result` says why, and the process is
    /// gone.
    bool receive(std::string& line, double seconds, Result& result);
    bool await_scene(Result& result);
    /// Notes nonsense, and ends the process.
    void nonsense(const std::string& line, Result& result);

    const Backend* backend_;
    std::vector<std::string> arguments_;
    int interrupts_;
    std::unique_ptr<Child> child_;
    RemoteScene scene_;
    bool loaded_ = false;
    std::uint64_t heap_bytes_ = 0;  ///< that the process keeps; 0: none
};

}  // namespace heapwood::app
