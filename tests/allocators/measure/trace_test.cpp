/// @file
/// Traces: what they are made of, and the facts about them.
#include "allocators/measure/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/allocators/measure/random_trace.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::kMostTraceBytes;
using allocators::Trace;
using allocators::trace_of;
using allocators::TraceEvent;
using allocators::TraceFacts;

TEST(Trace, MatchesFreesWithTheLastRequestOfTheirAddress) {
    const Trace trace = trace_of({{0x100, 16, 2, 0},
                                  {0x200, 32, 0, 0},
                                  {0x100, 16, 1, 1},
                                  {0x100, 48, 0, 0},
                                  {0x200, 32, 0, 1},
                                  {0x100, 48, 3, 1}});
    EXPECT_EQ(trace.callers, 4U);
    EXPECT_EQ(trace.events,
              (std::vector<TraceEvent>{
                  {2, 0, 16}, {0, 1, 32}, {1, 0, 0}, {0, 2, 48}, {0, 1, 0}, {3, 2, 0}}));
}

TEST(Trace, HasARequestForEveryPartThatWasFreed) {
    const Trace trace = trace_of({{0x100, 48, 0, 0},
                                  {0x110, 16, 1, 1},    // the middle,
                                  {0x110, 16, 2, 0},    // which is given out again
                                  {0x100, 16, 1, 1},    // the beginning
                                  {0x110, 16, 2, 1}});  // and the end is never freed
    EXPECT_EQ(trace.callers, 3U);
    EXPECT_EQ(
        trace.events,
        (std::vector<TraceEvent>{
            {0, 0, 16}, {0, 1, 16}, {0, 2, 16}, {1, 1, 0}, {2, 3, 16}, {1, 0, 0}, {2, 3, 0}}));
}

TEST(Trace, RefusesRecordsThatContradictEachOther) {
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 16, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 1}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 32, 0, 1}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x100, 16, 0, 1}, {0x100, 16, 0, 1}}),
                 std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x108, 16, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x108, 16, 0, 0}, {0x100, 16, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x10c, 8, 0, 1}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 16, 0, 0}, {0x104, 4, 0, 1}, {0x100, 8, 0, 1}}),
                 std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 0, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, 18, 0, 0}}), std::runtime_error);
    EXPECT_THROW(trace_of({{0x100, kMostTraceBytes + 4, 0, 0}}), std::runtime_error);
    EXPECT_THROW(
        trace_of(
            {{0x100, kMostTraceBytes, 0, 0}, {0x100, kMostTraceBytes, 0, 1}, {0x100, 4, 0, 0}}),
        std::runtime_error);
}

TEST(Trace, HasSizesOfMoreThan32Bits) {
    constexpr std::uint64_t kSize = (std::uint64_t{6} << 30) + 8;
    const Trace trace = trace_of({{0x100, kSize, 0, 0}, {0x100, kSize, 0, 1}});
    EXPECT_EQ(trace.events, (std::vector<TraceEvent>{{0, 0, kSize}, {0, 0, 0}}));
    EXPECT_EQ(facts(trace).largest, kSize);
    EXPECT_EQ(facts(trace).peak_bytes, kSize);
}

TEST(Trace, FactsAreThoseOfItsBeginnings) {
    std::mt19937_64 dice(test_seed());
    for (int i = 0; i < 20; ++i) {
        const Trace trace = random_trace(dice, 3, 200);
        const TraceFacts found = facts(trace);
        std::map<std::uint32_t, std::uint64_t> live;
        TraceFacts wanted;
        for (std::size_t e = 0; e < trace.events.size(); ++e) {
            const TraceEvent& event = trace.events[e];
            if (event.bytes == 0) {
                ++wanted.frees;
                EXPECT_EQ(live.erase(event.block), 1U);
            } else {
                ++wanted.requests;
                wanted.bytes += event.bytes;
                wanted.largest = std::max(wanted.largest, event.bytes);
                live[event.block] = event.bytes;
            }
            std::uint64_t sum = 0;
            for (const auto& [block, bytes] : live) sum += bytes;
            if (sum > wanted.peak_bytes) {
                wanted.peak_bytes = sum;
                wanted.peak_events = e + 1;
            }
        }
        EXPECT_EQ(found.requests, wanted.requests);
        EXPECT_EQ(found.frees, wanted.frees);
        EXPECT_EQ(found.bytes, wanted.bytes);
        EXPECT_EQ(found.largest, wanted.largest);
        EXPECT_EQ(found.peak_bytes, wanted.peak_bytes);
        EXPECT_EQ(found.peak_events, wanted.peak_events);
    }
}

}  // namespace
}  // namespace heapwood::tests
