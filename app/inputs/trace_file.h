/// @file
/// Traces as files: a line of JSON that says what the trace is and where it comes from, a line that
/// names three columns, then a line for every call:
///
///     {"kind":"trace","schema":1,"callers":2,"requests":3,"frees":3, ...}
///     op,caller,value
///     a,0,4096
///     f,1,0
///
/// `a`: the caller asks for `value` bytes; `f`: it frees the block of that request, requests being
/// counted from 0 in the order of the file. That order is one in which the calls could have been
/// made one after the other (allocators::Trace).
#pragma once

#include <cstdint>
#include <string>

#include "allocators/measure/trace.h"
#include "app/base/json.h"
#include "app/inputs/input_lines.h"

namespace heapwood::app {

/// A trace that was read.
struct TraceFile {
    std::string header;            ///< its first line: a JSON object; of a log, made of it
    std::uint64_t root_bytes = 0;  ///< the unit of pool sizes: the root node's primitive array
    allocators::Trace trace;
    std::string digest;  ///< of all of it
};

/// Reads a trace, or a log of RMM (rmm_log.h), plain or compressed with xz or gzip. Its trace has a
/// request at least.
/// @throws InputError; scenes::SceneError for what cannot be read or decompressed.
TraceFile read_trace(const std::string& path);

/// What is written to the file of a trace.
/// @param origin of its header: what the trace was recorded with
std::string trace_text(const allocators::Trace& trace, const Json& origin);

}  // namespace heapwood::app
