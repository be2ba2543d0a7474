/// @file
/// Seeds of random tests: printed, so that a failure can be run again.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace heapwood::tests {

/// The seed of a random test: the environment variable HEAPWOOD_TEST_SEED if it is set, else one
/// from the system. Prints it.
inline std::uint64_t test_seed() {
    const char* wanted = std::getenv("HEAPWOOD_TEST_SEED");
    const std::uint64_t seed =
        wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : std::random_device{}();
    std::cout << "HEAPWOOD_TEST_SEED=" << seed << std::endl;
    return seed;
}

}  // namespace heapwood::tests
