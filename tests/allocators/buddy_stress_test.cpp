/// @file
/// The buddy allocator with calls that are stalled at its dangerous points. First in one thread,
/// where every stalled call is interrupted by others, from beginning to end, which are stalled in
/// turn: a seed reproduces a run, and a plain map knows the truth. Then in many, for the thread
/// sanitizer above all.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <thread>

#include "allocators/buddy.cuh"
#include "tests/allocators/fixture.h"
#include "tests/allocators/subjects.h"

namespace heapwood::tests {

namespace {

/// A policy with a hook where a thread may be stalled.
struct Hooked {
    /// Whoever is stalled here stays so until the caller returns: no patience would be enough.
    static constexpr std::uint32_t kPatience = 2;
    static inline std::function<void()> hook;
    static void pause() {
        if (hook) hook();
    }
};

/// A pool, the blocks that should be in it, and calls that interrupt one another.
class World {
public:
    using HookedBuddy = allocators::BasicBuddy<Hooked>;
    static_assert(allocators::Allocator<HookedBuddy>);

    World(std::uint64_t pool, std::uint32_t callers, std::uint64_t seed)
        : allocator_({.bytes = pool, .callers = callers}), ref_(allocator_.ref()), dice_{seed} {}
    ~World() { Hooked::hook = nullptr; }

    /// Runs about so many calls, then frees what is left.
    void run(unsigned calls) {
        calls_left_ = calls;
        Hooked::hook = [this] { interrupt(); };
        while (calls_left_ > 0 && !::testing::Test::HasFailure()) call();
        while (!live_.empty()) free_one();
        Hooked::hook = nullptr;
    }

    HookedBuddy& allocator() { return allocator_; }
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

    void allocate_one() {
        const std::uint64_t bytes = dice_.size(allocator_.pool_bytes());
        const allocators::Context context{0, static_cast<std::uint32_t>(dice_.next()),
                                          dice_.below(2) == 0 ? &cache_ : nullptr};
        void* p = ref_.allocate(context, bytes);
        if (p == nullptr) return;
        ++given_;
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        const std::uint64_t size = ref_.granted_bytes(p, bytes);
        expect_apart(live_, begin, size);
        // A block in the middle of being freed may be given anew, but not before its bits are set.
        expect_apart(dying_, begin, size);
        live_.emplace(begin, bytes);
    }

    void free_one() {
        auto it = std::next(live_.begin(), static_cast<std::ptrdiff_t>(dice_.below(live_.size())));
        const auto [begin, bytes] = *it;
        live_.erase(it);
        dying_.emplace(begin, bytes);
        ref_.deallocate({}, reinterpret_cast<void*>(begin), bytes);
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

    HookedBuddy allocator_;
    HookedBuddy::Ref ref_;
    Dice dice_;
    allocators::CallerCache cache_{};
    Blocks live_;
    Blocks dying_;
    unsigned calls_left_ = 0;
    unsigned depth_ = 0;
    unsigned interrupts_ = 0;
    unsigned given_ = 0;
};

TEST(BuddyInterleaving, StalledCallsHarmNobody) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    unsigned given = 0;
    for (std::uint64_t i = 0; i < 150 && !HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 4096 : i % 3 == 1 ? 16384 : 65536;
        World world(pool, static_cast<std::uint32_t>(1 + i % 7), seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        given += world.given();
        unsigned regions = 0;
        world.allocator().for_each_region([&](const allocators::Region& r) {
            EXPECT_FALSE(r.allocated);
            ++regions;
        });
        EXPECT_EQ(regions, 1U) << "the pool does not become whole again; world " << i;
        EXPECT_NE(world.allocator().ref().allocate({}, pool), nullptr) << "world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
    EXPECT_GT(given, 50000U);
}

/// A policy that stops one thread at its n-th step, and in which requests have all patience.
struct Stopping {
    static constexpr std::uint32_t kPatience = ~0U;
    static inline thread_local unsigned steps_left = 0;
    static inline std::function<void()> stop;
    static void pause() {
        if (steps_left > 0 && --steps_left == 0) stop();
    }
};

TEST(BuddyMoves, AreNotTakenForAFullPool) {
    using StoppingBuddy = allocators::BasicBuddy<Stopping>;
    for (unsigned step = 1; step <= 3; ++step) {
        StoppingBuddy a({.bytes = 4096, .callers = 4});
        const auto r = a.ref();
        for (int i = 0; i < 7; ++i) ASSERT_NE(r.allocate({}, 512), nullptr);
        // One unit of 512 bytes is left. While the first request has it in its hands, nobody sees
        // it; but the second knows that something is under way.
        std::atomic<bool> stopped{false};
        std::atomic<bool> asking{false};
        Stopping::stop = [&] {
            stopped = true;
            while (!asking) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        void* first = nullptr;
        std::thread splitter([&] {
            Stopping::steps_left = step;
            first = r.allocate({0, 1}, 16);
        });
        while (!stopped) std::this_thread::yield();
        asking = true;
        void* second = r.allocate({0, 2}, 16);
        splitter.join();
        EXPECT_NE(first, nullptr) << "stopped at step " << step;
        EXPECT_NE(second, nullptr) << "stopped at step " << step;
        EXPECT_NE(first, second);
    }
}

/// A policy whose threads now and then yield or sleep where that may hurt.
struct Stalling : allocators::BuddyPolicy {
    static void pause() {
        static std::atomic<std::uint64_t> threads{0};
        thread_local Dice dice{++threads};
        const std::uint64_t roll = dice.below(4096);
        if (roll < 128) std::this_thread::yield();
        if (roll == 4095) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
};
using StallingBuddy = allocators::BasicBuddy<Stalling>;

[[maybe_unused]] const bool kEnlisted = enlist<StallingBuddy, SerialMachine>("stalling_buddy");

}  // namespace

using BuddyStress = AllocatorTest<Subject<StallingBuddy, SerialMachine>>;

TEST_F(BuddyStress, TinyPools) {
    const std::uint64_t seed = test_seed();
    for (const std::uint64_t bytes : {4096U, 16384U, 131072U}) {
        auto a = make(bytes);
        Array<Block> slots(kThreads * kSlots);
        Array<Tally> tally(kThreads);
        Machine::run(kWarps, ChurnBody<Ref>{a->ref(), slots.data(), kSlots, 5000, bytes / 8, seed,
                                            kMultiprocessors, tally.data(), nullptr});
        const Tally sum = expect_sound(tally);
        EXPECT_GT(sum.requests - sum.failed, sum.requests / 4);
        expect_pool_holds(*a, slots);
        release_shuffled(*a, slots, seed);
        expect_empty(*a);
        EXPECT_NE(request(*a, {a->pool_bytes()})[0].data, nullptr);
    }
}

}  // namespace heapwood::tests
