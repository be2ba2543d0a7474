/// @file
/// BulkAlloc's requests by lanes that act together, on a CPU: in this file alone all lanes of a
/// warp that have not returned form one group.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#define Lanes UngroupedLanes
#include "allocators/platform/lanes.cuh"
#undef Lanes

namespace heapwood::tests {

namespace {

constexpr unsigned kLanes = 32;

/// A warp whose lanes meet at every step.
struct MeetingWarp {
    std::barrier<> barrier{kLanes};
    std::array<bool, kLanes> active{};
    std::array<std::uint64_t, kLanes> values{};
};
MeetingWarp* warp = nullptr;
thread_local unsigned lane = 0;

}  // namespace

}  // namespace heapwood::tests

namespace heapwood::platform {

/// As the real one; a thread without a warp is alone.
class Lanes {
public:
    template <class... Key>
    explicit Lanes(const Key&...) {
        if (tests::warp == nullptr) return;
        meet();
        for (leader_ = 0; !tests::warp->active[leader_];) ++leader_;
        count_ = 0;
        for (unsigned i = 0; i < tests::kLanes; ++i) {
            if (i == tests::lane) rank_ = count_;
            if (tests::warp->active[i]) ++count_;
        }
    }

    unsigned count() const { return count_; }
    unsigned rank() const { return rank_; }
    template <class T>
    T of_leader(T v) const {
        if (tests::warp == nullptr) return v;
        tests::warp->values[tests::lane] = v;
        meet();
        const auto of_leader = static_cast<T>(tests::warp->values[leader_]);
        meet();
        return of_leader;
    }
    void sync() const {
        if (tests::warp != nullptr) meet();
    }

private:
    static void meet() { tests::warp->barrier.arrive_and_wait(); }

    unsigned count_ = 1;
    unsigned rank_ = 0;
    unsigned leader_ = 0;
};

}  // namespace heapwood::platform

#include "allocators/bulkalloc.cuh"

namespace heapwood::tests {

namespace {

using allocators::BulkAlloc;
using allocators::Context;

/// One block by each lane of a warp.
std::vector<void*> request_together(const BulkAlloc::Ref& ref, std::size_t bytes) {
    MeetingWarp all;
    all.active.fill(true);
    warp = &all;
    std::vector<void*> blocks(kLanes);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kLanes; ++i) {
        threads.emplace_back([&, i] {
            lane = i;
            blocks[i] = ref.allocate({}, bytes);
            all.active[i] = false;
            all.barrier.arrive_and_drop();
        });
    }
    for (std::thread& t : threads) t.join();
    warp = nullptr;
    return blocks;
}

/// A group gets the blocks of one bin at a time, the lanes one after the other.
TEST(BulkAllocLanes, AllGetBlocksThatLieInDifferentBins) {
    constexpr std::size_t kBytes = 64;
    constexpr std::uintptr_t kApart = 4096;
    const BulkAlloc pool({.bytes = 1 << 20, .callers = kLanes});
    const auto ref = pool.ref();
    std::vector<void*> used;
    while (void* p = ref.allocate({}, kBytes)) used.push_back(p);
    unsigned freed = 0;
    std::uintptr_t last = 0;
    for (void* p : used) {
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        if (freed == kLanes || at / kApart == last / kApart) continue;
        ref.deallocate({}, p, kBytes);
        last = at;
        ++freed;
    }
    ASSERT_EQ(freed, kLanes);
    for (const void* p : request_together(ref, kBytes)) EXPECT_NE(p, nullptr);
    EXPECT_EQ(ref.allocate({}, kBytes), nullptr) << "there were more free blocks";
    for (const void* p : request_together(ref, kBytes)) EXPECT_EQ(p, nullptr);
}

}  // namespace

}  // namespace heapwood::tests
