/// @file
/// The published circular allocators under the very scenarios that the sound ones pass.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "allocators/specimens/cfmalloc_published.cuh"
#include "allocators/specimens/cmalloc_published.cuh"
#include "tests/explorer/allocators/circular_scenarios.h"
#include "tests/explorer/explorer.h"

namespace heapwood::tests::explorer::published_scenarios {

namespace {

template <class Original>
struct TinyPolicy : Original {
    static constexpr allocators::Traits traits() {
        allocators::Traits t = Original::traits();
        t.smallest_pool = kGranule;
        return t;
    }
    static constexpr std::uint32_t kMostSteps = 40;
};
template <class Original>
using Tiny = allocators::circular::PublishedMalloc<TinyPolicy<Original>>;

/// Prints what comes of every scenario. @return in how many of them `what` is found.
template <class A>
unsigned count(const Bounds& bounds, const std::string& what) {
    unsigned times = 0;
    for (const Scenario<A>& s : two_threads<A>()) {
        const Result r = s.run(bounds, {}, {.exact = false, .whole = false, .zero_payloads = true});
        std::cout << "  " << A::traits().name << ": " << s.name << ": " << r.executions
                  << " executions: " << (r.found() ? r.finding : "nothing found") << "\n";
        if (r.finding.find(what) == std::string::npos) continue;
        if (times++ == 0) std::cout << r.schedule;
    }
    return times;
}

template <class A>
class PublishedExplorer : public ::testing::Test {};
using Published = ::testing::Types<Tiny<allocators::CMallocPublishedPolicy>,
                                   Tiny<allocators::CFMallocPublishedPolicy>>;
TYPED_TEST_SUITE(PublishedExplorer, Published);

TYPED_TEST(PublishedExplorer, TraversalsTouchPayloads) {
    EXPECT_GT(count<TypeParam>({.preemptions = 2, .stale_reads = 0}, "data race"), 0U);
}

TYPED_TEST(PublishedExplorer, BlocksOverlap) {
    EXPECT_GT(
        count<TypeParam>({.preemptions = 2, .stale_reads = 0, .races = false}, "blocks overlap"),
        0U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::published_scenarios
