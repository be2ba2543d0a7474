/// @file
/// AtomicMalloc's counter at the pool's end, step by step: requests that do not fit put it back
/// while others come.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allocators/atomicmalloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::atomicmalloc_scenarios {

namespace {

using allocators::AtomicMalloc;
using allocators::Context;

/// A thread uses so little of what it has, or the explorer would have too much to watch.
constexpr std::size_t kUsedPart = 64;
constexpr std::size_t kPool = 4096 / kUsedPart;
/// What is left of the pool.
constexpr std::size_t kRest = kPool / 4;

class Coarse : public AtomicMalloc {
public:
    struct Ref {
        void* allocate(const Context& context, std::size_t used) const {
            return inner.allocate(context, used * kUsedPart);
        }
        void deallocate(const Context&, void*, std::size_t) const {}
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, used * kUsedPart);
        }

        AtomicMalloc::Ref inner;
    };

    using AtomicMalloc::AtomicMalloc;
    Ref ref() const { return {AtomicMalloc::ref()}; }
};
using P = Pool<Coarse>;

struct Scenario {
    const char* name;
    std::vector<std::vector<std::size_t>> requests;  ///< of each thread
};

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> all{
        {"one wants too much", {{kRest + 8}, {kRest / 2, kRest / 2}}},
        {"both want too much first", {{kRest + 8, kRest / 2}, {kRest + 4, kRest / 2}}},
        {"only one of two fits", {{kRest - 4, 4}, {kRest - 4, 4}}},
        {"two of three want too much", {{kRest + 8}, {kRest + 4}, {kRest - 4}}},
    };
    return all;
}

/// All that has not been given can be had afterwards.
Result run(const Scenario& s, const Bounds& bounds, const Mutation& mutation = {}) {
    P pool({.bytes = kPool * kUsedPart}, {.exact = false, .whole = false});
    pool.prepare(kPool - kRest);
    std::size_t given = 0;
    std::vector<P::Thread> threads;
    for (const auto& requests : s.requests) {
        threads.emplace_back([&given, requests](P& p) {
            for (const std::size_t bytes : requests) {
                if (p.allocate(bytes) != nullptr) given += bytes;
            }
        });
    }
    Program program = pool.program(threads);
    program.begin = [&given, begin = std::move(program.begin)] {
        given = 0;
        begin();
    };
    program.finish = [&] {
        if (given < kRest) pool.must_allocate(kRest - given);
    };
    return explore(program, bounds, mutation);
}

TEST(AtomicMallocExplorer, IsSound) {
    for (const Scenario& s : scenarios()) {
        expect_nothing_found(run(s, {.preemptions = 3, .stale_reads = 1}), s.name);
    }
}

TEST(AtomicMallocExplorer, FindsFaults) {
    Places places;
    for (const Scenario& s : scenarios()) {
        add_places(places, run(s, {.preemptions = 1, .stale_reads = 0}), {"atomicmalloc.cuh"});
    }
    auto found = break_each(places,
                            [](const Mutation& m) {
                                return first_broken(scenarios(), [&](const Scenario& s) {
                                    return run(s, {.preemptions = 2, .stale_reads = 1}, m);
                                });
                            },
                            {Fault::torn, Fault::lost});
    // The addition, and putting the counter back.
    EXPECT_EQ(found[Fault::torn], 2U);
    EXPECT_EQ(found[Fault::lost], 2U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::atomicmalloc_scenarios
