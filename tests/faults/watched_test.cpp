/// @file
/// The watch-dog notices what it is there for.
#include "tests/faults/watched.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace heapwood::tests {
namespace {

using std::chrono::seconds;

TEST(WatchedTest, CountsStepsOfABodyThatEnds) {
    const std::uint64_t steps = run_watched(seconds(30), [](Steps& s) {
        for (int i = 0; i < 1000; ++i) s.begin("step " + std::to_string(i));
        EXPECT_EQ(s.what(), "step 999");
    });
    EXPECT_EQ(steps, 1000U);
}

TEST(WatchedTest, AHangIsAFailureWithItsStep) {
    EXPECT_NONFATAL_FAILURE(run_watched(seconds(1),
                                        [](Steps& s) {
                                            s.begin("fine");
                                            s.begin("request 17, seed 4");
                                            std::this_thread::sleep_for(std::chrono::hours(1));
                                        }),
                            "HANG in step 2: request 17, seed 4");
}

TEST(WatchedTest, ACrashIsAFailureWithItsStep) {
    EXPECT_NONFATAL_FAILURE(run_watched(seconds(30),
                                        [](Steps& s) {
                                            s.begin("request 5");
                                            std::raise(SIGKILL);
                                        }),
                            "CRASH by signal 9 in step 1: request 5");
}

TEST(WatchedTest, AnotherExitCodeIsAFailure) {
    EXPECT_NONFATAL_FAILURE(run_watched(seconds(30), [](Steps&) { std::_Exit(1); }), "see above");
}

}  // namespace
}  // namespace heapwood::tests
