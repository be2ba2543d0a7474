/// @file
/// How much memory this process takes.
#pragma once

#include <cstdint>

namespace heapwood::app {

/// Most bytes of this process that have been in memory at a time.
std::uint64_t peak_bytes();

}  // namespace heapwood::app
