/// @file
/// What only the buddy allocator has (buddy_tree_test.cpp has its arithmetic): orders and places,
/// merging in every order of freeing, pools of odd and of large sizes, and a sequential
/// model that knows every block that must be there.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "allocators/buddy.cuh"
#include "allocators/memory/buffer.h"
#include "tests/allocators/bodies.h"
#include "tests/seed.h"

namespace heapwood::allocators {

namespace {

using tests::Dice;
using tests::test_seed;

/// {offset, size} of all regions of either kind.
std::map<std::uint64_t, std::uint64_t> regions(const Buddy& a, bool allocated) {
    std::map<std::uint64_t, std::uint64_t> all;
    std::uint64_t end = 0;
    a.for_each_region([&](const Region& r) {
        EXPECT_EQ(r.offset, end);
        end += r.size;
        if (r.allocated == allocated) all.emplace(r.offset, r.size);
    });
    EXPECT_EQ(end, a.pool_bytes());
    return all;
}

/// The pool as a set of allocated bytes' 16-byte units, with nothing of the allocator's structure.
class Model {
public:
    explicit Model(std::uint64_t bytes) : used_(bytes / 16) {}

    bool is_free(std::uint64_t offset, std::uint64_t size) const {
        if (offset + size > used_.size() * 16) return false;
        for (std::uint64_t u = offset / 16; u < (offset + size) / 16; ++u) {
            if (used_[u]) return false;
        }
        return true;
    }
    void set(std::uint64_t offset, std::uint64_t size, bool used) {
        for (std::uint64_t u = offset / 16; u < (offset + size) / 16; ++u) used_[u] = used;
    }
    bool has_free(std::uint64_t size) const {
        for (std::uint64_t at = 0; at < used_.size() * 16; at += size) {
            if (is_free(at, size)) return true;
        }
        return false;
    }
    /// The largest free blocks at multiples of their size.
    std::map<std::uint64_t, std::uint64_t> free_blocks() const {
        std::map<std::uint64_t, std::uint64_t> all;
        for (std::uint64_t at = 0; at < used_.size() * 16;) {
            std::uint64_t size = 16;
            if (is_free(at, size)) {
                while (at % (2 * size) == 0 && is_free(at, 2 * size)) size *= 2;
                all.emplace(at, size);
            }
            at += size;
        }
        return all;
    }

private:
    std::vector<bool> used_;
};

TEST(Buddy, GivesTheSmallestBlockAtAMultipleOfItsSize) {
    Buddy a({.bytes = 1 << 20});
    const auto r = a.ref();
    auto* base = static_cast<char*>(r.allocate({}, 1 << 20));
    ASSERT_NE(base, nullptr);
    r.deallocate({}, base, 1 << 20);
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t n = 1; n <= 1100; ++n) sizes.push_back(n);
    for (std::uint64_t n = 2048; n <= 1 << 20; n *= 2) sizes.insert(sizes.end(), {n - 1, n, n + 1});
    for (const std::uint64_t bytes : sizes) {
        auto* p = static_cast<char*>(r.allocate({}, bytes));
        if (bytes > 1 << 20) {
            EXPECT_EQ(p, nullptr);
            continue;
        }
        ASSERT_NE(p, nullptr) << bytes;
        const std::uint64_t size = std::bit_ceil(std::max<std::uint64_t>(bytes, 16));
        EXPECT_EQ(r.granted_bytes(p, bytes), size);
        EXPECT_TRUE(bytes < 16 || size < 2 * bytes) << "waste below one half";
        const auto offset = static_cast<std::uint64_t>(p - base);
        EXPECT_EQ(offset % size, 0U);
        EXPECT_EQ(regions(a, true), (std::map<std::uint64_t, std::uint64_t>{{offset, size}}));
        r.deallocate({}, p, bytes);
    }
}

TEST(Buddy, KeepsFourPerCentOfThePoolBesideIt) {
    for (std::uint64_t bytes = 1 << 16; bytes <= 1 << 26; bytes += bytes / 3) {
        EXPECT_LE(Buddy({.bytes = bytes}).overhead_bytes(), bytes / 25 + 600);
    }
    EXPECT_LE(Buddy({.bytes = 4096}).overhead_bytes(), 600U);
}

TEST(Buddy, UsesPoolsOfAnySizeInFull) {
    for (const std::uint64_t bytes : {4096U, 4112U, 5000U, 8176U, 16368U, 100001U, 524288U + 16U,
                                      (1U << 20) - 16U, 3333333U, 16U << 20, (16U << 20) + 4096U}) {
        Buddy a({.bytes = bytes, .callers = 64});
        const auto r = a.ref();
        EXPECT_EQ(a.pool_bytes(), bytes / 16 * 16);
        // The binary digits of its size, largest first, each at a multiple of itself.
        std::map<std::uint64_t, std::uint64_t> expected;
        for (std::uint64_t rest = a.pool_bytes(), at = 0; rest > 0;) {
            const std::uint64_t digit = std::bit_floor(rest);
            expected.emplace(at, digit);
            at += digit;
            rest -= digit;
        }
        EXPECT_EQ(regions(a, false), expected) << bytes;
        for (int round = 0; round < 3; ++round) {
            std::vector<std::pair<void*, std::uint64_t>> blocks;
            // In units, in pieces of its digits, and as its digits.
            for (const auto& [at, digit] : expected) {
                const std::uint64_t size = round == 0   ? std::min<std::uint64_t>(digit, 16)
                                           : round == 1 ? std::max<std::uint64_t>(digit / 4, 16)
                                                        : digit;
                for (std::uint64_t n = 0; n < digit / size; ++n) {
                    blocks.emplace_back(r.allocate({0, static_cast<std::uint32_t>(n)}, size), size);
                    ASSERT_NE(blocks.back().first, nullptr) << size << " of " << bytes;
                }
            }
            EXPECT_TRUE(regions(a, false).empty());
            EXPECT_EQ(regions(a, true).size(), blocks.size());
            EXPECT_EQ(r.allocate({}, 1), nullptr);
            for (const auto& [p, size] : blocks) r.deallocate({}, p, size);
            EXPECT_EQ(regions(a, false), expected) << bytes;
        }
    }
}

TEST(Buddy, MergesInEveryOrderOfFreeing) {
    // Eight blocks in one word; and blocks of ten sizes, which three levels share.
    const std::vector<std::vector<std::uint64_t>> cases{
        std::vector<std::uint64_t>(8, 512), {16, 16, 32, 64, 128, 256, 512, 1024, 2048}};
    for (const auto& sizes : cases) {
        Buddy a({.bytes = 4096});
        const auto r = a.ref();
        std::vector<std::size_t> order(sizes.size());
        std::iota(order.begin(), order.end(), 0);
        std::mt19937_64 shuffle(test_seed());
        const bool all = sizes.size() < 9;  // 8! orders, else some
        for (int i = 0; i < 40320; ++i) {
            std::vector<void*> p;
            for (const std::uint64_t size : sizes) p.push_back(r.allocate({}, size));
            for (void* block : p) ASSERT_NE(block, nullptr);
            for (const std::size_t j : order) {
                ASSERT_EQ(r.allocate({}, 4096), nullptr);
                r.deallocate({}, p[j], sizes[j]);
            }
            void* whole = r.allocate({}, 4096);
            ASSERT_NE(whole, nullptr);
            r.deallocate({}, whole, 4096);
            if (all) {
                std::next_permutation(order.begin(), order.end());
            } else {
                if (i == 2000) break;
                std::shuffle(order.begin(), order.end(), shuffle);
            }
        }
    }
}

TEST(Buddy, SplitsTheBlockThatHasNoFreeBuddy) {
    Buddy a({.bytes = 4096});
    const auto r = a.ref();
    std::array<char*, 8> p;
    for (char*& block : p) block = static_cast<char*>(r.allocate({}, 512));
    std::ranges::sort(p);
    for (const int i : {0, 1, 3, 4, 5, 6}) r.deallocate({}, p[static_cast<std::size_t>(i)], 512);
    // Free: [0, 1024), 3, [4, 6), 6. The single ones go first.
    std::vector<char*> next;
    for (int i = 0; i < 2; ++i) next.push_back(static_cast<char*>(r.allocate({}, 512)));
    std::ranges::sort(next);
    EXPECT_EQ(next, (std::vector<char*>{p[3], p[6]}));
    EXPECT_NE(r.allocate({}, 1024), nullptr);
    EXPECT_NE(r.allocate({}, 1024), nullptr);
}

TEST(Buddy, GoesOnWhereTheCallersCacheSays) {
    Buddy a({.bytes = 16 << 20, .callers = 1000});
    const auto r = a.ref();
    for (const std::uint64_t bytes : {16U, 512U}) {  // a unit of level 0, and one of level 1
        CallerCache cache{};
        // The cache is empty until the caller's home is full.
        char* first = nullptr;
        while (cache.words[0] == 0) first = static_cast<char*>(r.allocate({0, 1, &cache}, bytes));
        for (std::uint32_t warp = 2; warp < 10; ++warp) {
            auto* p = static_cast<char*>(r.allocate({0, warp * 100, &cache}, bytes));
            EXPECT_LT(std::abs(p - first), static_cast<std::ptrdiff_t>(4 * 32 * bytes)) << warp;
        }
    }
}

TEST(Buddy, SpreadsItsCallers) {
    Buddy a({.bytes = 64 << 20, .callers = 1000});
    const auto r = a.ref();
    std::vector<std::uintptr_t> words;
    for (std::uint32_t warp = 0; warp < 1000; ++warp) {
        words.push_back(reinterpret_cast<std::uintptr_t>(r.allocate({0, warp}, 16)) / 512);
    }
    std::ranges::sort(words);
    const auto same = std::unique(words.begin(), words.end());
    EXPECT_GT(std::distance(words.begin(), same), 700);
    EXPECT_LE((*std::prev(same) - words.front()) * 512, 16U << 20) << "a quarter of the pool";
}

TEST(Buddy, ReusesMemoryBeforeItSplitsMore) {
    Buddy a({.bytes = 64 << 20});
    const auto r = a.ref();
    Dice dice{test_seed()};
    struct Slot {
        void* data;
        std::uint64_t bytes;
    };
    std::vector<Slot> slots(256);
    std::set<std::uintptr_t> pages;
    for (int i = 0; i < 200000; ++i) {
        Slot& slot = slots[dice.below(slots.size())];
        if (slot.data != nullptr) {
            r.deallocate({}, slot.data, slot.bytes);
            slot.data = nullptr;
        } else {
            slot.bytes = dice.size(4096);
            slot.data = r.allocate({}, slot.bytes);
            ASSERT_NE(slot.data, nullptr);
            pages.insert(reinterpret_cast<std::uintptr_t>(slot.data) / 4096);
        }
    }
    // About 128 blocks of 700 bytes at a time.
    EXPECT_LT(pages.size() * 4096, 1U << 20) << "of a pool of 64 MiB";
}

TEST(Buddy, AgreesWithASequentialModel) {
    const std::uint64_t seed = test_seed();
    for (std::uint64_t run = 0; run < 40; ++run) {
        Dice dice{seed + run};
        // Up to 1 MiB: four levels.
        const std::uint64_t bytes = run % 4 == 0   ? 4096 + 16 * dice.below(300)
                                    : run % 4 == 3 ? 600000 + dice.below(400000)
                                                   : 16384 + 16 * dice.below(3000);
        Buddy a({.bytes = bytes, .callers = static_cast<std::uint32_t>(1 + dice.below(100))});
        const auto r = a.ref();
        Model model(a.pool_bytes());
        struct Live {
            char* data;
            std::uint64_t bytes;
        };
        std::vector<Live> live;
        auto* base = static_cast<char*>(r.allocate({}, 1));
        base -= regions(a, true).begin()->first;
        r.deallocate({}, static_cast<char*>(base) + regions(a, true).begin()->first, 1);
        CallerCache cache{};
        bool filling = true;
        for (int i = 0; i < 1500; ++i) {
            if (dice.below(200) == 0) filling = !filling;
            const Context context{0, static_cast<std::uint32_t>(dice.below(100)),
                                  dice.below(2) == 0 ? &cache : nullptr};
            if (live.empty() || dice.below(8) < (filling ? 5U : 3U)) {
                const std::uint64_t wanted = dice.size(dice.below(4) == 0 ? bytes : bytes / 16);
                const std::uint64_t size = std::bit_ceil(std::max<std::uint64_t>(wanted, 16));
                auto* p = static_cast<char*>(r.allocate(context, wanted));
                ASSERT_EQ(p != nullptr, model.has_free(size)) << wanted << " in " << bytes;
                if (p == nullptr) continue;
                const auto offset = static_cast<std::uint64_t>(p - base);
                ASSERT_EQ(offset % size, 0U);
                ASSERT_TRUE(model.is_free(offset, size));
                model.set(offset, size, true);
                live.push_back({p, wanted});
            } else {
                std::swap(live[dice.below(live.size())], live.back());
                const auto [p, wanted] = live.back();
                live.pop_back();
                r.deallocate(context, p, wanted);
                model.set(static_cast<std::uint64_t>(p - base),
                          std::bit_ceil(std::max<std::uint64_t>(wanted, 16)), false);
            }
            if (i % 50 != 0) continue;
            ASSERT_EQ(regions(a, false), model.free_blocks());
            std::map<std::uint64_t, std::uint64_t> expected;
            for (const auto& [p, wanted] : live) {
                expected.emplace(p - base, std::bit_ceil(std::max<std::uint64_t>(wanted, 16)));
            }
            ASSERT_EQ(regions(a, true), expected);
        }
    }
}

/// A pool of that many bytes, or nothing where the machine has no such address space.
std::optional<Buddy> large_pool(std::uint64_t bytes) {
    try {
        return Buddy({.bytes = bytes, .callers = 4000});
    } catch (const BufferError&) {
        return std::nullopt;
    }
}

TEST(Buddy, HandlesPoolsAboveFourGiB) {
    const std::uint64_t gib = std::uint64_t{1} << 30;
    auto a = large_pool(5 * gib);
    if (!a) GTEST_SKIP() << "no 5 GiB of address space here";
    const auto r = a->ref();
    EXPECT_EQ(regions(*a, false),
              (std::map<std::uint64_t, std::uint64_t>{{0, 4 * gib}, {4 * gib, gib}}));
    EXPECT_EQ(r.allocate({}, 4 * gib + 1), nullptr);
    auto* low = static_cast<char*>(r.allocate({}, 4 * gib));
    auto* high = static_cast<char*>(r.allocate({}, gib / 2));
    auto* small = static_cast<char*>(r.allocate({}, 16));
    ASSERT_NE(low, nullptr);
    ASSERT_NE(high, nullptr);
    ASSERT_NE(small, nullptr);
    EXPECT_GE(high - low, static_cast<std::ptrdiff_t>(4 * gib));
    EXPECT_GE(small - low, static_cast<std::ptrdiff_t>(4 * gib));
    EXPECT_EQ(r.allocate({}, gib), nullptr);
    low[4 * gib - 1] = 1;
    small[15] = 2;
    EXPECT_EQ(low[4 * gib - 1], 1);
    r.deallocate({}, high, gib / 2);
    r.deallocate({}, small, 16);
    high = static_cast<char*>(r.allocate({}, gib));
    EXPECT_EQ(high, low + 4 * gib) << "what is left merges up to the last GiB";
    r.deallocate({}, high, gib);
    r.deallocate({}, low, 4 * gib);
    EXPECT_EQ(regions(*a, true).size(), 0U);
    EXPECT_EQ(r.allocate({}, 4 * gib), low);
}

TEST(Buddy, RefusesAPoolThatCannotBeHad) {
    EXPECT_THROW(Buddy({.bytes = std::uint64_t{1} << 55}), std::invalid_argument);
    EXPECT_THROW(Buddy({.bytes = (std::uint64_t{1} << 40) + 16}), std::invalid_argument);
    EXPECT_NO_THROW({
        try {
            Buddy({.bytes = std::uint64_t{1} << 40});
        } catch (const BufferError&) {
        }
    });
}

}  // namespace

}  // namespace heapwood::allocators
