/// @file
/// A fixture for an allocator's own tests, in the terms of the conformance suite. That itself has
/// another, which is compiled once for all allocators (pool_test.h).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/measure/fragmentation.h"
#include "tests/allocators/bodies.h"
#include "tests/allocators/platform/machines.h"
#include "tests/allocators/pool_checks.h"
#include "tests/allocators/pools.h"
#include "tests/allocators/scale.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// What a test is instantiated for: an allocator on a machine.
template <class AllocatorType, class MachineType>
struct Subject {
    using Allocator = AllocatorType;
    using Machine = MachineType;
};

/// Tests of S::Allocator on S::Machine; skipped where there is no such machine.
template <class S>
class AllocatorTest : public ::testing::Test {
protected:
    using A = typename S::Allocator;
    using Ref = typename A::Ref;
    using Machine = typename S::Machine;
    template <class T>
    using Array = typename Machine::template Array<T>;

    static constexpr allocators::Traits traits = A::traits();
    static constexpr unsigned kWarps = Scale<Machine>::warps;
    static constexpr unsigned kThreads = kWarps * Machine::Warp::width;
    static constexpr unsigned kRounds = Scale<Machine>::rounds;
    static constexpr unsigned kSlots = Scale<Machine>::slots;
    static constexpr unsigned kMultiprocessors = Scale<Machine>::multiprocessors;
    static constexpr std::uint64_t kPool = Scale<Machine>::pool;
    static constexpr std::uint64_t kLargest = Scale<Machine>::largest(kPool, kThreads);

    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << Machine::name << ": no such device";
        // The first use fixes the size of CUDA's heap, so it must be of the full size.
        auto a = make(kPool);
        release(*a, request(*a, {16}));
    }

    /// `largest` is PoolConfig::largest_request: the circular allocators split their pool by it.
    static std::unique_ptr<A> make(std::uint64_t bytes, std::uint64_t largest = 0) {
        return std::make_unique<A>(allocators::PoolConfig{.place = Scale<Machine>::place,
                                                          .bytes = bytes,
                                                          .largest_request = largest,
                                                          .multiprocessors = kMultiprocessors,
                                                          .callers = kWarps});
    }

    // As the functions of pool_checks.h.
    static std::vector<Block> request(A& a, const std::vector<std::uint64_t>& sizes) {
        Pool pool(any_machine<Machine>(), a);
        return tests::request(pool, sizes);
    }
    static void release(A& a, const std::vector<Block>& blocks, unsigned threads = 1) {
        Pool pool(any_machine<Machine>(), a);
        tests::release(pool, blocks, threads);
    }
    static void release_shuffled(A& a, const std::vector<Block>& blocks, std::uint64_t seed) {
        Pool pool(any_machine<Machine>(), a);
        tests::release_shuffled(pool, blocks, seed);
    }
    static Tally expect_sound(const Array<Tally>& tallies) {
        return tests::expect_sound(&tallies[0], tallies.size());
    }
    static void expect_pool_holds(A& a, const std::vector<Block>& live) {
        tests::expect_pool_holds(Pool(any_machine<Machine>(), a), live);
    }
    static void expect_empty(A& a) { tests::expect_empty(Pool(any_machine<Machine>(), a)); }

private:
    using Pool = typename MachineParts<Machine>::template Pool<A, Role::own>;
};

}  // namespace heapwood::tests
