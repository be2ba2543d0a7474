/// @file
/// Scripts against the traces they are made from, in every kind of schedule.
#include "allocators/measure/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "allocators/measure/workload.cuh"
#include "tests/allocators/measure/random_trace.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::ReplayScript;
using allocators::ReplayStep;
using allocators::Trace;
using allocators::TraceEvent;

/// A step of a script in words.
struct Step {
    bool free;
    bool handed;
    std::uint32_t slot;
};
std::vector<Step> steps_of(const ReplayScript& script, std::uint32_t caller) {
    std::vector<Step> steps;
    for (std::uint64_t i = script.first[caller]; script.steps[i] != ReplayStep::kEnd; ++i) {
        const std::uint32_t word = script.steps[i];
        steps.push_back({(word & ReplayStep::kFree) != 0, (word & ReplayStep::kHanded) != 0,
                         word & ReplayStep::kSlot});
    }
    return steps;
}

/// Goes through a script in a random schedule, in which whoever waits for a block waits until it is
/// there. @return how many steps but waits were done until nobody could go on.
std::size_t play(const ReplayScript& script, std::mt19937_64& dice) {
    std::vector<std::vector<Step>> steps;
    for (std::uint32_t c = 0; c < script.callers; ++c) steps.push_back(steps_of(script, c));
    std::vector<std::size_t> next(script.callers);
    constexpr std::uint32_t kNobody = ~0U;
    constexpr std::uint32_t kOnItsWay = ~0U - 1;
    std::vector<std::uint32_t> owner(script.sizes.size(), kNobody);
    std::size_t done = 0;
    for (std::set<std::uint32_t> stuck; stuck.size() < script.callers;) {
        const auto c = static_cast<std::uint32_t>(dice() % script.callers);
        if (next[c] == steps[c].size()) {
            stuck.insert(c);
            continue;
        }
        const Step& step = steps[c][next[c]];
        std::uint32_t& held = owner[step.slot];
        if (step.free && step.handed) {
            if (held != kOnItsWay) {
                EXPECT_EQ(held, kNobody) << "it is handed over once, and to one caller";
                stuck.insert(c);
                continue;
            }
            held = c;
        } else {
            EXPECT_EQ(held, step.free ? c : kNobody);
            if (!step.free) held = step.handed ? kOnItsWay : c;
            ++done;
        }
        ++next[c];
        stuck.clear();
    }
    return done;
}

TEST(ReplayScript, HasTheCallsOfEachCallerInTheirOrder) {
    std::mt19937_64 dice(test_seed());
    for (const std::uint32_t callers : {1U, 2U, 5U, 7U, 20U}) {
        const Trace trace = random_trace(dice, 7, 500);
        const ReplayScript script = script_of(trace, callers, true, trace.events.size());
        ASSERT_EQ(script.callers, callers);
        std::vector<std::vector<Step>> steps;
        for (std::uint32_t c = 0; c < callers; ++c) steps.push_back(steps_of(script, c));
        std::vector<std::size_t> next(callers);
        std::map<std::uint32_t, std::uint32_t> slots;  // by block
        for (const TraceEvent& event : trace.events) {
            const std::uint32_t c = event.caller % callers;
            // It waits for what it will free, if that was asked for before this call.
            while (next[c] < steps[c].size() && steps[c][next[c]].free &&
                   steps[c][next[c]].handed) {
                const std::uint32_t slot = steps[c][next[c]++].slot;
                EXPECT_TRUE(std::any_of(slots.begin(), slots.end(),
                                        [&](const auto& entry) { return entry.second == slot; }));
            }
            ASSERT_LT(next[c], steps[c].size());
            const Step& step = steps[c][next[c]++];
            ASSERT_EQ(step.free, event.bytes == 0);
            if (step.free) {
                EXPECT_EQ(step.slot, slots.at(event.block));
            } else {
                EXPECT_EQ(script.sizes[step.slot], event.bytes);
                EXPECT_TRUE(slots.emplace(event.block, step.slot).second);
            }
        }
        for (std::uint32_t c = 0; c < callers; ++c) EXPECT_EQ(next[c], steps[c].size());
        std::set<std::uint32_t> different;
        for (const auto& [block, slot] : slots) different.insert(slot);
        EXPECT_EQ(different.size(), script.sizes.size());
    }
}

TEST(ReplayScript, EndsInEverySchedule) {
    std::mt19937_64 dice(test_seed());
    for (int i = 0; i < 30; ++i) {
        const Trace trace = random_trace(dice, 7, 300);
        for (const std::uint32_t callers : {1U, 3U, 7U}) {
            // Every beginning of it, too.
            const std::size_t events = i == 0 ? trace.events.size() : dice() % 301;
            EXPECT_EQ(play(script_of(trace, callers, true, events), dice), events);
        }
    }
}

TEST(ReplayScript, SaysWhenCallsAreDue) {
    // Caller 0 asks, 1 asks and frees the block of 0.
    const Trace trace{2, {{0, 0, 64}, {1, 1, 64}, {1, 0, 0}}, {0, 1000, 2501}};
    constexpr std::uint64_t kAnyTime = ReplayStep::kAnyTime;
    const auto due = [&](std::uint32_t callers, bool frees, double pace) {
        return script_of(trace, callers, frees, 3, pace).due;
    };
    using Times = std::vector<std::uint64_t>;
    // Of 1: it waits for the block of 0, asks, frees, and ends.
    EXPECT_EQ(due(2, true, 1), (Times{0, kAnyTime, kAnyTime, 1000, 2501, kAnyTime}));
    EXPECT_EQ(due(1, true, 1), (Times{0, 1000, 2501, kAnyTime}));
    EXPECT_EQ(due(2, false, 0.5), (Times{0, kAnyTime, 2000, kAnyTime}));
    // Never earlier than it should be, and never so late that a start cannot be added.
    EXPECT_EQ(due(1, true, 2), (Times{0, 500, 1251, kAnyTime}));
    EXPECT_EQ(due(1, false, 1e-300), (Times{0, std::uint64_t{1} << 62, kAnyTime}));
    EXPECT_TRUE(due(2, true, 0).empty());
}

TEST(ReplayScript, LeavesFreesOut) {
    std::mt19937_64 dice(test_seed());
    const Trace trace = random_trace(dice, 4, 300);
    const ReplayScript script = script_of(trace, 4, false, trace.events.size());
    const std::uint64_t requests = facts(trace).requests;
    EXPECT_EQ(script.sizes.size(), requests);
    EXPECT_EQ(play(script, dice), requests);
}

}  // namespace
}  // namespace heapwood::tests
