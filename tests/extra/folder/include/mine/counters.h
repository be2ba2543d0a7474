/// @file
/// What the headers of this folder share, found by the INCLUDE of its CMakeLists.txt.
#pragma once

#include <cstdint>

namespace mine {

/// A counter in a line of its own.
struct alignas(128) Counter {
    std::uint64_t used;
};

}  // namespace mine
