/// @file
/// What a few threads do with a tiny pool of a circular allocator, sound or published.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/explorer/explorer.h"
#include "tests/explorer/pool.h"

namespace heapwood::tests::explorer {

inline constexpr std::size_t kGranule = 16;

/// The bytes of a request that takes `granules` granules, with its header where that is in front.
template <class A>
constexpr std::size_t bytes_of(unsigned granules) {
    const allocators::Traits t = A::traits();
    return granules * kGranule - (t.sound ? 0 : *t.header_bytes);
}

/// A header word, or a part of one, or a hint.
inline std::string show_header(std::uint64_t value) {
    static const char* const kStates[] = {"", "FREE ", "USED ", "UNSETTLED "};
    if (value >> 32 != 0) return std::to_string(value);
    return kStates[value >> 30] + std::to_string(value & 0x3fffffffU);
}

/// A pool and its threads; `blocks` are those that prepare() has made.
template <class A>
struct Scenario {
    using Blocks = std::vector<void*>;
    using Thread = std::function<void(Pool<A>&, const Blocks&)>;

    const char* name;
    std::uint64_t granules;
    std::function<void(Pool<A>&, Blocks&)> prepare;
    std::vector<Thread> threads;

    Result run(const Bounds& bounds, const Mutation& mutation = {},
               Expectations expectations = {}) const {
        if (!expectations.show) expectations.show = show_header;
        Pool<A> pool({.bytes = granules * kGranule, .multiprocessors = 2, .callers = 2},
                     expectations);
        Blocks blocks;
        prepare(pool, blocks);
        std::vector<typename Pool<A>::Thread> bodies;
        for (const Thread& t : threads) {
            bodies.emplace_back([&t, &blocks](Pool<A>& p) { t(p, blocks); });
        }
        return explore(pool.program(bodies), bounds, mutation);
    }
};

/// Fills the pool with blocks of these sizes, in granules, and frees those of them that are
/// negative.
template <class A>
std::function<void(Pool<A>&, std::vector<void*>&)> layout(std::vector<int> sizes) {
    return [sizes](Pool<A>& pool, std::vector<void*>& blocks) {
        for (const int s : sizes) {
            blocks.push_back(pool.prepare(bytes_of<A>(static_cast<unsigned>(s < 0 ? -s : s))));
        }
        for (std::size_t i = sizes.size(); i-- > 0;) {
            if (sizes[i] < 0) pool.prepare_free(blocks[i]);
        }
    };
}

/// Scenarios of two threads.
template <class A>
std::vector<Scenario<A>> two_threads() {
    using P = Pool<A>;
    using B = const std::vector<void*>&;
    constexpr std::size_t one = bytes_of<A>(1);
    constexpr std::size_t two = bytes_of<A>(2);
    constexpr std::size_t four = bytes_of<A>(4);
    return {
        {"both take and give back",
         4,
         layout<A>({}),
         {[](P& p, B) { p.free(p.allocate(one)); }, [](P& p, B) { p.free(p.allocate(two)); }}},
        {"a block's rest is taken while its place was used before",
         4,
         layout<A>({}),
         {[](P& p, B) {
              p.free(p.allocate(four));
              p.allocate(one);
          },
          [](P& p, B) { p.allocate(one); }}},
        {"a traversal meets a header that was merged and overwritten",
         4,
         layout<A>({1, -1, 1, 1}),
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(two);
          },
          [](P& p, B) { p.free(p.allocate(one)); }}},
        {"neighbours are freed",
         4,
         layout<A>({1, 1, 1, 1}),
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[2]);
          },
          [](P& p, B b) {
              p.free(b[1]);
              p.allocate(two);
          }}},
        {"blocks change hands",
         4,
         layout<A>({1, -3}),
         {[](P& p, B b) {
              p.give(0, b[0]);
              p.give(1, p.allocate(one));
              p.allocate(one);
          },
          [](P& p, B) {
              p.free(p.take(1));
              p.free(p.take(0));
              p.allocate(two);
          }}},
        {"a full pool becomes whole",
         4,
         layout<A>({1, 1, 1, 1}),
         {[](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
              p.free(b[2]);
          },
          [](P& p, B b) {
              p.free(b[3]);
              p.allocate(four);
          }}},
        {"a predecessor is split as it is merged with",
         4,
         layout<A>({-2, 1, 1}),
         {[](P& p, B b) {
              p.free(b[1]);
              p.allocate(two);
          },
          [](P& p, B) {
              void* first = p.allocate(one);
              p.allocate(one);
              p.free(first);
          }}},
        {"a chunk is split, merged and split elsewhere",
         5,
         layout<A>({-1, 1, -1, 1, -1}),
         {[](P& p, B b) {
              p.free(b[1]);
              p.allocate(two);
          },
          [](P& p, B b) {
              p.allocate(one);
              p.free(b[3]);
          }}},
    };
}

/// Two threads, neither of which may be refused what it asks for: there is always enough for both.
template <class A>
Scenario<A> enough_for_both() {
    using P = Pool<A>;
    using B = const std::vector<void*>&;
    constexpr std::size_t one = bytes_of<A>(1);
    return {"there is enough for both",
            4,
            layout<A>({1, -1, -1, 1}),
            {[](P& p, B) {
                 p.free(p.must_allocate(one));
                 p.must_allocate(one);
             },
             [](P& p, B) { p.free(p.must_allocate(one)); }}};
}

/// Scenarios of three threads.
template <class A>
std::vector<Scenario<A>> three_threads() {
    using P = Pool<A>;
    using B = const std::vector<void*>&;
    constexpr std::size_t one = bytes_of<A>(1);
    constexpr std::size_t two = bytes_of<A>(2);
    return {
        {"three take",
         3,
         layout<A>({}),
         {[](P& p, B) { p.allocate(one); }, [](P& p, B) { p.allocate(one); },
          [](P& p, B) { p.allocate(one); }}},
        {"three neighbours are freed",
         4,
         layout<A>({1, 1, 1, -1}),
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[1]); },
          [](P& p, B b) { p.free(b[2]); }}},
        {"one frees, one merges, one takes",
         4,
         layout<A>({1, -1, 1, -1}),
         {[](P& p, B b) { p.free(b[0]); }, [](P& p, B b) { p.free(b[2]); },
          [](P& p, B) { p.allocate(two); }}},
        {"a merged header meets two traversals",
         3,
         layout<A>({1, -1, 1}),
         {[](P& p, B b) {
              p.free(b[0]);
              p.allocate(two);
          },
          [](P& p, B) { p.allocate(one); }, [](P& p, B b) { p.free(b[2]); }}},
    };
}

}  // namespace heapwood::tests::explorer
