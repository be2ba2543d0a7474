/// @file
/// Batches that are stopped: no thread begins another block of rays.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "kdtree/rays/ray_batch.h"
#include "tests/kdtree/oracle_builder.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

/// Rays that a thread takes at a time (ray_batch.cpp).
constexpr std::uint64_t kBlock = 256;

/// Rays in memory that tells, by faults, which of its pages are read, and requests a stop as the
/// first ray of one is. One object at a time.
class WatchedRays {
public:
    explicit WatchedRays(std::uint64_t count) : bytes_(count * sizeof(Ray)) {
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory_ == MAP_FAILED) throw std::runtime_error("no memory");
        const Ray ray{.origin = {0, 0, -1}, .direction = {0, 0, 1}, .t_min = 0, .t_max = 10};
        std::uninitialized_fill_n(static_cast<Ray*>(memory_), count, ray);
        watched = this;
        struct sigaction action {};
        action.sa_sigaction = [](int, siginfo_t* info, void*) { watched->fault(info->si_addr); };
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &before_);
    }
    WatchedRays(const WatchedRays&) = delete;
    WatchedRays& operator=(const WatchedRays&) = delete;
    ~WatchedRays() {
        sigaction(SIGSEGV, &before_, nullptr);
        munmap(memory_, bytes_);
    }

    const Ray* data() const { return static_cast<const Ray*>(memory_); }
    /// Of a stop that is requested when the page of that ray is read, for the `pass`-th time
    /// from 1.
    std::stop_token stop_at(std::uint64_t ray, unsigned pass) {
        stop_page_ = page_of(ray);
        passes_left_ = pass;
        mprotect(memory_, bytes_, PROT_NONE);
        return source_.get_token();
    }
    /// Whether the stop was requested, and no page after those of that block was read then.
    bool stopped_in_block(std::uint64_t block) const {
        return source_.stop_requested() && last_page_ <= page_of((block + 1) * kBlock - 1);
    }

private:
    static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
    static std::uint64_t page_of(std::uint64_t ray) { return ray * sizeof(Ray) / page_bytes(); }

    void fault(void* address) {
        auto* const begin = static_cast<char*>(memory_);
        const auto offset = static_cast<std::uint64_t>(static_cast<char*>(address) - begin);
        if (offset >= bytes_) {  // no ray: the next time it is as without a handler
            sigaction(SIGSEGV, &before_, nullptr);
            return;
        }
        const std::uint64_t page = offset / page_bytes();
        // Rays are read in order, so a page before the last one that was read begins a pass.
        if (page < last_page_) mprotect(begin, bytes_, PROT_NONE);
        mprotect(begin + page * page_bytes(), page_bytes(), PROT_READ);
        last_page_ = page;
        if (page == stop_page_ && --passes_left_ == 0) source_.request_stop();
        // The pass that follows is to be seen, too.
        if (page == page_of(bytes_ / sizeof(Ray) - 1))
            mprotect(begin, page * page_bytes(), PROT_NONE);
    }

    static inline WatchedRays* watched = nullptr;

    std::uint64_t bytes_;
    void* memory_;
    struct sigaction before_ {};
    std::stop_source source_;
    std::uint64_t stop_page_ = 0;
    std::uint64_t last_page_ = 0;
    unsigned passes_left_ = 0;
};

class RayStop : public testing::Test {
protected:
    static constexpr std::uint64_t kBlocks = 8;
    static constexpr std::uint64_t kRays = kBlocks * kBlock;
    /// In the middle of a block.
    static constexpr std::uint64_t kStopBlock = 2;
    static constexpr std::uint64_t kStopRay = kStopBlock * kBlock + kBlock / 2;

    const scenes::Scene scene_ = fan(3);
    const RayTree tree_{oracle_tree(scene_, {}), scene_};
    WatchedRays rays_{kRays};
};

TEST_F(RayStop, EndsABatchWithItsBlock) {
    std::vector<std::uint32_t> counts(kRays, 77);
    count_hits(tree_, rays_.data(), kRays, counts.data(),
               {.threads = 1, .stop = rays_.stop_at(kStopRay, 1)});
    EXPECT_TRUE(rays_.stopped_in_block(kStopBlock));
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 77U),
              static_cast<std::ptrdiff_t>((kBlocks - kStopBlock - 1) * kBlock));
}

TEST_F(RayStop, EndsFirstHitsWithTheirBlock) {
    std::vector<Hit> hits(kRays);
    closest_hits(tree_, rays_.data(), kRays, hits.data(),
                 {.threads = 1, .stop = rays_.stop_at(kStopRay, 1)});
    EXPECT_TRUE(rays_.stopped_in_block(kStopBlock));
}

TEST_F(RayStop, EndsPacketsWithTheirBlock) {
    std::vector<std::uint32_t> found(kRays);
    any_hits(tree_, rays_.data(), kRays, found.data(),
             {.coherent = true, .threads = 1, .stop = rays_.stop_at(kStopRay, 1)});
    EXPECT_TRUE(rays_.stopped_in_block(kStopBlock));
}

TEST_F(RayStop, LeavesNoHitsWhileTheyAreCounted) {
    const HitLists lists =
        all_hits(tree_, rays_.data(), kRays, {.threads = 1, .stop = rays_.stop_at(kStopRay, 1)});
    EXPECT_TRUE(rays_.stopped_in_block(kStopBlock));
    EXPECT_EQ(lists.total, 0U);
    EXPECT_EQ(lists.hits.size(), 0U);
}

/// All hits are counted, and there is room for them; some are listed.
TEST_F(RayStop, LeavesNoHitsWhileTheyAreListed) {
    const HitLists lists =
        all_hits(tree_, rays_.data(), kRays, {.threads = 1, .stop = rays_.stop_at(kStopRay, 2)});
    EXPECT_TRUE(rays_.stopped_in_block(kStopBlock));
    EXPECT_EQ(lists.total, 0U);
    EXPECT_EQ(lists.hits.size(), 0U);
}

/// In the last block: too late to spare work, and the hits are none all the same.
TEST_F(RayStop, LeavesNoHitsInTheLastBlock) {
    const HitLists lists =
        all_hits(tree_, rays_.data(), kRays, {.threads = 1, .stop = rays_.stop_at(kRays - 1, 2)});
    EXPECT_TRUE(rays_.stopped_in_block(kBlocks - 1));
    EXPECT_EQ(lists.total, 0U);
}

TEST_F(RayStop, OneThatIsNotRequestedChangesNothing) {
    const HitLists lists =
        all_hits(tree_, rays_.data(), kRays, {.threads = 1, .stop = rays_.stop_at(kStopRay, 3)});
    EXPECT_FALSE(rays_.stopped_in_block(kStopBlock));
    EXPECT_EQ(lists.total, 3 * kRays);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
