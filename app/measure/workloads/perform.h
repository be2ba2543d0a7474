/// @file
/// One turn of one allocator at one point of a sweep, or with a trace: who takes it, and the
/// result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/trace.h"
#include "allocators/measure/workload.cuh"
#include "app/backends/workload_machine.h"
#include "app/base/outcome.h"
#include "app/inputs/graph.h"
#include "app/measure/workloads/sweeps/task.h"

namespace heapwood::app {

/// What was measured of one thing: times of cold and of warm iterations, or plain values.
struct Samples {
    std::vector<double> cold;  ///< the first iteration on a fresh pool
    std::vector<double> warm;  ///< the later ones
    std::vector<double> value;

    bool operator==(const Samples&) const = default;
};

/// What came of a turn.
struct TaskResult {
    Outcome outcome = Outcome::done;
    std::string message;          ///< why, if not done
    allocators::Counts counts{};  ///< of the iteration in which all is counted and checked
    std::map<std::string, Samples> metrics{};  ///< by name; empty if not done
    std::uint64_t pool_bytes = 0;              ///< the pool's own word; 0: there was none
};

/// What a task measures: an allocator on a machine.
struct Subject {
    WorkloadMachine& machine;
    MakePool make = nullptr;  ///< nullptr: the way without one, by a prefix sum (work and access)
    bool frees = true;        ///< whether the allocator frees individually
    unsigned threads = 0;     ///< of the pool, CPU only; 0: one a core
    allocators::Choices choices = {};  ///< of the values of the allocator's options
    /// Whose sizes a live set has; nullptr: those of a power law.
    const allocators::Trace* trace = nullptr;
    /// The graph of tasks with a graph; nullptr: that of the task's family and seed.
    const Graph* graph = nullptr;
};

/// Makes a pool, takes the turn, and gives the pool back. Every block is stamped on receipt and
/// checked before it is freed: by launches in between, or within the launch (its ends where that is
/// timed, all of it in one more iteration at the end). Between iterations an allocator that frees
/// nothing is reset. Never throws: what goes wrong is in the result.
/// @param task anything but a replay (replay_trace())
TaskResult perform(const Subject& subject, const Task& task);

/// perform() of a task with a live set: blocks of random slots are replaced, and freed by whichever
/// caller takes them out (allocators::Churn). Metrics of both kinds: "live", the percentage of the
/// pool that was asked for and is live in the end, and "refused", the percentage of all requests;
/// of churn "rate", millions of replaced blocks a second, and from launches of their own
/// "alloc_p50", "alloc_p99", "alloc_p999", "alloc_worst" and the same of "free_", in ticks
/// (platform::ticks()), of calls that were answered; of aged "internal" and "external", where the
/// pool can be walked. A refusal leaves a slot empty until another request comes to it.
TaskResult keep_live(const Subject& subject, const Task& task);

/// perform() of a task with a graph. A thread a vertex takes an array of its edges, rounded up to a
/// power of two from 16 bytes on (allocators::adjacency_bytes), and another whenever an update
/// crosses one. What is on the machine is read back after every launch that changes it, and
/// compared with a GraphModel; no two arrays may overlap. Metrics of both: "live", the percentage
/// of the pool that arrays are, and "taken", that of the regions that hold them, where the pool can
/// be walked. Of graph: "alloc_ms", "fill_ms", the time to write all edges, and "free_ms". Of
/// updates: "insert_ms" and "delete_ms". A request that is refused ends the turn.
/// @param task has as many callers as the subject's graph, if it has one, has vertices
TaskResult keep_graph(const Subject& subject, const Task& task);

/// Makes a pool and replays the trace in it: a cold time; as many warm ones as task.iterations
/// says, each time with the pool reset before; once more, counted; and up to the trace's peak, to
/// see what the pool looks like there. Metrics: "ms"; "callers"; and, where the pool can be walked,
/// "peak_allocated_bytes", "peak_external" and "end_external". With a pace, which takes a trace
/// with times, the cold and the warm replays keep to it; then there are also "behind_p50",
/// "behind_p99" and "behind_worst" of each warm one (Behind).
///
/// Callers are those of the trace, or as many as are certain to run at the same time (script_of()).
/// The caller that gets a block stamps its ends, in untimed launches all of it. The caller that
/// frees the block checks them. Blocks that the trace or the allocator does not free are checked
/// after the launch. If the allocator does not free individually, the trace's frees are left out.
/// Never throws: the result says what failed.
/// @param trace with at least one request.
TaskResult replay_trace(const Subject& subject, const Task& task, const allocators::Trace& trace);

}  // namespace heapwood::app
