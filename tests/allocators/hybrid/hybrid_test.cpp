/// @file
/// What sets Hybrid apart: blocks that are kept in callers' caches or shared, opened, closed and
/// returned, and the blocks of a whole conformance suite in caches that threads share.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "allocators/hybrid.cuh"
#include "tests/allocators/bodies.h"
#include "tests/allocators/cached.h"
#include "tests/allocators/subjects.h"
#include "tests/seed.h"

namespace heapwood::tests {

namespace {

using allocators::CallerCache;
using allocators::Context;
using allocators::Hybrid;
using allocators::PoolConfig;
using allocators::Region;

[[maybe_unused]] const bool hybrid_variants_are_enlisted =
    enlist<Cached<Hybrid>, SerialMachine>("cached_hybrid") &&
    enlist<Cached<Hybrid>, LockstepMachine>("cached_hybrid");

/// A pool of 128 blocks of 512 bytes, and what one thread does to it as several callers. The first
/// two callers have a cache each; the last of the eight for whom the pool is made has none.
class HybridTest : public ::testing::Test {
protected:
    static constexpr std::uint64_t kBlock = 512;
    static constexpr std::uint64_t kPool = 128 * kBlock;

    Context cached(unsigned i) { return {0, i, &caches_[i]}; }
    static Context bare(unsigned i = 7) { return {0, i, nullptr}; }

    void flush_all() {
        for (unsigned i = 0; i < caches_.size(); ++i) ref_.flush(cached(i));
    }

    /// Blocks that the walk calls allocated, by their numbers.
    std::set<std::uint64_t> allocated() const {
        std::set<std::uint64_t> blocks;
        std::uint64_t end = 0;
        pool_.for_each_region([&](const Region& r) {
            EXPECT_EQ(r.offset, end);
            end += r.size;
            if (!r.allocated) return;
            for (std::uint64_t b = r.offset / kBlock; b < end / kBlock; ++b) blocks.insert(b);
        });
        EXPECT_EQ(end, pool_.pool_bytes());
        return blocks;
    }
    std::uint64_t block_of(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - begin_) / kBlock;
    }
    void expect_whole(const Context& context) {
        void* all = ref_.allocate(context, kPool);
        EXPECT_EQ(all, begin_) << "the pool is not whole";
        ref_.deallocate(context, all, kPool);
    }

    Hybrid pool_{PoolConfig{.bytes = kPool, .callers = 8}};
    Hybrid::Ref ref_ = pool_.ref();
    const char* begin_ = [this] {
        void* all = ref_.allocate(bare(), kPool);
        ref_.deallocate(bare(), all, kPool);
        return static_cast<const char*>(all);
    }();
    std::array<CallerCache, 2> caches_{};
};

TEST_F(HybridTest, CutsACallersPiecesFromItsOwnBlock) {
    void* first = ref_.allocate(cached(0), 40);
    void* other = ref_.allocate(cached(1), 40);
    void* second = ref_.allocate(cached(0), 1);
    void* third = ref_.allocate(cached(0), kBlock / 2);
    EXPECT_EQ(static_cast<char*>(second), static_cast<char*>(first) + 48);
    EXPECT_EQ(static_cast<char*>(third), static_cast<char*>(second) + 16);
    EXPECT_NE(block_of(other), block_of(first));
    EXPECT_EQ(allocated(), (std::set{block_of(first), block_of(other)}));
    EXPECT_EQ(ref_.granted_bytes(first, 40), 48U);
    EXPECT_EQ(ref_.granted_bytes(third, kBlock / 2), kBlock / 2);

    // Both halves of a pair as well, and neither counts if both do not fit.
    void* pair[2];
    ASSERT_TRUE(ref_.allocate_pair(cached(0), {100, 17}, pair));
    EXPECT_EQ(static_cast<char*>(pair[0]), static_cast<char*>(third) + kBlock / 2);
    EXPECT_EQ(static_cast<char*>(pair[1]), static_cast<char*>(pair[0]) + 112);
    ref_.deallocate(bare(), pair[0], 100);
    ref_.deallocate(bare(), pair[1], 17);

    ref_.deallocate(bare(), first, 40);
    ref_.deallocate(bare(), second, 1);
    ref_.deallocate(bare(), third, kBlock / 2);
    EXPECT_EQ(allocated().count(block_of(first)), 1U) << "open yet";
    ref_.flush(cached(0));
    EXPECT_EQ(allocated(), std::set{block_of(other)});
    ref_.deallocate(cached(0), other, 40);
    ref_.flush(cached(1));
    EXPECT_TRUE(allocated().empty());
    EXPECT_EQ(caches_[0].words[0] | caches_[1].words[0], 0U);
    EXPECT_EQ(caches_[0].words[1] | caches_[1].words[1], 0U);
    expect_whole(bare());
}

TEST_F(HybridTest, GivesRunsOfBlocksAboveHalfABlock) {
    void* run = ref_.allocate(cached(0), kBlock / 2 + 1);
    EXPECT_EQ(caches_[0].words[0], 0U);
    EXPECT_EQ(ref_.granted_bytes(run, kBlock / 2 + 1) % kBlock, 0U);
    EXPECT_EQ(allocated().size(), ref_.granted_bytes(run, kBlock / 2 + 1) / kBlock);
    EXPECT_TRUE(allocated().contains(block_of(run)));
    ref_.deallocate(bare(), run, kBlock / 2 + 1);
    EXPECT_TRUE(allocated().empty());
}

TEST_F(HybridTest, KeepsASpareBlockAndReturnsASecond) {
    // Two blocks, of which each is full after two pieces; the third stays open.
    std::array<void*, 5> p{};
    for (void*& piece : p) piece = ref_.allocate(cached(0), kBlock / 2);
    const std::uint64_t first = block_of(p[0]);
    const std::uint64_t second = block_of(p[2]);
    EXPECT_EQ(allocated(), (std::set{first, second, block_of(p[4])}));
    for (unsigned i = 0; i < 4; ++i) ref_.deallocate(cached(0), p[i], kBlock / 2);
    EXPECT_EQ(allocated(), (std::set{first, block_of(p[4])})) << "one is the caller's spare";

    // The spare is opened next, and is no spare any more.
    ref_.deallocate(cached(0), ref_.allocate(cached(0), kBlock / 2), kBlock / 2);
    void* next = ref_.allocate(cached(0), kBlock / 2);
    EXPECT_EQ(block_of(next), first);
    EXPECT_EQ(caches_[0].words[1], 0U);
    ref_.deallocate(cached(0), next, kBlock / 2);
    ref_.deallocate(cached(0), p[4], kBlock / 2);
    EXPECT_EQ(allocated(), (std::set{first, block_of(p[4])})) << "one open, one spare";
    flush_all();
    EXPECT_TRUE(allocated().empty());
    expect_whole(bare());
}

TEST_F(HybridTest, SharesOpenBlocksAmongCallersWithoutACache) {
    // A cache that is lent to a caller beyond those for whom there are blocks is not used.
    void* first = ref_.allocate(bare(1), 16);
    void* second = ref_.allocate(Context{0, 1U << 20 | 1U, caches_.data()}, 16);
    EXPECT_EQ(static_cast<char*>(second), static_cast<char*>(first) + 16);
    ref_.flush(Context{0, 1U << 20, caches_.data()});
    EXPECT_EQ(caches_[0].words[0], 0U);
    EXPECT_NE(block_of(ref_.allocate(bare(2), 16)), block_of(first)) << "the load is spread";
}

TEST_F(HybridTest, CallsSharedBlocksWithoutPiecesFree) {
    std::vector<void*> p;
    for (unsigned w = 0; w < 8; ++w) p.push_back(ref_.allocate(bare(w), 16));
    EXPECT_EQ(allocated().size(), 8U);
    EXPECT_EQ(ref_.allocate(bare(), kPool), nullptr);
    for (unsigned w = 0; w < 8; ++w) {
        EXPECT_EQ(allocated().size(), 8 - w);
        ref_.deallocate(bare(w / 2), p[w], 16);
    }
    EXPECT_TRUE(allocated().empty());
    // They are open still.
    void* again = ref_.allocate(bare(3), 16);
    EXPECT_EQ(static_cast<char*>(again), static_cast<char*>(p[3]) + 16);
    EXPECT_EQ(allocated(), std::set{block_of(again)});
    ref_.deallocate(bare(), again, 16);
    expect_whole(bare());
    EXPECT_TRUE(allocated().empty());
}

TEST_F(HybridTest, ClosesIdleSharedBlocksForCallersWithACache) {
    for (unsigned w = 0; w < 8; ++w) ref_.deallocate(bare(w), ref_.allocate(bare(w), 16), 16);
    expect_whole(cached(0));
    flush_all();

    // The last block of the pool is one that is open and idle.
    ref_.deallocate(bare(1), ref_.allocate(bare(1), 16), 16);
    std::vector<void*> runs;
    while (allocated().size() < kPool / kBlock - 1) {
        runs.push_back(ref_.allocate(bare(), kBlock));
        ASSERT_NE(runs.back(), nullptr);
    }
    void* piece = ref_.allocate(cached(0), 16);
    EXPECT_NE(piece, nullptr) << "a block is free";
    ref_.deallocate(bare(), piece, 16);
    for (void* run : runs) ref_.deallocate(bare(), run, kBlock);
    flush_all();
    EXPECT_TRUE(allocated().empty());
}

TEST_F(HybridTest, ForgetsOpenBlocksOnReset) {
    ref_.allocate(bare(1), 16);
    pool_.reset();
    EXPECT_TRUE(allocated().empty());
    void* piece = ref_.allocate(bare(1), 16);
    EXPECT_EQ(allocated(), std::set{block_of(piece)});
    ref_.deallocate(bare(1), piece, 16);
    expect_whole(bare());
}

TEST_F(HybridTest, ReturnsABlockByWhateverComesLast) {
    // Three pieces are freed and the block is closed, by a flush or for want of room, in any order.
    for (const bool flushed : {true, false}) {
        std::array<unsigned, 4> order{0, 1, 2, 3};
        do {
            std::array<void*, 3> p{};
            for (void*& piece : p) piece = ref_.allocate(cached(0), 100);
            const std::uint64_t block = block_of(p[0]);
            EXPECT_EQ(block_of(p[2]), block);
            void* other = nullptr;
            for (const unsigned step : order) {
                EXPECT_EQ(allocated().count(block), 1U) << "returned too early";
                if (step < 3) {
                    ref_.deallocate(bare(), p[step], 100);
                } else if (flushed) {
                    ref_.flush(cached(0));
                } else {
                    other = ref_.allocate(cached(0), kBlock / 2);
                    EXPECT_NE(block_of(other), block);
                }
            }
            // If it was closed last, the caller who did so may keep it.
            if (!flushed && order[3] == 3) {
                EXPECT_EQ(caches_[0].words[1], block + 1);
            } else {
                EXPECT_EQ(allocated().count(block), 0U) << "not returned";
            }
            ref_.flush(cached(0));
            ref_.deallocate(bare(), other, kBlock / 2);
            ASSERT_TRUE(allocated().empty());
        } while (std::ranges::next_permutation(order).found);
    }
    expect_whole(bare());
}

TEST(Hybrid, SizesItsBlocksByPoolAndCallers) {
    const auto block = [](std::uint64_t pool, std::uint32_t callers) {
        const Hybrid h(PoolConfig{.bytes = pool, .callers = callers});
        const auto ref = h.ref();
        // The smallest request that is not cut from a block is of half a block and a byte, and the
        // walk shows the blocks of pieces.
        ref.allocate({0, 0}, 1);
        std::uint64_t bytes = 0;
        h.for_each_region([&](const Region& r) { bytes += r.allocated ? r.size : 0; });
        return bytes;
    };
    EXPECT_EQ(block(std::uint64_t{1} << 30, 1), 32768U) << "no larger than that";
    EXPECT_EQ(block(32 << 20, 1), 32768U);
    EXPECT_EQ(block(8 << 20, 1), 8192U);
    EXPECT_EQ(block(4 << 20, 1), 4096U) << "1024 blocks";
    EXPECT_EQ(block(64 << 20, 4096), 4096U) << "three for each caller";
    EXPECT_EQ(block(64 << 20, 16384), 1024U);
    EXPECT_EQ(block(64 << 20, 1 << 20), 512U) << "no smaller than that";
    EXPECT_EQ(block(16384, 1), 512U);
}

/// Random requests of five callers, against a plain list of what is in use.
TEST_F(HybridTest, AgreesWithAModel) {
    struct Piece {
        std::uint64_t bytes;
        unsigned char stamp;
    };
    Dice dice{test_seed()};
    std::map<char*, Piece> live;
    const auto caller = [&] {
        const auto i = static_cast<unsigned>(dice.below(5));
        return i < 2 ? cached(i) : bare(i);
    };
    /// Blocks in which there is a live piece.
    const auto in_use = [&] {
        std::set<std::uint64_t> blocks;
        for (const auto& [p, piece] : live) {
            for (std::uint64_t b = block_of(p);
                 b * kBlock <
                 static_cast<std::uint64_t>(p - begin_) + ref_.granted_bytes(p, piece.bytes);
                 ++b) {
                blocks.insert(b);
            }
        }
        return blocks;
    };
    const auto receive = [&](void* data, std::uint64_t bytes) {
        auto* p = static_cast<char*>(data);
        const std::uint64_t granted = ref_.granted_bytes(p, bytes);
        ASSERT_GE(granted, bytes);
        ASSERT_EQ(static_cast<std::uint64_t>(p - begin_) % allocators::kAlignment, 0U);
        const auto after = live.lower_bound(p);
        if (after != live.end()) {
            ASSERT_LE(p + granted, after->first) << "overlap";
        }
        if (after != live.begin()) {
            const auto before = std::prev(after);
            ASSERT_LE(before->first + ref_.granted_bytes(before->first, before->second.bytes), p);
        }
        const auto stamp = static_cast<unsigned char>(dice.next());
        std::memset(p, stamp, bytes);
        live[p] = {bytes, stamp};
    };
    std::uint64_t refused = 0;
    for (unsigned i = 0; i < 20000 && !HasFailure(); ++i) {
        // Now more is asked for, now more is freed.
        const std::uint64_t frees = 2 + i / 500 % 2 * 3;
        if (dice.below(7) < frees && !live.empty()) {
            auto it = std::next(live.begin(), static_cast<std::ptrdiff_t>(dice.below(live.size())));
            const auto [p, piece] = *it;
            ASSERT_TRUE(std::all_of(p, p + piece.bytes, [stamp = piece.stamp](char c) {
                return static_cast<unsigned char>(c) == stamp;
            })) << "a payload has changed";
            live.erase(it);
            ref_.deallocate(caller(), p, piece.bytes);
        } else if (dice.below(4) != 0) {
            const std::uint64_t bytes = dice.size(8 * kBlock);
            if (void* p = ref_.allocate(caller(), bytes)) {
                receive(p, bytes);
            } else {
                ++refused;
            }
        } else {
            const std::size_t bytes[2] = {dice.size(2 * kBlock), dice.size(2 * kBlock)};
            void* pair[2];
            const bool given = ref_.allocate_pair(caller(), bytes, pair);
            for (unsigned k = 0; k < 2; ++k) {
                ASSERT_EQ(pair[k] != nullptr, given);
                if (given) receive(pair[k], bytes[k]);
            }
        }
        if (i % 50 != 0) continue;
        const auto shown = allocated();
        const auto used = in_use();
        EXPECT_TRUE(std::ranges::includes(shown, used)) << "a block in use is called free";
        EXPECT_LE(shown.size(), used.size() + 4) << "each cache keeps two blocks at most";
        if (i % 100 != 0) continue;
        flush_all();
        ASSERT_EQ(allocated(), used);
        // What there is room for can be had.
        std::uint64_t run = 0;
        std::uint64_t longest = 0;
        for (std::uint64_t b = 0; b < kPool / kBlock; ++b) {
            run = used.contains(b) ? 0 : run + 1;
            longest = std::max(longest, run);
        }
        if (longest == 0) continue;
        const Context context = caller();
        void* p = ref_.allocate(context, longest * kBlock);
        EXPECT_NE(p, nullptr) << longest << " blocks are free";
        ref_.deallocate(context, p, longest * kBlock);
    }
    EXPECT_GT(refused, 0U) << "the pool should have been full now and then";
    for (const auto& [p, piece] : live) ref_.deallocate(caller(), p, piece.bytes);
    flush_all();
    EXPECT_TRUE(allocated().empty());
    expect_whole(bare());
}

}  // namespace

}  // namespace heapwood::tests
