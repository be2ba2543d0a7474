/// @file
/// What stands in for allocators/platform/clear.cuh in the explorer's tests: zeroes that the
/// explorer sees, and takes back.
#pragma once

#include <cstdint>

#include "tests/explorer/explorer.h"

namespace heapwood::platform {

/// As the real one.
inline void clear(std::uint32_t* words, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) tests::explorer::poke(words[i], 0);
    tests::explorer::access(words, count * sizeof(std::uint32_t));
}

}  // namespace heapwood::platform
