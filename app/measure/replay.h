/// @file
/// One turn of one allocator in the replay of a trace.
#pragma once

#include "allocators/measure/trace.h"
#include "app/measure/task.h"

namespace heapwood::app {

/// Makes a pool and replays the trace in it: a cold time; as many warm ones as task.iterations
/// says, each time with the pool reset before; once more, counted; and up to the trace's peak, to
/// see what the pool looks like there. Metrics: "ms"; "callers"; and, where the pool can be walked,
/// "peak_allocated_bytes", "peak_external" and "end_external".
///
/// Callers are those of the trace, or as many as are certain to run at the same time (script_of()).
/// The caller that gets a block stamps its ends, in untimed launches all of it. The caller that
/// frees the block checks them. Blocks that the trace or the allocator does not free are checked
/// after the launch. Never throws: the result says what failed.
/// @param frees whether the allocator frees individually; else the trace's frees are left out.
/// @param trace with at least one request.
TaskResult replay_trace(WorkloadMachine& machine, MakePool make, bool frees, const Task& task,
                        const allocators::Trace& trace, unsigned threads);

}  // namespace heapwood::app
