/// @file
/// The published circular allocators in one thread: what they do as they should, and how they go
/// wrong, step by step: a request is stalled at each of its points in turn while other calls run
/// there from beginning to end. The sound forms take the same steps unharmed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "allocators/specimens/cfmalloc_published.cuh"
#include "allocators/specimens/cmalloc_published.cuh"
#include "tests/allocators/specimens/published_stress.h"

namespace heapwood::tests {

namespace {

using allocators::CFMallocPublished;
using allocators::CMallocPublished;
using allocators::Region;

struct Piece {
    std::uint64_t bytes;
    bool allocated;
    bool operator==(const Piece&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Piece& p) {
    return out << p.bytes << (p.allocated ? " used" : " free");
}

template <class A>
std::vector<Piece> pieces(const A& a) {
    std::vector<Piece> all;
    a.for_each_region([&](const Region& r) { all.push_back({r.size, r.allocated}); });
    return all;
}

TEST(Published, HeadersAreOfThePublishedSize) {
    CMallocPublished c({.bytes = 4096});
    CFMallocPublished cf({.bytes = 4096});
    EXPECT_EQ(c.ref().granted_bytes(c.ref().allocate({}, 56), 56), 64U);
    EXPECT_EQ(c.ref().granted_bytes(c.ref().allocate({}, 57), 57), 80U);
    EXPECT_EQ(cf.ref().granted_bytes(cf.ref().allocate({}, 60), 60), 64U);
    EXPECT_EQ(cf.ref().granted_bytes(cf.ref().allocate({}, 61), 61), 80U);
}

TEST(Published, PoolsAreBoundedByTheHeader) {
    const std::uint64_t gib = std::uint64_t{1} << 30;
    EXPECT_THROW(CMallocPublished({.bytes = 4 * gib + 1}), std::invalid_argument);
    EXPECT_THROW(CFMallocPublished({.bytes = 2 * gib + 1}), std::invalid_argument);
    EXPECT_THROW(CFMallocPublished({.bytes = 4095}), std::invalid_argument);
    CFMallocPublished a({.bytes = 2 * gib});
    EXPECT_EQ(a.pool_bytes(), 2 * gib - 16);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{2 * gib - 16, false}}));
    auto* p = static_cast<char*>(a.ref().allocate({}, 2 * gib - 20));
    ASSERT_NE(p, nullptr);
    p[2 * gib - 21] = 1;
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{2 * gib - 16, true}}));
}

template <class A>
class PublishedTest : public ::testing::Test {};
using Specimens = ::testing::Types<CMallocPublished, CFMallocPublished>;
TYPED_TEST_SUITE(PublishedTest, Specimens, FormNames);

TYPED_TEST(PublishedTest, SplitsWhatIsTwiceAsLarge) {
    TypeParam a({.bytes = 4096});
    const auto r = a.ref();
    void* p = r.allocate({}, 2048);  // with its header more than half: all of it
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % allocators::kAlignment, 0U);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{4096, true}}));
    EXPECT_EQ(r.allocate({}, 1), nullptr) << "a full pool";
    r.deallocate({}, p, 2048);
    p = r.allocate({}, 2040);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{2048, true}, {2048, false}}));
    EXPECT_EQ(r.allocate({}, 0), nullptr);
    EXPECT_EQ(r.allocate({}, 4096), nullptr);
    EXPECT_EQ(a.corrupt_walks(), 0U);
}

TYPED_TEST(PublishedTest, MergesWithOneSuccessor) {
    TypeParam a({.bytes = 4096});
    const auto r = a.ref();
    std::vector<void*> p;
    for (int i = 0; i < 5; ++i) p.push_back(r.allocate({}, 150));
    r.deallocate({}, p[2], 150);
    r.deallocate({}, p[1], 150);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{
                             {160, true}, {320, false}, {160, true}, {160, true}, {3296, false}}));
    r.deallocate({}, p[3], 150);
    r.deallocate({}, p[4], 150);
    EXPECT_EQ(pieces(a),
              (std::vector<Piece>{{160, true}, {320, false}, {160, false}, {3456, false}}));
    r.deallocate({}, p[0], 150);
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{480, false}, {160, false}, {3456, false}}));
    // From the hint, which is behind the chunk merged last: the 160 bytes do not do.
    EXPECT_EQ(r.allocate({}, 200), p[4]);
    a.reset();
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{4096, false}}));
}

TYPED_TEST(PublishedTest, IsSplitBeforehand) {
    const TypeParam a({.bytes = 65536, .largest_request = 32768});
    const std::uint64_t first = 32768 + 16;
    const std::uint64_t header = *TypeParam::traits().header_bytes;
    const auto second =
        static_cast<std::uint64_t>(0.8 * static_cast<double>(32768 + header)) / 16 * 16 + 16;
    EXPECT_EQ(pieces(a), (std::vector<Piece>{
                             {first, false}, {second, false}, {65536 - first - second, false}}));
}

TYPED_TEST(PublishedTest, AWalkFindsWhatIsNoHeader) {
    TypeParam a({.bytes = 4096});
    const auto r = a.ref();
    auto* p = static_cast<char*>(r.allocate({}, 100));
    std::uint32_t next = 0;
    std::memcpy(&next, p - 4, 4);  // the last word of either header
    for (const std::uint32_t wrong : {next + 1, next & (1U << 31), (next & (1U << 31)) | 8192U}) {
        std::memcpy(p - 4, &wrong, 4);
        EXPECT_THROW(pieces(a), std::logic_error) << wrong;
        r.deallocate({}, p, 100);
        if (wrong % 8192 != 0) {
            EXPECT_GT(a.corrupt_walks(), 0U);
        }
        a.reset();
        EXPECT_EQ(a.corrupt_walks(), 0U);
        r.allocate({}, 100);
    }
}

TYPED_TEST(PublishedTest, AWalkMissesTheSentinel) {
    TypeParam a({.bytes = 4096});
    const auto r = a.ref();
    auto* p = static_cast<char*>(r.allocate({}, 100));
    char* sentinel = p + 4096 - *TypeParam::traits().header_bytes;
    std::memset(sentinel, 0, *TypeParam::traits().header_bytes);
    EXPECT_THROW(pieces(a), std::logic_error);
    a.reset();
    EXPECT_EQ(pieces(a), (std::vector<Piece>{{4096, false}}));
}

/// A policy with a hook where a thread may be stalled.
template <class Policy>
struct Hooked : Policy {
    static inline std::function<void()> hook;
    static void pause() {
        if (hook) hook();
    }
};

template <class A>
struct HookOf;
template <template <class> class Core, class Policy>
struct HookOf<Core<Policy>> {
    static std::function<void()>& hook() { return Policy::hook; }
};

/// One request for a chunk that is free when it sets out. At its pause number `first` it is
/// stalled; meanwhile the chunk in front is freed, which merges the two, and somebody is given the
/// whole pool and writes to it: zeroes, but `word` in the last word of every 16 bytes, where a
/// header's next would be. At pause number `second` of what remains of the request (0: never) that
/// owner writes other things. @return what is wrong afterwards; nothing is if the others were not
/// given the whole pool, because the request had gone too far.
template <class A>
Findings stalled_request(unsigned first, unsigned second, std::uint32_t word) {
    A a({.bytes = 4096});
    const auto r = a.ref();
    const std::uint64_t bytes = a.pool_bytes() - 16;
    const auto fill = [&](char* p, std::uint32_t other, std::uint32_t last) {
        for (std::uint64_t i = 0; i < bytes; i += 4)
            std::memcpy(p + i, i % 16 == 12 ? &last : &other, 4);
    };
    char* whole = nullptr;
    std::vector<char> wanted(bytes);

    void* in_front = r.allocate({}, 64);
    unsigned pauses = 0;
    bool others = false;  // are running, and not stalled themselves
    bool over = false;    // the first stall
    auto& hook = HookOf<A>::hook();
    hook = [&] {
        if (others) return;
        ++pauses;
        if (over) {
            if (pauses != second || whole == nullptr) return;
            fill(whole, 1, 1);
            fill(wanted.data(), 1, 1);
        } else if (pauses == first) {
            others = true;
            r.deallocate({}, in_front, 64);
            whole = static_cast<char*>(r.allocate({}, bytes));
            if (whole != nullptr) fill(whole, 0, word);
            fill(wanted.data(), 0, word);
            others = false;
            over = true;
            pauses = 0;
        }
    };
    const void* block = r.allocate({}, 64);
    hook = nullptr;

    Findings f;
    if (whole == nullptr) return f;
    f.runs = 1;
    f.overlaps = block != nullptr;
    f.corrupt = std::memcmp(whole, wanted.data(), bytes) != 0;
    if constexpr (requires { a.corrupt_walks(); }) f.walks = a.corrupt_walks();
    return f;
}

/// The same, with the request stalled at each of its first points.
template <class A>
Findings stalled_anywhere(std::uint32_t word, bool rewritten) {
    Findings sum;
    for (unsigned first = 1; first <= 8; ++first) {
        for (unsigned second = rewritten ? 1 : 0; second <= (rewritten ? 6 : 0); ++second) {
            sum += stalled_request<A>(first, second, word);
        }
    }
    EXPECT_GT(sum.runs, 0U) << "the others never had the pool";
    return sum;
}

/// The pool's end, which is where the sentinel's header is.
constexpr std::uint32_t kEnd = 4096;
/// A place in the pool so near to the chunk in question that nothing fits between.
constexpr std::uint32_t kNear = 96;
constexpr std::uint32_t kBeyond = 1U << 30;

template <class A>
class PublishedStepsTest : public ::testing::Test {};
TYPED_TEST_SUITE(PublishedStepsTest, PublishedForms<Hooked>, FormNames);

TYPED_TEST(PublishedStepsTest, GiveAPartOfAnothersBlock) {
    EXPECT_GT(stalled_anywhere<TypeParam>(0, false).overlaps, 0U) << "payload of zeroes";
    EXPECT_GT(stalled_anywhere<TypeParam>(kEnd, false).overlaps, 0U);
}

TYPED_TEST(PublishedStepsTest, OverwriteWhatAnotherWrites) {
    EXPECT_EQ(stalled_anywhere<TypeParam>(kNear, false).found(), 0U) << "marked, and unmarked";
    const Findings f = stalled_anywhere<TypeParam>(kNear, true);
    EXPECT_EQ(f.overlaps, 0U);
    EXPECT_GT(f.corrupt, 0U);
}

TYPED_TEST(PublishedStepsTest, LeaveThePool) {
    EXPECT_GT(stalled_anywhere<TypeParam>(kBeyond, false).walks, 0U);
    EXPECT_GT(stalled_anywhere<TypeParam>(kNear + 2, false).walks, 0U) << "no multiple of 16";
}

template <class A>
class SoundStepsTest : public ::testing::Test {};
TYPED_TEST_SUITE(SoundStepsTest, SoundForms<Hooked>, FormNames);

TYPED_TEST(SoundStepsTest, HarmNobody) {
    for (const std::uint32_t word : {0U, kEnd, kNear, kNear + 2, kBeyond}) {
        EXPECT_EQ(stalled_anywhere<TypeParam>(word, false).found(), 0U) << word;
        EXPECT_EQ(stalled_anywhere<TypeParam>(word, true).found(), 0U) << word;
    }
}

}  // namespace

}  // namespace heapwood::tests
