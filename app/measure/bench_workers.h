/// @file
/// A child process for every allocator of `bench`: a kernel that hangs cannot be stopped from
/// within, and CUDA's heap can be had in one size a process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/measure/bench_report.h"
#include "app/measure/child.h"
#include "app/measure/task.h"

namespace heapwood::app {

/// The name of the verb that such a process runs; users do not see it.
inline constexpr const char* kBenchWorkerVerb = "bench-worker";

/// The child processes, started when they are first needed.
class BenchWorkers {
public:
    /// `interrupts`: a descriptor that ends every wait when it is readable, or -1. `trace`: the
    /// file of what is replayed, or nothing.
    BenchWorkers(bool gpu, unsigned threads, int interrupts, std::string trace = "")
        : gpu_(gpu), threads_(threads), interrupts_(interrupts), trace_(std::move(trace)) {}

    /// A task in the player's process. One that does not answer in time is killed: a hang; one that
    /// ends by itself has failed. Either way the next task gets a new process.
    TaskResult run(const Player& player, const Task& task, double seconds);

private:
    struct Worker {
        std::unique_ptr<Child> child;
        std::uint64_t pool_bytes = 0;  ///< of a heap that it keeps
    };

    void start(Worker& worker) const;

    bool gpu_;
    unsigned threads_;
    int interrupts_;
    std::string trace_;
    std::map<std::string, Worker> workers_;
};

/// What such a process does: answers tasks until its parent is gone.
/// @param trace the file of what is replayed, or nothing.
/// @param available the backends that tasks may name.
/// @throws as read_trace().
void serve_bench_tasks(bool gpu, unsigned threads, const std::string& trace,
                       const std::vector<const Backend*>& available);

}  // namespace heapwood::app
