#include "allocators/parts/unit_shift.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "tests/seed.h"

namespace heapwood::tests {
namespace {

/// Against the sentence on it: no larger unit would do.
TEST(UnitShift, IsTheLargestThatLeavesEnoughUnits) {
    const std::uint64_t seed = test_seed();
    SCOPED_TRACE(testing::Message() << "HEAPWOOD_TEST_SEED=" << seed);
    std::mt19937_64 dice(seed);
    unsigned least = 0, most = 0;
    for (unsigned i = 0; i < 20000; ++i) {
        const std::uint64_t bytes = dice() >> dice() % 64;
        const std::uint64_t fewest = dice() >> dice() % 64;
        const auto smallest = static_cast<std::uint32_t>(dice() % 30);
        const auto largest = smallest + static_cast<std::uint32_t>(dice() % 30);
        const std::uint32_t shift = allocators::unit_shift(bytes, smallest, largest, fewest);
        ASSERT_GE(shift, smallest);
        ASSERT_LE(shift, largest);
        const auto units = [&](std::uint32_t s) { return bytes / (std::uint64_t{1} << s); };
        ASSERT_TRUE(shift == smallest || units(shift) >= fewest) << bytes << " " << smallest;
        ASSERT_TRUE(shift == largest || units(shift + 1) < fewest) << bytes << " " << largest;
        least += shift == smallest ? 1 : 0;
        most += shift == largest ? 1 : 0;
    }
    EXPECT_GT(least, 100U);
    EXPECT_GT(most, 100U);
}

}  // namespace
}  // namespace heapwood::tests
