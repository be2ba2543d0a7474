/// @file
/// Calls of an allocator that interrupt one another at every point where others may come between,
/// in one thread: a seed reproduces a run, and a plain map knows the truth.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>

#include "allocators/allocator.cuh"
#include "tests/allocators/bodies.h"

namespace heapwood::tests {

/// Called at every such point; a policy's pause() does so.
inline std::function<void()> interruption_hook;

/// A pool of an allocator A whose policy calls interruption_hook, the blocks that should be in it,
/// and calls that are interrupted by others, from beginning to end, which are interrupted in turn.
template <class A>
class Interruptions {
public:
    /// Requests are of 1 to `largest` bytes. `ends_free`: a block is free only after the last point
    /// of deallocate().
    Interruptions(const allocators::PoolConfig& config, std::uint64_t largest, std::uint64_t seed,
                  bool ends_free = true)
        : allocator_(config),
          ref_(allocator_.ref()),
          largest_(largest),
          dice_{seed},
          ends_free_(ends_free) {}
    ~Interruptions() { interruption_hook = nullptr; }

    /// Runs about so many calls, then frees what is left.
    void run(unsigned calls) {
        calls_left_ = calls;
        interruption_hook = [this] { interrupt(); };
        while (calls_left_ > 0 && !::testing::Test::HasFailure()) call();
        while (!live_.empty()) free_one();
        interruption_hook = nullptr;
    }

    A& allocator() { return allocator_; }
    unsigned interrupts() const { return interrupts_; }
    unsigned given() const { return given_; }

private:
    using Blocks = std::map<std::uintptr_t, std::uint64_t>;

    void interrupt() {
        if (depth_ == 5 || dice_.below(3) != 0) return;
        ++depth_;
        ++interrupts_;
        for (std::uint64_t n = 1 + dice_.below(4); n > 0 && calls_left_ > 0; --n) call();
        --depth_;
    }

    void call() {
        if (calls_left_ > 0) --calls_left_;
        if (live_.empty() || dice_.below(2) == 0) {
            allocate_one();
        } else {
            free_one();
        }
    }

    allocators::Context context() {
        return {0, static_cast<std::uint32_t>(dice_.next()),
                dice_.below(2) == 0 ? &cache_ : nullptr};
    }

    void allocate_one() {
        const std::uint64_t bytes = dice_.size(largest_);
        void* p = ref_.allocate(context(), bytes);
        if (p == nullptr) return;
        ++given_;
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const std::uint64_t size = ref_.granted_bytes(p, bytes);
        expect_apart(live_, begin, size);
        if (ends_free_) expect_apart(dying_, begin, size);
        live_.emplace(begin, bytes);
    }

    void free_one() {
        auto it = std::next(live_.begin(), static_cast<std::ptrdiff_t>(dice_.below(live_.size())));
        const auto [begin, bytes] = *it;
        live_.erase(it);
        dying_.emplace(begin, bytes);
        ref_.deallocate(context(), reinterpret_cast<void*>(begin), bytes);
        dying_.erase(begin);
    }

    void expect_apart(const Blocks& blocks, std::uintptr_t begin, std::uint64_t size) {
        const auto end_of = [this](const auto& b) {
            return b.first + ref_.granted_bytes(reinterpret_cast<void*>(b.first), b.second);
        };
        const auto after = blocks.lower_bound(begin);
        if (after != blocks.end()) {
            EXPECT_LE(begin + size, after->first);
        }
        if (after != blocks.begin()) {
            EXPECT_LE(end_of(*std::prev(after)), begin);
        }
    }

    A allocator_;
    typename A::Ref ref_;
    std::uint64_t largest_;
    Dice dice_;
    bool ends_free_;
    allocators::CallerCache cache_{};
    Blocks live_;
    Blocks dying_;
    unsigned calls_left_ = 0;
    unsigned depth_ = 0;
    unsigned interrupts_ = 0;
    unsigned given_ = 0;
};

}  // namespace heapwood::tests
