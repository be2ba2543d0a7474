/// @file
/// Numbers as text: those that are read, and those that are none.
#include "scenes/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heapwood::scenes {
namespace {

TEST(NumberTest, ReadsWholeNumbersOfDigitsAlone) {
    EXPECT_EQ(read_number<std::uint64_t>("0"), 0U);
    EXPECT_EQ(read_number<std::uint64_t>("18446744073709551615"), ~std::uint64_t{0});
    EXPECT_EQ(read_number<std::uint64_t>("010"), 10U);
    EXPECT_EQ(read_number<std::uint64_t>("fF", 16), 255U);
    for (const char* text :
         {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "one", "1,", "18446744073709551616"}) {
        EXPECT_EQ(read_number<std::uint64_t>(text), std::nullopt) << text;
    }
    EXPECT_EQ(read_number<std::uint8_t>("256"), std::nullopt) << "there is no room for it";
}

TEST(NumberTest, ReadsRealNumbers) {
    EXPECT_EQ(read_number<double>("-1.5e3"), -1500);
    EXPECT_EQ(read_number<double>("1.5", std::chars_format::fixed), 1.5);
    EXPECT_EQ(read_number<double>("1e3", std::chars_format::fixed), std::nullopt);
    for (const char* text : {"", ".", "+1", "1,5", "1.5 ", "1e999", "1.5x"}) {
        EXPECT_EQ(read_number<double>(text), std::nullopt) << text;
    }
}

TEST(NumberTest, APlainNumberHasNoLeadingZero) {
    EXPECT_EQ(read_plain_number<unsigned>("0"), 0U);
    EXPECT_EQ(read_plain_number<unsigned>("10"), 10U);
    EXPECT_EQ(read_plain_number<double>("0.5"), 0.5);
    for (const char* text : {"00", "010", "-1", ""}) {
        EXPECT_EQ(read_plain_number<unsigned>(text), std::nullopt) << text;
    }
    EXPECT_EQ(read_plain_number<double>("-0.5"), -0.5);
    EXPECT_EQ(read_plain_number<double>("01.5"), std::nullopt);
    EXPECT_EQ(read_plain_number<double>("-01.5"), std::nullopt);
}

}  // namespace
}  // namespace heapwood::scenes
