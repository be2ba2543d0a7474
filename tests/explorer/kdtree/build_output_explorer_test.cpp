/// @file
/// What a build reports of several failures that warps record at the same time.
#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_output.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::output_scenarios {

namespace {

using kdtree::Status;

kdtree::BuildState state;

/// A build of a warp, whose arrays hold nothing and whose budget is nothing.
template <class F>
void record(const char* what, const F& failure) {
    begin_operation(what, 0);
    kdtree::Problem problem{};
    problem.state = &state;
    kdtree::BuildOutput output(platform::SerialWarp{}, problem);
    failure(output);
    output.report();
    end_operation(0);
}

/// Two requests are refused, another warp comes to its budget's end, and its array is too small.
Result run(const Bounds& bounds, const Mutation& mutation = {}) {
    Program program;
    for (const std::uint64_t bytes : {100, 200}) {
        program.threads.emplace_back([bytes] {
            record("is refused", [&](auto& output) { output.record_exhausted(bytes); });
        });
    }
    program.threads.emplace_back([] {
        record("reserves", [](auto& output) {
            output.reserve_references(1);
            output.reserve_references(1000);
        });
    });
    program.finish = [] {
        if (state.status.ref().load_relaxed() != static_cast<std::uint32_t>(Status::over_budget)) {
            fail("a failure hides that the tree is over its budget");
        }
        if (platform::AtomicRef(state.failed_bytes).load_relaxed() != 200) {
            fail("the size is not that of the largest request");
        }
    };
    state = {};
    return explore(program, bounds, mutation);
}

TEST(BuildOutputExplorer, TheGravestFailureStays) {
    expect_nothing_found(run({}), "two refusals and the end of the budget");
}

/// Breaks every source line of the output in every way that applies to it, one at a time. Two warps
/// that are given the same references are other tests' matter.
TEST(BuildOutputExplorer, FindsFaults) {
    Places places;
    add_places(places, run({.preemptions = 1}), {"build_output.cuh"});
    auto found = break_each(places, [](const Mutation& m) { return run({}, m).finding; },
                            {Fault::torn, Fault::lost});
    // Recording a failure, and a size.
    EXPECT_EQ(found[Fault::torn], 2U);
    EXPECT_EQ(found[Fault::lost], 3U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::output_scenarios
