/// @file
/// How much a test tries.
#pragma once

#include <cstdlib>

namespace heapwood::tests {

/// Whether tests that try a share in seconds try all of it, which takes minutes: the environment
/// variable HEAPWOOD_TEST_ALL is set (tests/faults/README.md).
inline bool thorough() {
    return std::getenv("HEAPWOOD_TEST_ALL") != nullptr;
}

}  // namespace heapwood::tests
