#include "app/backends/registers.h"

#include <gtest/gtest.h>

namespace heapwood::app {
namespace {

const std::vector<KernelRow> kTable{
    {"one", 80, Kernel::uncoalesced, {1, 2, 3, 4}},
    {"one", 80, Kernel::build, {5, 6, 7, 8}},
    {"one", 75, Kernel::uncoalesced, {9, 0, 0, 0}},
    {"one", 86, Kernel::uncoalesced, {10, 0, 0, 0}},
    {"two", 120, Kernel::coalesced, {11, 0, 0, 0}},
    {"one", 100, Kernel::uncoalesced, {12, 0, 0, 0}},
};

TEST(Registers, AreOfTheAllocator) {
    const auto two = find_registers(kTable, "two", 0);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->architecture, 120U);
    EXPECT_EQ(two->coalesced.value().registers, 11U);
    EXPECT_FALSE(two->uncoalesced);
    EXPECT_FALSE(two->build);
    EXPECT_FALSE(find_registers(kTable, "three", 0));
    EXPECT_FALSE(find_registers({}, "one", 90));
}

TEST(Registers, OfAKernelAreWhole) {
    const auto one = find_registers(kTable, "one", 80);
    ASSERT_TRUE(one && one->uncoalesced && one->build);
    EXPECT_EQ(one->uncoalesced->registers, 1U);
    EXPECT_EQ(one->uncoalesced->stack_bytes, 2U);
    EXPECT_EQ(one->uncoalesced->spill_store_bytes, 3U);
    EXPECT_EQ(one->uncoalesced->spill_load_bytes, 4U);
    EXPECT_EQ(one->build->registers, 5U);
}

TEST(Registers, AreOfTheCodeThatTheDeviceRuns) {
    const auto architecture = [](unsigned device) {
        return find_registers(kTable, "one", device)->architecture;
    };
    EXPECT_EQ(architecture(75), 75U);
    EXPECT_EQ(architecture(80), 80U);
    EXPECT_EQ(architecture(86), 86U);
    EXPECT_EQ(architecture(89), 86U);
    EXPECT_EQ(architecture(103), 100U);
    EXPECT_EQ(architecture(90), 100U) << "no code for it: the newest there is";
    EXPECT_EQ(architecture(0), 100U) << "no device: likewise";
}

}  // namespace
}  // namespace heapwood::app
