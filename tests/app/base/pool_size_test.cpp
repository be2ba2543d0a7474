#include "app/base/pool_size.h"

#include <gtest/gtest.h>

#include "app/base/exit_code.h"

namespace heapwood::app {
namespace {

TEST(PoolSize, MultiplesFollowTheScene) {
    EXPECT_EQ(PoolSize::parse("20x").bytes_for(1000), 20000U);
    EXPECT_EQ(PoolSize::parse("0.5x").bytes_for(1000), 500U);
    EXPECT_EQ(PoolSize::parse("1.001x").bytes_for(1000), 1001U);
    // Never less than was asked for.
    EXPECT_EQ(PoolSize::parse("0.3x").bytes_for(11), 4U);
    EXPECT_EQ(PoolSize().bytes_for(7), 1400U);
}

TEST(PoolSize, BytesDoNot) {
    EXPECT_EQ(PoolSize::parse("17B").bytes_for(1000), 17U);
    EXPECT_EQ(PoolSize::parse("512MiB").bytes_for(1000), 512U << 20);
    EXPECT_EQ(PoolSize::parse("1.5KiB").bytes_for(1000), 1536U);
    EXPECT_EQ(PoolSize::parse("3GiB").bytes_for(1), 3ULL << 30);
}

TEST(PoolSize, TextReadsBack) {
    for (const char* text : {"20x", "0.5x", "1.25x", "100000x", "0.00001x", "17B", "1KiB", "513MiB",
                             "7GiB", "1025B"}) {
        EXPECT_EQ(PoolSize::parse(text).text(), text);
    }
    EXPECT_EQ(PoolSize::parse("1024KiB").text(), "1MiB");
    EXPECT_EQ(PoolSize::parse("1.5GiB").text(), "1536MiB");
}

TEST(PoolSize, Doubles) {
    EXPECT_EQ(PoolSize::parse("20x").doubled().text(), "40x");
    EXPECT_EQ(PoolSize::parse("0.5x").doubled().text(), "1x");
    EXPECT_EQ(PoolSize::parse("512MiB").doubled().text(), "1GiB");
    EXPECT_EQ(PoolSize::parse("512MiB").doubled().bytes_for(99), 1U << 30);
}

TEST(PoolSize, RefusesEverythingElse) {
    for (const char* text :
         {"",         "x",     ".x",   "20",   "20X",  "20 x",   " 20x", "20x ",
          "+20x",     "-20x",  "1e3x", "0x10", "0x",   "0.0x",   "0B",   "1.5B",
          "20MB",     "20mib", "20M",  "nanx", "infx", "1.2.3x", "20xx", "140737488355328B",
          "131072GiB"}) {
        EXPECT_THROW(PoolSize::parse(text), UsageError) << "'" << text << "'";
    }
}

TEST(PoolSize, DefaultFitsSceneMachineAndAllocator) {
    EXPECT_EQ(default_pool_bytes(1000, 1 << 30, 4096), 200000U);
    EXPECT_EQ(default_pool_bytes(1000, 300000, 4096), 100000U);
    EXPECT_EQ(default_pool_bytes(10, 1 << 30, 4096), 4096U);
    EXPECT_EQ(default_pool_bytes(1000, 1000, 4096), 4096U);
    // 50 million triangles on a GPU of 81 GiB.
    EXPECT_EQ(default_pool_bytes(50000000ULL * 32, 81ULL << 30, 4096), 27ULL << 30);
}

TEST(PoolSize, RefusesMultiplesBeyondAnyMemory) {
    const PoolSize size = PoolSize::parse("99999999999999x");
    EXPECT_EQ(size.bytes_for(1), 99999999999999U);
    EXPECT_THROW(size.bytes_for(1000), UsageError);
}

}  // namespace
}  // namespace heapwood::app
