/// @file
/// Lanes that act together, step by step: two lanes of a warp, which form groups or do not, and
/// another thread, in every allocator whose lanes do so. The allocators' own scenarios have the
/// rest.
///
/// A thread that could go on is interrupted once at most.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocators/bulkalloc.cuh"
#include "allocators/cambium.cuh"
#include "allocators/dynasoar.cuh"
#include "allocators/flatterscatter.cuh"
#include "allocators/gallatin.cuh"
#include "allocators/halloc.cuh"
#include "allocators/kma.cuh"
#include "allocators/llvm_libc.cuh"
#include "allocators/ouroboros.cuh"
#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer::lanes_scenarios {

namespace {

/// Less patience, and fewer tries, than would be good for anything but a short exploration. Lanes
/// always act for one another.
template <class Base>
struct ShortPolicy : Base {
    static constexpr std::uint32_t kPatience = 1;
    static constexpr std::uint32_t kRounds = 3;
    static constexpr std::uint32_t kTries = 1;
    static constexpr std::uint32_t kLooks = 2;
    static constexpr std::uint32_t kRetries = 2;
    static constexpr std::uint32_t kStretches = 1;
    static constexpr std::uint32_t kStretchesTogether = 1;
    static bool is_crowded() { return true; }
};

/// Two pools of A as one: sizes that are no multiple of 16 are for the second one.
template <class A>
class TwoPools {
public:
    struct Ref {
        void* allocate(const allocators::Context& context, std::size_t bytes) const {
            return of(bytes).allocate(context, bytes);
        }
        void deallocate(const allocators::Context& context, void* p, std::size_t bytes) const {
            of(bytes).deallocate(context, p, bytes);
        }
        std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return of(bytes).granted_bytes(p, bytes);
        }
        const typename A::Ref& of(std::size_t bytes) const { return pools[bytes % 16 != 0]; }

        typename A::Ref pools[2];
    };

    static constexpr allocators::Traits traits() { return A::traits(); }

    explicit TwoPools(const allocators::PoolConfig& config) : first_(config), second_(config) {}

    Ref ref() const { return {first_.ref(), second_.ref()}; }
    std::uint64_t pool_bytes() const { return first_.pool_bytes() + second_.pool_bytes(); }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        first_.for_each_region(visit);
        second_.for_each_region([&](allocators::Region r) {
            r.offset += first_.pool_bytes();
            visit(r);
        });
    }

private:
    A first_;
    A second_;
};

constexpr std::size_t kPiece = 64;
/// The same class, of the second pool.
constexpr std::size_t kOther = 60;

using B = const std::vector<void*>&;

constexpr const char* kOfAnother = "both ask for what another thread frees";

template <class A>
struct Scenario {
    using P = Pool<TwoPools<A>>;

    const char* name;
    std::vector<std::size_t> taken;                   ///< blocks that are there from the beginning
    std::vector<std::function<void(P&, B)>> threads;  ///< the first two are lanes of a warp
};

template <class A>
std::vector<Scenario<A>> scenarios() {
    using P = typename Scenario<A>::P;
    const auto ask = [](P& p, B) { p.must_allocate(kPiece); };
    const auto ask_other = [](P& p, B) { p.must_allocate(kOther); };
    const auto use = [](P& p, B) { p.free(p.must_allocate(kPiece)); };
    const auto free = [](unsigned i) { return [i](P& p, B b) { p.free(b[i]); }; };
    return {
        {"both ask in a fresh pool", {}, {ask, ask}},
        {"both ask", {kPiece}, {ask, ask, free(0)}},
        {kOfAnother,
         {kPiece, kPiece},
         {ask, ask,
          [](P& p, B b) {
              p.free(b[0]);
              p.free(b[1]);
          }}},
        {"both free", {kPiece, kPiece}, {free(0), free(1), ask}},
        {"both free pieces of three", {kPiece, kPiece, kPiece}, {free(0), free(1), free(2)}},
        {"both use a piece", {}, {use, use}},
        {"each asks a pool of its own", {kOther}, {ask, ask_other}},
        {"each asks a pool of its own, as another thread does", {kOther}, {ask, ask_other, ask}},
        {"each frees to a pool of its own", {kPiece, kOther, kOther}, {free(0), free(1), free(2)}},
        {"one frees what the other lane has got",
         {},
         {[](P& p, B) { p.give(0, p.must_allocate(kPiece)); },
          [](P& p, B) {
              p.must_allocate(kPiece);
              p.free(p.take(0));
          }}},
    };
}

template <class A>
Result run(const Scenario<A>& s, const Bounds& bounds, const Mutation& mutation = {}) {
    using P = typename Scenario<A>::P;
    Expectations expectations;
    expectations.exact = false;  // regions that blocks share
    expectations.whole = false;  // there are two
    P pool({.bytes = A::traits().smallest_pool}, expectations);
    std::vector<void*> taken;
    for (const std::size_t bytes : s.taken) taken.push_back(pool.prepare(bytes));
    std::vector<typename P::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](P& p) { t(p, taken); });
    Program program = pool.program(threads);
    program.warps = {0, 0, 1};
    return explore(program, bounds, mutation);
}

template <class Base>
struct Ouroboros : ShortPolicy<Base> {
    static constexpr unsigned kPatience = 2;
    static constexpr std::uint32_t kNeighbours = 1;
};

using DynaSOAr = allocators::BasicDynaSOAr<ShortPolicy<allocators::DynaSOArPolicy>>;
using Kma = allocators::BasicKma<ShortPolicy<allocators::KmaPolicy>>;
using LlvmLibc = allocators::BasicLlvmLibc<ShortPolicy<allocators::LlvmLibcPolicy>>;

using Allocators =
    ::testing::Types<allocators::BasicBulkAlloc<ShortPolicy<allocators::BulkAllocPolicy>>,
                     allocators::BasicCambium<ShortPolicy<allocators::CambiumPolicy>>, DynaSOAr,
                     allocators::BasicFlatterScatter<ShortPolicy<allocators::FlatterScatterPolicy>>,
                     allocators::BasicGallatin<ShortPolicy<allocators::GallatinPolicy>>,
                     allocators::BasicHalloc<ShortPolicy<allocators::HallocPolicy>>, Kma, LlvmLibc,
                     allocators::ouroboros::Pool<Ouroboros<allocators::OuroborosPSPolicy>>,
                     allocators::ouroboros::Pool<Ouroboros<allocators::OuroborosCSPolicy>>>;

struct Names {
    template <class A>
    static std::string GetName(int) {
        std::string name = A::traits().name;
        std::erase(name, '-');
        return name;
    }
};

template <class A>
class GroupsExplorer : public ::testing::Test {};
TYPED_TEST_SUITE(GroupsExplorer, Allocators, Names);

TYPED_TEST(GroupsExplorer, IsSound) {
    for (const auto& s : scenarios<TypeParam>()) {
        expect_nothing_found(run(s, {.preemptions = 1, .stale_reads = 1, .steps = 6000}), s.name);
    }
}

/// Leaves out each sync of a group, one at a time. @return how often that is found
template <class A>
unsigned missing_syncs_found() {
    constexpr Bounds kBounds{.preemptions = 1, .stale_reads = 1, .steps = 6000};
    std::vector<Scenario<A>> all = scenarios<A>();
    std::erase_if(all, [](const auto& s) { return std::string_view(s.name) != kOfAnother; });
    Places places;
    for (const auto& s : all) {
        for (const Place& p : run(s, kBounds).places) {
            if (p.operation == "sync") places.try_emplace({p.file, p.line}, p);
        }
    }
    const auto broken = [&](const Mutation& m) {
        return first_broken(all, [&](const auto& s) { return run(s, kBounds, m); });
    };
    return break_each(places, broken, {Fault::no_acquire})[Fault::no_acquire];
}

/// A lane uses a piece that another thread has freed before, and of which its leader has learned.
TEST(GroupsExplorerFaults, FindsMissingSyncs) {
    EXPECT_EQ(missing_syncs_found<DynaSOAr>(), 1U);
    EXPECT_EQ(missing_syncs_found<Kma>(), 1U);
    EXPECT_EQ(missing_syncs_found<LlvmLibc>(), 1U);
}

}  // namespace

}  // namespace heapwood::tests::explorer::lanes_scenarios
