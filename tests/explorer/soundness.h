/// @file
/// What the explorer's tests expect of an exploration of sound sources.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>

#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"

namespace heapwood::tests::explorer {

/// Prints how much was explored, and expects that it was all there is, and that nothing was found.
/// @param name for people: what was explored
inline void expect_nothing_found(const Result& result, const std::string& name) {
    std::cout << "  " << name << ": " << result.executions << " executions, " << result.states
              << " states\n";
    EXPECT_EQ(result.finding, "") << name << "\n" << result.schedule;
    EXPECT_TRUE(result.complete) << name;
}

/// Lets the writes of each place come late, one place at a time (Fault::late), and expects that
/// nothing is found. @param finding explores with a mutation; "" if nothing is found
inline void expect_late_writes_are_harmless(
    const Places& places, const std::function<std::string(const Mutation&)>& finding) {
    EXPECT_EQ(break_each(places, finding, {Fault::late})[Fault::late], 0U);
}

}  // namespace heapwood::tests::explorer
