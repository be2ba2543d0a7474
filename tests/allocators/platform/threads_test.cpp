/// @file
/// Threads of the host: every one works once, at the same time as the others, and what goes wrong
/// in one is heard of.
#include "allocators/platform/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace heapwood::platform {
namespace {

TEST(Threads, EachIsCalledOnceWithItsNumber) {
    for (const unsigned wanted : {1U, 2U, 7U, 64U}) {
        std::vector<unsigned> calls(wanted);
        const double ms = run_threads(wanted, [&](std::uint32_t thread, std::uint32_t threads) {
            EXPECT_EQ(threads, wanted);
            ++calls.at(thread);
        });
        EXPECT_EQ(calls, std::vector<unsigned>(wanted, 1));
        EXPECT_GE(ms, 0);
    }
}

TEST(Threads, TheFirstIsTheCallers) {
    const std::thread::id caller = std::this_thread::get_id();
    run_threads(3, [&](std::uint32_t thread, std::uint32_t) {
        EXPECT_EQ(std::this_thread::get_id() == caller, thread == 0);
    });
}

TEST(Threads, MayWaitForOneAnother) {
    std::atomic<unsigned> here = 0;
    run_threads(8, [&](std::uint32_t, std::uint32_t threads) {
        ++here;
        while (here < threads) std::this_thread::yield();
    });
    EXPECT_EQ(here, 8U);
}

TEST(Threads, OfSeveralExceptionsTheLowestThreadsIsThrown) {
    std::atomic<unsigned> ended = 0;
    try {
        run_threads(5, [&](std::uint32_t thread, std::uint32_t) {
            ++ended;
            if (thread >= 2) throw std::runtime_error(std::to_string(thread));
        });
        FAIL() << "nothing is thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "2");
    }
    EXPECT_EQ(ended, 5U) << "it is thrown when all have ended";
}

TEST(Threads, ZeroMeansOneForEachHardwareThread) {
    EXPECT_GE(thread_count(0), 1U);
    EXPECT_EQ(thread_count(3), 3U);
}

}  // namespace
}  // namespace heapwood::platform
