/// @file
/// A process for every runner, so that a failure there costs no more than a turn: a
/// kernel that hangs cannot be stopped from within, and CUDA's heap has one size in a process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/measure/engine/child.h"
#include "app/measure/engine/schedule.h"

namespace heapwood::app {

/// The processes, each started when it is needed, and anew after a failure.
class WorkerPool final : public Workers {
public:
    /// @param arguments the program's command line, which workers read as well.
    /// @param interrupts a descriptor that ends every wait when it is readable.
    WorkerPool(std::vector<std::string> arguments, int interrupts)
        : arguments_(std::move(arguments)), interrupts_(interrupts) {}

    /// @throws std::runtime_error if the system refuses a process.
    void prepare(const Runner& runner, const Setting& setting) override;
    void await(const Runner& runner) override;
    Answer ask(const Runner& runner, const Setting& setting, const Request& request,
               double seconds) override;
    void stop(const Runner& runner) override { workers_.erase(runner.name); }

private:
    struct Worker {
        std::unique_ptr<Child> child;
        Setting setting;
        bool loaded = false;
        std::uint64_t heap_bytes = 0;   ///< that the process keeps; 0: none
        std::optional<Answer> failure;  ///< of loading
    };

    Answer receive(Worker& worker, double seconds) const;

    std::vector<std::string> arguments_;
    int interrupts_;
    std::map<std::string, Worker> workers_;
};

/// The command line of a runner's worker, made from that of the program.
std::vector<std::string> worker_arguments(const std::vector<std::string>& arguments,
                                          const std::string& runner);

}  // namespace heapwood::app
