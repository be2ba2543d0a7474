/// @file
/// Ouroboros' queues, step by step: two or three threads that put and take entries where a ring
/// has two places, or where a part of a virtual queue, which has four, begins or ends.
///
/// A thread that could go on is interrupted twice at most, and once where there are three.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "allocators/ouroboros.cuh"
#include "tests/explorer/allocators/ouroboros_queue_subject.h"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::ouroboros_scenarios {

namespace {

using namespace ouroboros_queues;
using namespace allocators::ouroboros;

template <class Policy>
struct Scenario {
    const char* name;
    Start start;
    std::vector<typename Subject<Policy>::Thread> threads;
    /// Of a thread that could go on, while faults are looked for that are not of memory order.
    unsigned preemptions_with_faults = 1;
};

template <class Policy>
std::vector<Scenario<Policy>> scenarios() {
    using S = Subject<Policy>;
    const auto put = [](std::uint32_t entry) { return [=](S& s) { s.must_put(entry); }; };
    const auto take = [](S& s) { s.take(); };
    const auto must_take = [](S& s) { s.must_take(); };
    const auto use = [](std::uint32_t entry) {
        return [=](S& s) {
            s.must_put(entry);
            s.must_take();
        };
    };
    // Takes an entry, and puts the same again.
    const auto turn = [](S& s) { s.put(s.must_take()); };
    std::vector<Scenario<Policy>> all = {
        {"both put", {2, 0}, {put(0), put(1)}},
        {"both want the only entry", {3, 1}, {take, take}},
        {"both take", {3, 2}, {must_take, must_take}},
        {"one takes what the other puts", {2, 0}, {put(0), take}},
        {"both put, and take", {2, 0}, {use(0), use(1)}},
        {"one takes and puts as the other takes", {3, 2}, {turn, must_take}},
        {"both take and put", {1, 2}, {turn, turn}},
        {"one takes what two put", {2, 0}, {put(0), put(1), take}},
        {"two want what one puts", {3, 0}, {put(0), take, take}},
    };
    if (!kIsVirtual<Policy>) {
        all.push_back({"one entry too many", {1, 1}, {[](S& s) { s.put(1); }, turn}});
        if constexpr (std::is_same_v<Policy, ShortRing>) {
            all.push_back({"both want the last place",
                           {1, 1},
                           {[](S& s) { s.put(1); }, [](S& s) { s.put(2); }}});
            all.push_back({"two put as one takes",
                           {1, 2},
                           {[](S& s) { s.put(2); }, [](S& s) { s.put(3); }, must_take}});
        }
        return all;
    }
    const auto may_put = [](std::uint32_t entry) { return [=](S& s) { s.put(entry); }; };
    const auto trim = [](S& s) { s.trim(); };
    all.insert(all.end(),
               {
                   {"both need the first part", {0, 0}, {put(0), put(1)}, 2},
                   {"there is one chunk for both", {0, 4, 1}, {may_put(4), may_put(5)}},
                   {"both use a part, one its last place", {3, 0}, {use(0), use(1)}},
                   {"a part is used up as another comes", {3, 1}, {must_take, use(1)}, 2},
                   {"two parts are used up",
                    {3, 5},
                    {must_take,
                     [](S& s) {
                         for (int i = 0; i < 4; ++i) s.must_take();
                     }}},
                   {"a part is used up by both, and its chunk is the next part",
                    {2, 6, 0},
                    {[=](S& s) {
                         s.must_take();
                         s.put(6);
                     },
                     must_take}},
                   {"a part that is trimmed gets an entry", {1, 0}, {trim, put(0)}},
                   {"a part is trimmed as its entry is taken", {1, 1}, {trim, must_take}},
                   {"both trim", {1, 0}, {trim, trim}},
               });
    if constexpr (std::is_same_v<Policy, List>) {
        all.push_back(
            {"both look for parts behind the first", {3, 6}, {must_take, must_take, may_put(6)}});
    }
    return all;
}

template <class Policy>
Result run(const Scenario<Policy>& s, Bounds bounds, const Mutation& mutation = {}) {
    Subject<Policy> subject(s.start);
    if (s.threads.size() > 2) bounds.preemptions = 1;
    return explore(subject.program(s.threads), bounds, mutation);
}

template <class Policy>
class OuroborosExplorer : public ::testing::Test {};
using Policies = ::testing::Types<Ring, ShortRing, Array, List>;
TYPED_TEST_SUITE(OuroborosExplorer, Policies);

TYPED_TEST(OuroborosExplorer, IsSound) {
    for (const auto& s : scenarios<TypeParam>()) {
        expect_nothing_found(run(s, {.preemptions = 2, .stale_reads = 1}),
                             TypeParam::kName + (std::string(": ") + s.name));
    }
}

/// Breaks every source line of the queue in every way that applies to it, one at a time.
TYPED_TEST(OuroborosExplorer, FindsFaults) {
    Places places;
    for (const auto& s : scenarios<TypeParam>()) {
        const Result r = run(s, {.preemptions = 1, .stale_reads = 0});
        add_places(places, r, {"standard_queue.cuh", "array_map.cuh", "list_map.cuh"});
        // What both virtual queues have is broken once.
        if (std::is_same_v<TypeParam, List>) continue;
        add_places(places, r, {"semaphore.cuh", "virtual_queue.cuh"});
    }
    auto found = break_each(
        places,
        [](const Mutation& m) {
            const bool of_order = m.fault == Fault::no_acquire || m.fault == Fault::no_release;
            for (const auto& s : scenarios<TypeParam>()) {
                const Bounds bounds{.preemptions = !kIsVirtual<TypeParam> ? 2
                                                   : of_order             ? 1
                                                              : s.preemptions_with_faults,
                                    .stale_reads = of_order ? 1U : 0U,
                                    .steps = 200};
                const Result r = run(s, bounds, m);
                if (r.found()) return s.name + (": " + r.finding);
            }
            return std::string();
        },
        {Fault::no_acquire, Fault::no_release, Fault::torn, Fault::lost});
    EXPECT_EQ(found[Fault::no_acquire], TypeParam::kFound.no_acquire);
    EXPECT_EQ(found[Fault::no_release], TypeParam::kFound.no_release);
    EXPECT_EQ(found[Fault::torn], TypeParam::kFound.torn);
    EXPECT_EQ(found[Fault::lost], TypeParam::kFound.lost);
}

}  // namespace

}  // namespace heapwood::tests::explorer::ouroboros_scenarios
