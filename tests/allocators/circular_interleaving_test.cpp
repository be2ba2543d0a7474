/// @file
/// The circular allocators' core under interleavings that threads seldom produce: every call is
/// stalled at its dangerous points while others run there from beginning to end, and are stalled
/// in turn. All in one thread, so that a seed reproduces a run, and a plain map knows the truth.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <vector>

#include "allocators/cfmalloc.cuh"
#include "allocators/cfmmalloc.cuh"
#include "allocators/cmalloc.cuh"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

/// A policy with a hook where a thread may be stalled.
template <class Policy>
struct Hooked : Policy {
    /// Whoever is stalled here stays so until the caller returns: no patience would be enough.
    static constexpr std::uint32_t kPatience = 100;
    static constexpr std::uint32_t kPersistence = 100;
    /// Cuts for others as often as there is room.
    static constexpr std::uint32_t kCrowd = 1;
    static constexpr std::uint32_t kGranulesPerRefuge = 16;
    static inline std::function<void()> hook;
    static void pause() {
        if (hook) hook();
    }
};

/// A policy whose chunks merge both ways.
template <class Policy>
struct Backward : Policy {
    static constexpr bool kBackward = true;
};

/// A pool, the blocks that should be in it, and calls that interrupt one another.
template <class Policy>
class World {
    using HookedPolicy = Hooked<Policy>;
    using HookedMalloc = allocators::circular::CircularMalloc<HookedPolicy>;
    static_assert(allocators::Allocator<HookedMalloc>);

public:
    World(std::uint64_t pool, std::uint64_t largest_request, std::uint64_t seed)
        : allocator_({.bytes = pool, .largest_request = largest_request, .multiprocessors = 3}),
          ref_(allocator_.ref()),
          dice_{seed} {}
    ~World() { HookedPolicy::hook = nullptr; }

    /// Runs about so many calls, then frees what is left.
    void run(unsigned calls) {
        calls_left_ = calls;
        HookedPolicy::hook = [this] { interrupt(); };
        while (calls_left_ > 0 && !::testing::Test::HasFailure()) call();
        while (!live_.empty()) free_one();
        HookedPolicy::hook = nullptr;
    }

    HookedMalloc& allocator() { return allocator_; }
    unsigned interrupts() const { return interrupts_; }

private:
    struct Contents {
        std::uint64_t bytes;
        std::vector<std::uint32_t> words;
    };

    void interrupt() {
        if (depth_ == 4 || dice_.below(3) != 0) return;
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
        const std::uint64_t bytes = dice_.size(allocator_.pool_bytes() / 2);
        void* p = ref_.allocate(
            {static_cast<std::uint32_t>(dice_.below(3)), static_cast<std::uint32_t>(dice_.next())},
            bytes);
        if (p == nullptr) return;
        const auto begin = reinterpret_cast<std::uintptr_t>(p);
        expect_apart(live_, begin, bytes);
        // A block in the middle of being freed is its former owner's until the call returns.
        expect_apart(dying_, begin, bytes);
        Contents c{bytes, std::vector<std::uint32_t>(bytes / 4)};
        for (std::uint32_t& word : c.words) word = hostile_word();
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
        ref_.deallocate({}, p, contents.bytes);
        dying_.erase(begin);
    }

    /// What would do most harm if it were read as a header.
    std::uint32_t hostile_word() {
        using namespace allocators::circular;
        const auto anywhere = static_cast<std::uint32_t>(dice_.below(1024));
        switch (dice_.below(4)) {
            case 0:
                return 0;
            case 1:
                return FusedHeaders::encode({kFree, anywhere});
            case 2:
                return FusedHeaders::encode({kUsed, anywhere});
            default:
                return static_cast<std::uint32_t>(dice_.next());
        }
    }

    void expect_apart(const std::map<std::uintptr_t, Contents>& blocks, std::uintptr_t begin,
                      std::uint64_t bytes) {
        const auto after = blocks.lower_bound(begin);
        if (after != blocks.end()) {
            EXPECT_LE(begin + bytes, after->first);
        }
        if (after != blocks.begin()) {
            const auto before = std::prev(after);
            EXPECT_LE(before->first + before->second.bytes, begin);
        }
    }

    HookedMalloc allocator_;
    typename HookedMalloc::Ref ref_;
    Dice dice_;
    std::map<std::uintptr_t, Contents> live_;
    std::map<std::uintptr_t, Contents> dying_;
    unsigned calls_left_ = 0;
    unsigned depth_ = 0;
    unsigned interrupts_ = 0;
};

template <class Policy>
class CircularInterleaving : public ::testing::Test {};
using Policies =
    ::testing::Types<allocators::CMallocPolicy, allocators::CFMallocPolicy,
                     Backward<allocators::CMallocPolicy>, Backward<allocators::CFMMallocPolicy>>;
TYPED_TEST_SUITE(CircularInterleaving, Policies);

TYPED_TEST(CircularInterleaving, StalledCallsHarmNobody) {
    const std::uint64_t seed = test_seed();
    unsigned interrupts = 0;
    for (std::uint64_t i = 0; i < 150 && !this->HasFailure(); ++i) {
        const std::uint64_t pool = i % 3 == 0 ? 4096 : i % 3 == 1 ? 10000 : 40000;
        World<TypeParam> world(pool, i % 2 == 0 ? 0 : pool / 4, seed + i);
        world.run(2000);
        interrupts += world.interrupts();
        std::uint64_t bytes = 0;
        world.allocator().for_each_region([&](const allocators::Region& r) {
            EXPECT_FALSE(r.allocated);
            bytes += r.size;
        });
        EXPECT_EQ(bytes, world.allocator().pool_bytes());
        EXPECT_NE(world.allocator().ref().allocate({}, world.allocator().pool_bytes()), nullptr)
            << "the pool does not become whole again; world " << i;
    }
    EXPECT_GT(interrupts, 10000U);
}

}  // namespace

}  // namespace heapwood::tests
