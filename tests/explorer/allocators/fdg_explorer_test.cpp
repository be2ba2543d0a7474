/// @file
/// FDGMalloc's open superblocks, step by step: two threads of one warp that cut from one, and open
/// the next, in the warp's word of the pool or in a cache.
///
/// A thread that could go on is interrupted twice at most.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocators/fdgmalloc.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::fdg_scenarios {

namespace {

using allocators::CallerCache;
using allocators::Context;
using allocators::FDGMalloc;
using allocators::PoolConfig;

/// Superblocks are of 512 bytes. A thread uses so little of what it has, or the explorer would have
/// too much to watch.
constexpr std::size_t kUsedPart = 32;
constexpr std::size_t kHalf = 256 / kUsedPart;
constexpr std::size_t kQuarter = 128 / kUsedPart;

/// FDGMalloc, all of whose callers are of one warp, which has a cache if `cached`.
template <bool cached>
class OneWarp : public FDGMalloc {
public:
    struct Ref {
        void* allocate(const Context&, std::size_t used) const {
            return inner.allocate({0, 0, cache}, used * kUsedPart);
        }
        void deallocate(const Context&, void*, std::size_t) const {}
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, used * kUsedPart);
        }

        FDGMalloc::Ref inner;
        CallerCache* cache;
    };

    using FDGMalloc::FDGMalloc;
    Ref ref() const { return {FDGMalloc::ref(), cached ? &cache_ : nullptr}; }

private:
    mutable CallerCache cache_{};
};

template <bool cached>
void expect_sound() {
    using P = Pool<OneWarp<cached>>;
    struct Scenario {
        const char* name;
        bool open;                                       ///< a piece is there from the beginning
        std::vector<std::vector<std::size_t>> requests;  ///< of each thread
    };
    const std::vector<Scenario> scenarios{
        {"both open the first superblock", false, {{kHalf, kQuarter}, {kQuarter, kHalf}}},
        {"both want more than the rest", true, {{kHalf + kQuarter}, {kHalf, kQuarter}}},
        {"one fills the next", true, {{kHalf + kQuarter, kQuarter}, {kHalf + kQuarter}}},
    };
    for (const Scenario& s : scenarios) {
        P pool({.bytes = 16384}, {.exact = false, .whole = false});
        if (s.open) pool.prepare(kHalf);
        std::vector<typename P::Thread> threads;
        for (const auto& requests : s.requests) {
            threads.emplace_back([requests](P& p) {
                for (const std::size_t bytes : requests) p.must_allocate(bytes);
            });
        }
        Program program = pool.program(threads);
        program.finish = [] {};  // nothing is freed, and a region is a superblock
        expect_nothing_found(explore(program, {.preemptions = 2, .stale_reads = 1}),
                             std::string(cached ? "cached: " : "") + s.name);
    }
}

TEST(FDGExplorer, IsSound) {
    expect_sound<false>();
    expect_sound<true>();
}

}  // namespace

}  // namespace heapwood::tests::explorer::fdg_scenarios
