/// @file
/// What the explorer's tests expect of an exploration of sound sources.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "tests/explorer/explorer.h"

namespace heapwood::tests::explorer {

/// Prints how much was explored, and expects that it was all there is, and that nothing was found.
/// @param name for people: what was explored
inline void expect_nothing_found(const Result& result, const std::string& name) {
    std::cout << "  " << name << ": " << result.executions << " executions, " << result.states
              << " states\n";
    EXPECT_EQ(result.finding, "") << name << "\n" << result.schedule;
    EXPECT_TRUE(result.complete) << name;
}

}  // namespace heapwood::tests::explorer
