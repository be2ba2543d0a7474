/// @file
/// Allocators that keep blocks open from which pieces are cut: Cambium and Hybrid, step by step.
/// Two threads cut, open, close and return the blocks of the smallest pool, which they share, or
/// keep in a cache that they share, or in one of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "allocators/allocator.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/pool.h"

namespace heapwood::tests::explorer::open_blocks {

/// Blocks are of 512 bytes.
constexpr std::size_t kPoolBytes = 32 * 512;
/// A thread uses so little of what it has, or the explorer would have too much to watch.
constexpr std::size_t kUsedPart = 32;
constexpr std::size_t kHalf = 256 / kUsedPart;
constexpr std::size_t kQuarter = 128 / kUsedPart;
constexpr std::size_t kBlock = 512 / kUsedPart;
constexpr std::size_t kPool = kPoolBytes / kUsedPart;

/// An allocator whose first two callers, if there are two, have a cache each or share one, as
/// PoolConfig::cache_users says. Of what is asked for, kUsedPart times as much is given, but at
/// most the pool.
template <class A>
class WithCaches : public A {
public:
    struct Ref {
        void* allocate(const allocators::Context& context, std::size_t used) const {
            return inner.allocate(with_cache(context), bytes(used));
        }
        void deallocate(const allocators::Context& context, void* p, std::size_t used) const {
            inner.deallocate(with_cache(context), p, bytes(used));
        }
        std::uint64_t granted_bytes(const void* p, std::size_t used) const {
            return inner.granted_bytes(p, bytes(used));
        }
        void flush() const {
            for (std::uint32_t warp = 0; warp < 2; ++warp) inner.flush(with_cache({0, warp}));
        }

        static std::size_t bytes(std::size_t used) {
            return std::min(used * kUsedPart, kPoolBytes);
        }
        allocators::Context with_cache(allocators::Context context) const {
            if (users > 0 && context.warp < 2) context.cache = caches + context.warp / users;
            return context;
        }

        typename A::Ref inner;
        allocators::CallerCache* caches;
        std::uint32_t users;  ///< of a cache; 0: there is none
    };

    explicit WithCaches(const allocators::PoolConfig& config)
        : A(config), users_(config.callers == 2 ? config.cache_users : 0) {}
    Ref ref() const { return {A::ref(), caches_, users_}; }

private:
    mutable allocators::CallerCache caches_[2]{};
    std::uint32_t users_;
};

using Pieces = const std::vector<void*>&;

template <class A>
struct Scenario {
    const char* name;
    unsigned blocks;                  ///< that are not in use from beginning to end
    std::vector<std::size_t> pieces;  ///< that are there from the beginning
    std::vector<std::function<void(Pool<WithCaches<A>>&, Pieces)>> threads;
    bool apart = false;  ///< in caches, each thread has one of its own
};

/// What both explore.
template <class A>
std::vector<Scenario<A>> scenarios() {
    using P = Pool<WithCaches<A>>;
    using B = Pieces;
    return {
        {"both open the first block",
         32,
         {},
         {[](P& p, B) { p.free(p.must_allocate(kHalf)); },
          [](P& p, B) { p.must_allocate(kQuarter); }}},
        {"the last free meets the close",
         32,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) { p.free(b[1]); }}},
        {"both want more than the rest",
         32,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) {
              p.must_allocate(kHalf);
              p.free(b[0]);
          }}},
        {"a returned block is opened again",
         32,
         {kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.must_allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kQuarter);
          }}},
        {"a piece changes hands",
         32,
         {kHalf},
         {[](P& p, B b) {
              p.give(0, p.must_allocate(kHalf));
              p.free(b[0]);
              p.must_allocate(kQuarter);
          },
          [](P& p, B) {
              p.free(p.take(0));
              p.must_allocate(kHalf);
          }}},
        {"an idle block is closed as it is used",
         32,
         {kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(p.allocate(kPool));
          },
          [](P& p, B) { p.free(p.allocate(kQuarter)); }}},
        {"the only block is used again",
         1,
         {kHalf, kHalf},
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(kHalf);
          }}},
        {"both want half of the last block",
         1,
         {},
         {[](P& p, B) { p.must_allocate(kHalf); }, [](P& p, B) { p.must_allocate(kHalf); }}},
        {"one of two blocks is used again",
         2,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.must_allocate(kHalf);
              p.must_allocate(kHalf);
              p.allocate(kHalf);
          },
          [](P& p, B b) { p.free(b[0]); }}},
        {"either frees last and asks first",
         2,
         {kHalf, kQuarter},
         {[](P& p, B b) {
              p.free(b[1]);
              p.free(p.allocate(kHalf));
              p.allocate(kHalf);
          },
          [](P& p, B b) {
              p.free(b[0]);
              p.allocate(kHalf);
          }}},
    };
}

/// Explores a scenario.
/// @param cached whether the threads have their open blocks in caches, or in a table
/// @param runs lengths of the runs of blocks that are in use from beginning to end, as far as the
/// scenario lets them be
template <class A>
Result run(const Scenario<A>& s, bool cached, const std::vector<unsigned>& runs,
           const Bounds& bounds, const Mutation& mutation) {
    using P = Pool<WithCaches<A>>;
    Expectations expectations;
    expectations.exact = false;  // a region is a block, with whatever pieces
    // One table entry for open blocks: the threads meet there.
    P pool({.bytes = kPoolBytes, .callers = cached ? 2U : 1U, .cache_users = s.apart ? 1U : 2U},
           expectations);
    for (unsigned used = 0; const unsigned blocks : runs) {
        used += blocks;
        if (used <= 32 - s.blocks) pool.prepare(kPool / 32 * blocks);
    }
    std::vector<void*> pieces;
    for (const std::size_t bytes : s.pieces) pieces.push_back(pool.prepare(bytes));
    std::vector<typename P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, pieces); });
    Program program = pool.program(threads);
    program.finish = [&pool, rest = program.finish] {
        begin_operation("flush", 0);
        pool.allocator().ref().flush();
        end_operation(0);
        rest();
    };
    return explore(program, bounds, mutation);
}

}  // namespace heapwood::tests::explorer::open_blocks
