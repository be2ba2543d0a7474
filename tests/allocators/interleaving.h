/// @file
/// An allocator's calls that interrupt one another, in one thread: every call that is about to do
/// something dangerous may be stalled while others run from beginning to end, which are stalled in
/// turn. A seed reproduces a run, and a plain map knows the truth.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::tests {

/// A policy, or part of one, with a hook where a thread may be stalled.
struct Interruptible {
    static inline std::function<void()> hook;
    static void pause() {
        if (hook) hook();
    }
};

/// A pool, the blocks that should be in it, and calls that interrupt one another.
/// `kFreesLast`: what makes a block free is the last thing that deallocate() does, so that nobody
/// is given it before.
template <allocators::Allocator A, bool kFreesLast>
class World {
public:
    /// A word of what users write into their blocks.
    using Word = std::function<std::uint32_t(Dice&)>;

    /// Requests are of 1 to `largest` bytes. `word`: if given, blocks are filled, and must not have
    /// changed when they are freed.
    World(const allocators::PoolConfig& config, std::uint64_t largest, std::uint64_t seed,
          Word word = nullptr)
        : allocator_(config),
          ref_(allocator_.ref()),
          largest_(largest),
          hints_(config.multiprocessors),
          dice_{seed},
          word_(std::move(word)) {}
    ~World() { Interruptible::hook = nullptr; }

    /// Runs about so many calls, then frees what is left.
    void run(unsigned calls) {
        calls_left_ = calls;
        Interruptible::hook = [this] { interrupt(); };
        while (calls_left_ > 0 && !::testing::Test::HasFailure()) call();
        while (!live_.empty()) free_one();
        Interruptible::hook = nullptr;
    }

    /// After run(): the pool is whole, by the heap walk and by a request for all of it.
    void expect_all_free() {
        allocator_.for_each_region(
            [](const allocators::Region& r) { EXPECT_FALSE(r.allocated) << "lost"; });
        EXPECT_NE(ref_.allocate({}, allocator_.pool_bytes()), nullptr);
    }

    A& allocator() { return allocator_; }
    unsigned interrupts() const { return interrupts_; }
    unsigned given() const { return given_; }

private:
    struct Contents {
        std::uint64_t bytes;
        std::vector<std::uint32_t> words;
    };
    using Blocks = std::map<std::uintptr_t, Contents>;

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
        return {static_cast<std::uint32_t>(dice_.below(hints_)),
                static_cast<std::uint32_t>(dice_.next())};
    }

    void allocate_one() {
        const std::uint64_t bytes = dice_.size(largest_);
        allocators::Context from = context();
        if (dice_.below(2) == 0) from.cache = &cache_;
        void* p = ref_.allocate(from, bytes);
        if (p == nullptr) return;
        ++given_;
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const std::uint64_t size = ref_.granted_bytes(p, bytes);
        expect_apart(live_, begin, size);
        if (kFreesLast) expect_apart(dying_, begin, size);
        Contents c{bytes, std::vector<std::uint32_t>(word_ ? bytes / 4 : 0)};
        for (std::uint32_t& w : c.words) w = word_(dice_);
        if (!c.words.empty()) std::memcpy(p, c.words.data(), c.words.size() * 4);
        live_.emplace(begin, std::move(c));
    }

    void free_one() {
        auto it = std::next(live_.begin(), static_cast<std::ptrdiff_t>(dice_.below(live_.size())));
        const auto [begin, contents] = *it;
        live_.erase(it);
        void* p = reinterpret_cast<void*>(begin);
        if (!contents.words.empty()) {
            EXPECT_EQ(std::memcmp(p, contents.words.data(), contents.words.size() * 4), 0);
        }
        dying_.emplace(begin, contents);
        ref_.deallocate(context(), p, contents.bytes);
        dying_.erase(begin);
    }

    void expect_apart(const Blocks& blocks, std::uintptr_t begin, std::uint64_t size) {
        const auto end_of = [this](const auto& b) {
            return b.first + ref_.granted_bytes(reinterpret_cast<void*>(b.first), b.second.bytes);
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
    std::uint32_t hints_;
    Dice dice_;
    Word word_;
    allocators::CallerCache cache_{};
    Blocks live_;
    Blocks dying_;
    unsigned calls_left_ = 0;
    unsigned depth_ = 0;
    unsigned interrupts_ = 0;
    unsigned given_ = 0;
};

/// Calls of A that interrupt one another in `worlds` pools of these sizes in turn, with requests of
/// up to the pool in one and up to `largest` bytes in the next: no block is given twice, and none
/// is lost.
template <allocators::Allocator A>
void expect_stalls_harm_nobody(std::initializer_list<std::uint64_t> pools, std::uint64_t largest,
                               std::uint64_t worlds) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < worlds && !::testing::Test::HasFailure(); ++i) {
        const std::uint64_t pool = pools.begin()[i % pools.size()];
        const auto callers = static_cast<std::uint32_t>(1 + i % 7);
        World<A, false> world({.bytes = pool, .multiprocessors = callers, .callers = callers},
                              i % 2 == 0 ? pool : largest, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        SCOPED_TRACE(i);
        world.expect_all_free();
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 10000U);
}

}  // namespace heapwood::tests
