/// @file
/// A fixture for an allocator's own tests: a small pool of it, and what one thread does to it as
/// several callers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "tests/allocators/walked.h"

namespace heapwood::tests {

template <class A, std::uint64_t kBytes, std::uint32_t kMultiprocessors>
class SmallPoolTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kPool = kBytes;

    /// Bytes of the regions that the walk calls allocated.
    std::uint64_t allocated() const { return allocated_in(pool_); }
    char* take_one(std::uint64_t bytes, std::uint32_t as = 0) {
        auto* p = static_cast<char*>(ref_.allocate({as, as}, bytes));
        EXPECT_NE(p, nullptr) << bytes;
        return p;
    }
    /// A number of blocks.
    std::vector<char*> take(std::uint64_t count, std::uint32_t as = 0, std::uint64_t bytes = 64) {
        std::vector<char*> blocks;
        for (std::uint64_t i = 0; i < count; ++i) blocks.push_back(take_one(bytes, as));
        return blocks;
    }
    /// As many blocks as there are, by callers in turn.
    std::vector<char*> take_all(std::uint64_t bytes, std::uint32_t callers = 1) {
        std::vector<char*> all;
        for (std::uint32_t as = 0;; ++as) {
            auto* p = static_cast<char*>(ref_.allocate({as % callers, as}, bytes));
            if (p == nullptr) return all;
            all.push_back(p);
        }
    }
    void free(void* p, std::uint64_t bytes = 64, std::uint32_t as = 0) {
        ref_.deallocate({as, as}, p, bytes);
    }
    void expect_whole() {
        EXPECT_EQ(allocated(), 0U);
        free(take_one(kPool), kPool);
    }

    A pool_{allocators::PoolConfig{.bytes = kPool, .multiprocessors = kMultiprocessors}};
    typename A::Ref ref_ = pool_.ref();
};

}  // namespace heapwood::tests
