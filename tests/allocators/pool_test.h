/// @file
/// The fixture of tests that are run for every subject of a role (subjects.h).
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/allocators/pool_checks.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

/// A test of an allocator on a machine; skipped where there is no such machine.
class PoolTest : public ::testing::TestWithParam<const AnySubject*> {
protected:
    static constexpr unsigned kSlots = CommonScale::slots;
    static constexpr unsigned kMultiprocessors = CommonScale::multiprocessors;

    void SetUp() override {
        if (!machine_.available()) GTEST_SKIP() << machine_.name << ": no such device";
        // The first use fixes the size of CUDA's heap, so it must be of the full size.
        const auto a = make(pool_bytes_);
        release(*a, request(*a, {16}));
    }

    /// `largest` is PoolConfig::largest_request: the circular allocators split their pool by it.
    std::unique_ptr<AnyPool> make(std::uint64_t bytes, std::uint64_t largest = 0) const {
        return GetParam()->make({.place = machine_.place,
                                 .bytes = bytes,
                                 .largest_request = largest,
                                 .multiprocessors = kMultiprocessors,
                                 .callers = warps_});
    }

    template <class T>
    SharedArray<T> array(std::size_t size) const {
        return {machine_, size};
    }

    /// Of every thread.
    SharedArray<Tally> tallies() const { return array<Tally>(threads_); }

    /// All threads fill and empty slots of their own, kSlots each. @return the sum of the tallies.
    Tally churn(AnyPool& a, SharedArray<Block>& slots, std::uint64_t seed,
                Block* log = nullptr) const {
        auto tally = tallies();
        a.run(warps_, ChurnBody<AnyRef>{a.ref(), slots.data(), kSlots, rounds_, largest_, seed,
                                        kMultiprocessors, tally.data(), log});
        return expect_sound(tally);
    }

    const AnyMachine& machine_ = *GetParam()->machine;
    const allocators::Traits& traits_ = GetParam()->traits;
    const unsigned warps_ = machine_.warps;
    const unsigned threads_ = machine_.threads();
    const unsigned rounds_ = machine_.rounds;
    const std::uint64_t extra_bytes_ = GetParam()->extra_bytes;
    const std::uint64_t pool_bytes_ = machine_.pool;
    const std::uint64_t largest_ = machine_.largest();
};

/// The subjects of a role, those that allocate pairs only if so told.
std::vector<const AnySubject*> subjects_of(Role role, bool pairs = false);

/// The part of a test's name that says what it is run for.
std::string subject_name(const ::testing::TestParamInfo<const AnySubject*>& info);

}  // namespace heapwood::tests
