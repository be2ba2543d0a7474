#include "app/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace heapwood::app {
namespace {

TEST(Text, Numbers) {
    EXPECT_EQ(shortest(0.8F), "0.8");
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(200.0), "200");
    EXPECT_EQ(shortest(neat(0.1F)), "0.1");
    EXPECT_EQ(shortest(neat(1e-45F)), "1e-45");
    EXPECT_EQ(fixed(2.0 / 3, 3), "0.667");
    EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 3).size(), 309U + 4);
    EXPECT_EQ(hex(0), "0000000000000000");
    EXPECT_EQ(hex(0xDEADBEEFU), "00000000deadbeef");
    EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "ffffffffffffffff");
}

TEST(Text, Groups) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(66454), "66,454");
    EXPECT_EQ(grouped(std::numeric_limits<std::uint64_t>::max()), "18,446,744,073,709,551,615");
}

TEST(Text, Bytes) {
    EXPECT_EQ(bytes_text(0), "0 B");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(200U << 20), "200 MiB");
    EXPECT_EQ(bytes_text(std::uint64_t{5000} << 40), "5000 TiB");
}

TEST(Text, Suggestions) {
    const std::vector<std::string> names{"atomicmalloc", "cmalloc", "cudamalloc"};
    EXPECT_EQ(did_you_mean("cmaloc", names), "; did you mean 'cmalloc'?");
    EXPECT_EQ(did_you_mean("cudmalloc", names), "; did you mean 'cudamalloc'?");
    EXPECT_EQ(did_you_mean("AtomicMalloc", names), "; did you mean 'atomicmalloc'?");
    EXPECT_EQ(did_you_mean("zzzzzzz", names), "");
    EXPECT_EQ(did_you_mean("x", {}), "");
}

TEST(Text, WidthCountsCharacters) {
    EXPECT_EQ(display_width("abc"), 3U);
    EXPECT_EQ(display_width("–"), 1U);
    EXPECT_EQ(display_width("Crème"), 5U);
}

TEST(Text, Durations) {
    EXPECT_EQ(duration_text(0.2), "0 s");
    EXPECT_EQ(duration_text(59.4), "59 s");
    EXPECT_EQ(duration_text(59.5), "1 min 0 s");
    EXPECT_EQ(duration_text(200), "3 min 20 s");
    EXPECT_EQ(duration_text(7500), "2 h 5 min");
}

TEST(Text, JoinsEmptyWordsAsWell) {
    EXPECT_EQ(joined({"", "a", "", "b"}, ", "), ", a, , b");
    EXPECT_EQ(joined({}, ", "), "");
}

}  // namespace
}  // namespace heapwood::app
