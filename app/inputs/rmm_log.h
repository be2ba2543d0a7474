/// @file
/// Logs of RMM, the memory manager of RAPIDS, as traces: what its logging_resource_adaptor, or
/// LoggingResourceAdaptor in Python, writes down of a program's device memory.
///
///     Thread,Time,Action,Pointer,Size,Stream
///     2342727,15:47:02.841961,allocate,0x10012400000,1048576,0x2
///     2342727,15:47:02.841977,free,0x10012400000,1048576,0x2
///
/// - A **caller** is a thread with a stream: what is on different streams may run at one time.
/// - The **header**, the line above, may be missing, as in a file that was split.
/// - **Sizes** are rounded up to multiples of 4.
/// - **Requests that failed** are counted, and are not in the trace: nobody freed them.
/// - **Calls for nothing** (0 bytes, a null pointer) are counted, and are not in the trace.
/// - **Times** are of the day. Where a line's is earlier than one before it, by less than half a
///   day, the trace's time stands still until it is reached again; else midnight has passed.
/// - The **unit of pool sizes** is the peak of the log.
///
/// The format is documented in RMM's user guide, "Logging and Profiling".
#pragma once

#include <string>
#include <string_view>

#include "app/inputs/trace_file.h"

namespace heapwood::app {

/// The first line of a log.
inline constexpr std::string_view kLogColumns = "Thread,Time,Action,Pointer,Size,Stream";

/// Whether a file that begins with this line is such a log: with its header, or an event.
bool is_rmm_log(std::string_view first_line);

/// The trace of a log whose first line has been read; its digest is still to be made. The header
/// says what the log has that the trace has not.
/// @throws InputError for a log that contradicts itself or has no request.
TraceFile read_rmm_log(InputLines& lines, const std::string& first_line);

}  // namespace heapwood::app
