/// @file
/// What a tool learns of a guarded heap's blocks by NVTX: accesses that are planted beyond a block,
/// and after its free, are outside all that it was told of.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/heap/nvtx_blocks.h"
#include "tests/allocators/heap/nvtx/tool.h"
#include "tests/seed.h"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::GuardedHeap;
using allocators::NvtxBlocks;

class Nvtx : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(setenv("NVTX_INJECTION64_PATH", HEAPWOOD_NVTX_TOOL, 1), 0);
        void* const tool = dlopen(HEAPWOOD_NVTX_TOOL, RTLD_NOW);
        ASSERT_NE(tool, nullptr) << dlerror();
        using Told = const ToldByNvtx* (*)();
        const auto told = reinterpret_cast<Told>(dlsym(tool, "told_by_nvtx"));
        ASSERT_NE(told, nullptr) << dlerror();
        told_ = told();
    }

    static const ToldByNvtx* told_;
};
const ToldByNvtx* Nvtx::told_ = nullptr;

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uintptr_t>(pointer);
}

TEST_F(Nvtx, ToolsLearnOfTheBlocksInUseAndOfNoOthers) {
    const GuardedHeap<Cambium> owner(
        {.bytes = std::uint64_t{4} << 20, .place = allocators::Place::host});
    const auto heap = owner.ref();
    std::mt19937 dice(test_seed());
    std::vector<char*> live, freed;
    std::vector<std::size_t> sizes;
    for (unsigned n = 0; n < 100; ++n) {
        const std::size_t bytes = 1 + dice() % 3000;
        auto* const block = static_cast<char*>(heap.malloc(bytes));
        ASSERT_NE(block, nullptr);
        if (dice() % 3 == 0 && n > 0 && n < 99) {
            heap.free(block);
            freed.push_back(block);
        } else {
            live.push_back(block);
            sizes.push_back(bytes);
        }
    }
    for (unsigned turn = 0; turn < 2; ++turn) {
        const NvtxBlocks shown(owner, "lists");
        EXPECT_EQ(shown.size(), live.size());
        EXPECT_EQ(told_->name, "lists");
        EXPECT_EQ(told_->blocks.size(), live.size());
        unsigned within = 0;
        for (std::size_t i = 0; i < live.size(); ++i) {
            EXPECT_TRUE(told_->allows(address(live[i])));
            EXPECT_TRUE(told_->allows(address(live[i] + sizes[i] - 1)));
            EXPECT_FALSE(told_->allows(address(live[i] + sizes[i]))) << "beyond a block";
            EXPECT_FALSE(told_->allows(address(live[i] - 1))) << "before a block";
        }
        for (const char* block : freed) {
            if (address(block) < told_->begin || address(block) >= told_->end) continue;
            EXPECT_FALSE(told_->allows(address(block))) << "after its free";
            ++within;
        }
        EXPECT_GT(within, 0U) << "no freed block lies between others: this is no test";
    }
    EXPECT_TRUE(told_->blocks.empty());
    EXPECT_EQ(told_->end, 0U);
    for (char* block : live) heap.free(block);
    EXPECT_TRUE(owner.report().is_clean());
}

TEST_F(Nvtx, AnEmptyHeapIsNotShown) {
    const unsigned before = told_->calls;
    const GuardedHeap<Cambium> owner(
        {.bytes = std::uint64_t{1} << 20, .place = allocators::Place::host});
    { const NvtxBlocks shown(owner); }
    EXPECT_EQ(told_->calls, before);
}

}  // namespace
}  // namespace heapwood::tests
