/// @file
/// Tests of ArrayPool: single rules, and random use beside an oracle that knows every chunk.
#include "allocators/memory/array_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/seed.h"

namespace heapwood::allocators {
namespace {

using Block = ArrayPool::Block;
constexpr std::uint64_t kChunk = ArrayPool::kChunk;

std::uintptr_t address(const Block& block) {
    return reinterpret_cast<std::uintptr_t>(block.data());
}

TEST(ArrayPool, StartsWithNothing) {
    const ArrayPool pool(Place::host);
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
    EXPECT_EQ(pool.free_blocks(), 0U);
    EXPECT_EQ(pool.largest_free_bytes(), 0U);
}

TEST(ArrayPool, NoBytesAreAnEmptyBlock) {
    ArrayPool pool(Place::host);
    Block block = pool.request(0);
    EXPECT_EQ(block.data(), nullptr);
    EXPECT_EQ(block.size(), 0U);
    block.write(0, nullptr, 0);
    EXPECT_EQ(pool.statistics().requests, 0U);
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
}

TEST(ArrayPool, BlocksAreAlignedAndHoldWhatIsWritten) {
    ArrayPool pool(Place::host);
    std::vector<Block> blocks;
    for (const std::uint64_t bytes : {1, 255, 256, 257, 1000, 1 << 19}) {
        Block& block = blocks.emplace_back(pool.request(bytes));
        EXPECT_EQ(address(block) % kChunk, 0U);
        EXPECT_EQ(block.size(), bytes);
        block.fill(0, static_cast<unsigned char>(blocks.size()), bytes);
        const char last = 'z';
        block.write(bytes - 1, &last, 1);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        std::vector<unsigned char> bytes(blocks[i].size());
        blocks[i].read(0, bytes.data(), bytes.size());
        EXPECT_EQ(std::count(bytes.begin(), bytes.end() - 1, static_cast<unsigned char>(i + 1)),
                  static_cast<std::ptrdiff_t>(bytes.size() - 1));
        EXPECT_EQ(bytes.back(), 'z');
        EXPECT_EQ(std::memcmp(blocks[i].data(), bytes.data(), bytes.size()), 0);
    }
}

TEST(ArrayPool, AccessOutsideABlockIsRefusedThoughTheSlabGoesOn) {
    ArrayPool pool(Place::host);
    pool.reserve(10 * kChunk);
    Block block = pool.request(100);
    char bytes[101] = {};
    EXPECT_THROW(block.read(0, bytes, 101), BufferError);
    EXPECT_THROW(block.write(100, bytes, 1), BufferError);
    EXPECT_THROW(block.fill(101, 0, UINT64_MAX), BufferError);
    EXPECT_THROW(Block().read(0, bytes, 1), BufferError);
}

TEST(ArrayPool, AMovedBlockIsReturnedOnce) {
    ArrayPool pool(Place::host);
    Block a = pool.request(kChunk);
    const std::uintptr_t where = address(a);
    Block b(std::move(a));
    EXPECT_EQ(address(b), where);
    Block c = pool.request(5 * kChunk);
    EXPECT_EQ(pool.statistics().live_bytes, 6 * kChunk);
    c = std::move(b);
    EXPECT_EQ(address(c), where);
    c = Block();
    b = Block();
    EXPECT_EQ(pool.statistics().live_bytes, 0U);
    EXPECT_EQ(pool.statistics().peak_live_bytes, 6 * kChunk);
}

TEST(ArrayPool, TheSmallestBlockThatFitsIsTaken) {
    ArrayPool pool(Place::host);
    pool.reserve(100 * kChunk);
    // Free: runs of 4, 2 and 3 chunks between blocks in use, and the rest.
    std::vector<Block> blocks;
    for (const unsigned n : {4U, 1U, 2U, 1U, 3U, 1U}) blocks.push_back(pool.request(n * kChunk));
    const std::uintptr_t start = address(blocks[0]);
    for (const unsigned i : {0U, 2U, 4U}) blocks[i] = Block();
    ASSERT_EQ(pool.free_blocks(), 4U);
    const Block two = pool.request(2 * kChunk);
    EXPECT_EQ(address(two), start + 5 * kChunk);
    const Block three = pool.request(2 * kChunk + 1);
    EXPECT_EQ(address(three), start + 8 * kChunk);
    const Block one = pool.request(1);
    EXPECT_EQ(address(one), start);
    const Block other_three = pool.request(3 * kChunk);
    EXPECT_EQ(address(other_three), start + kChunk);
    EXPECT_EQ(pool.largest_free_bytes(), 88 * kChunk);
    EXPECT_EQ(pool.free_blocks(), 1U);
}

TEST(ArrayPool, ReturnedBlocksMergeWithBothNeighbours) {
    // All orders in which four adjacent blocks can be returned.
    std::vector<unsigned> order{0, 1, 2, 3};
    do {
        ArrayPool pool(Place::host);
        pool.reserve(8 * kChunk);
        std::vector<Block> blocks;
        for (unsigned i = 0; i < 4; ++i) blocks.push_back(pool.request(2 * kChunk));
        EXPECT_EQ(pool.free_blocks(), 0U);
        for (const unsigned i : order) blocks[i] = Block();
        EXPECT_EQ(pool.free_blocks(), 1U);
        EXPECT_EQ(pool.largest_free_bytes(), 8 * kChunk);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(ArrayPool, SlabsGrowByTwo) {
    ArrayPool pool(Place::host);
    std::vector<Block> blocks;
    blocks.push_back(pool.request(3 * kChunk));
    EXPECT_EQ(pool.statistics().slab_bytes, 3 * kChunk);
    blocks.push_back(pool.request(kChunk));  // 6 chunks more
    EXPECT_EQ(pool.statistics().slab_bytes, 9 * kChunk);
    blocks.push_back(pool.request(6 * kChunk));  // 12 more
    EXPECT_EQ(pool.statistics().slab_bytes, 21 * kChunk);
    blocks.push_back(pool.request(100 * kChunk));  // as many as are asked for
    EXPECT_EQ(pool.statistics().slab_bytes, 121 * kChunk);
    blocks.push_back(pool.request(7 * kChunk));  // 200 more
    EXPECT_EQ(pool.statistics().slab_bytes, 321 * kChunk);
    EXPECT_EQ(pool.statistics().requests, 5U);
    EXPECT_EQ(pool.statistics().grown, 5U);
    blocks.push_back(pool.request(193 * kChunk));
    EXPECT_EQ(pool.statistics().grown, 5U);
    EXPECT_EQ(pool.statistics().peak_slab_bytes, 321 * kChunk);
}

TEST(ArrayPool, TrimGivesBackSlabsWithoutUsers) {
    ArrayPool pool(Place::host);
    Block a = pool.request(kChunk);
    Block b = pool.request(2 * kChunk);
    Block c = pool.request(3 * kChunk);  // and a chunk that stays free
    b = Block();
    pool.trim();
    EXPECT_EQ(pool.statistics().slab_bytes, 5 * kChunk);
    EXPECT_EQ(pool.free_blocks(), 1U);
    a = Block();
    c = Block();
    EXPECT_EQ(pool.free_blocks(), 2U);
    pool.reset_peak();
    EXPECT_EQ(pool.statistics().peak_slab_bytes, 5 * kChunk);
    EXPECT_EQ(pool.statistics().peak_live_bytes, 0U);
    pool.trim();
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
    EXPECT_EQ(pool.statistics().peak_slab_bytes, 5 * kChunk);
}

TEST(ArrayPool, KeepingNothingReturnsEveryBlock) {
    ArrayPool pool(Place::host, ArrayPool::Keep::nothing);
    pool.reserve(100 * kChunk);
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
    for (int i = 0; i < 3; ++i) {
        const Block a = pool.request(100);
        const Block b = pool.request(1 << 20);
        EXPECT_EQ(pool.statistics().slab_bytes, kChunk + (1 << 20));
        EXPECT_EQ(pool.statistics().live_bytes, kChunk + (1 << 20));
        EXPECT_NE(address(a), address(b));
    }
    EXPECT_EQ(pool.statistics().slab_bytes, 0U);
    EXPECT_EQ(pool.statistics().requests, 6U);
    EXPECT_EQ(pool.statistics().grown, 6U);
    EXPECT_EQ(pool.free_blocks(), 0U);
}

TEST(ArrayPool, MoreThanThereIsIsRefusedAndChangesNothing) {
    for (const ArrayPool::Keep keep : {ArrayPool::Keep::slabs, ArrayPool::Keep::nothing}) {
        ArrayPool pool(Place::host, keep);
        const Block a = pool.request(1000);
        const ArrayPool::Statistics before = pool.statistics();
        for (const std::uint64_t bytes : {UINT64_MAX, UINT64_MAX - 300, std::uint64_t{1} << 62}) {
            EXPECT_THROW(pool.request(bytes), BufferError) << bytes;
            EXPECT_EQ(pool.reserve(bytes), keep == ArrayPool::Keep::nothing);
        }
        try {
            pool.request(std::uint64_t{1} << 62, "the stars");
        } catch (const BufferError& error) {
            EXPECT_EQ(std::string(error.what()).find("the stars: "), 0U) << error.what();
            EXPECT_NE(std::string(error.what()).find("4611686018427387904 bytes"),
                      std::string::npos)
                << error.what();
        }
        EXPECT_EQ(pool.statistics().live_bytes, before.live_bytes);
        EXPECT_EQ(pool.statistics().slab_bytes, before.slab_bytes);
        EXPECT_NE(pool.request(1000).data(), nullptr);
    }
}

TEST(ArrayPool, WhatIsNeededIsHadWhereTwiceTheLastSlabIsNot) {
    ArrayPool pool(Place::host);
    // More than half of what can be mapped, as none of it is touched: doubled, it is refused.
    std::uint64_t bytes = 0;
    for (unsigned bit = 47; bit > 20 && bytes == 0; --bit) {
        if (pool.reserve(std::uint64_t{1} << bit)) bytes = std::uint64_t{1} << bit;
    }
    if (bytes < std::uint64_t{1} << 30) GTEST_SKIP() << "memory is too short to tell";
    {
        const Block all = pool.request(bytes);
        const Block more = pool.request(kChunk);
        EXPECT_EQ(pool.statistics().slab_bytes, bytes + kChunk);
    }
    try {
        const Block most = pool.request(bytes + kChunk);  // in place of what nobody uses
    } catch (const BufferError&) {
        pool.trim();
        Buffer alone;
        EXPECT_THROW(alone = Buffer(Place::host, bytes + kChunk), BufferError)
            << "there was room once the slabs had been given back";
    }
}

/// Every chunk of every slab, as a string: '.' free, else in use. Finds what best fit must take by
/// looking at all of it. Slabs are known by where they lie.
class Oracle {
public:
    /// Size of the smallest free run of at least n chunks.
    std::optional<std::uint64_t> best(std::uint64_t n) const {
        std::optional<std::uint64_t> smallest;
        for_each_run([&](std::uintptr_t, std::uint64_t size) {
            if (size >= n && (!smallest || size < *smallest)) smallest = size;
        });
        return smallest;
    }
    std::uint64_t runs() const {
        std::uint64_t n = 0;
        for_each_run([&](std::uintptr_t, std::uint64_t) { ++n; });
        return n;
    }
    std::uint64_t run_at(std::uintptr_t from) const {
        std::uint64_t found = 0;
        for_each_run([&](std::uintptr_t start, std::uint64_t size) {
            if (start <= from && from < start + size * kChunk) found = size;
        });
        return found;
    }
    void add_slab(std::uintptr_t at, std::uint64_t chunks) {
        slabs_[at] = std::string(chunks, '.');
    }
    /// False if a chunk of the block is not `now` or lies in no slab.
    bool change(std::uintptr_t at, std::uint64_t chunks, char now, char then) {
        auto slab = slabs_.upper_bound(at);
        if (slab == slabs_.begin()) return false;
        --slab;
        const std::uint64_t index = (at - slab->first) / kChunk;
        if (index + chunks > slab->second.size()) return false;
        for (std::uint64_t i = index; i < index + chunks; ++i) {
            if (std::exchange(slab->second[i], then) != now) return false;
        }
        return true;
    }
    std::size_t slabs() const { return slabs_.size(); }

private:
    template <class F>
    void for_each_run(F f) const {
        for (const auto& [at, chunks] : slabs_) {
            for (std::size_t i = chunks.find('.'); i != chunks.npos; i = chunks.find('.', i)) {
                const std::size_t end = std::min(chunks.find('#', i), chunks.size());
                f(at + i * kChunk, end - i);
                i = end;
            }
        }
    }
    std::map<std::uintptr_t, std::string> slabs_;
};

TEST(ArrayPool, RandomUseAgreesWithAnOracle) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    const auto below = [&random](std::uint64_t n) { return random() % n; };
    for (int round = 0; round < 20; ++round) {
        ArrayPool pool(Place::host);
        Oracle oracle;
        std::vector<Block> blocks;
        std::uint64_t live = 0;
        std::uint64_t peak = 0;
        const std::uint64_t most = 1 + below(40);
        for (int step = 0; step < 600; ++step) {
            if (below(2) == 0 && !blocks.empty()) {
                const std::size_t i = below(blocks.size());
                const std::uint64_t chunks = (blocks[i].size() + kChunk - 1) / kChunk;
                ASSERT_TRUE(oracle.change(address(blocks[i]), chunks, '#', '.'));
                live -= chunks;
                std::swap(blocks[i], blocks.back());
                blocks.pop_back();
            } else {
                const std::uint64_t bytes = 1 + below(most * kChunk);
                const std::uint64_t chunks = (bytes + kChunk - 1) / kChunk;
                const ArrayPool::Statistics before = pool.statistics();
                const std::optional<std::uint64_t> best = oracle.best(chunks);
                const Block& block = blocks.emplace_back(pool.request(bytes));
                const ArrayPool::Statistics after = pool.statistics();
                ASSERT_EQ(after.grown > before.grown, !best.has_value());
                if (best) {
                    ASSERT_EQ(oracle.run_at(address(block)), *best);
                } else {
                    oracle.add_slab(address(block),
                                    (after.slab_bytes - before.slab_bytes) / kChunk);
                }
                ASSERT_TRUE(oracle.change(address(block), chunks, '.', '#')) << "overlap";
                live += chunks;
                peak = std::max(peak, live);
            }
            ASSERT_EQ(pool.free_blocks(), oracle.runs());
            ASSERT_EQ(pool.statistics().live_bytes, live * kChunk);
            ASSERT_EQ(pool.statistics().peak_live_bytes, peak * kChunk);
        }
        blocks.clear();
        EXPECT_EQ(pool.free_blocks(), oracle.slabs());
        EXPECT_EQ(pool.statistics().live_bytes, 0U);
    }
}

}  // namespace
}  // namespace heapwood::allocators
