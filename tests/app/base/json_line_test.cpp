/// @file
/// JSON between processes, whose strings have any bytes.
#include "app/base/json_line.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/seed.h"

namespace heapwood::app {
namespace {

TEST(JsonLine, AnyBytesComeBack) {
    std::mt19937_64 random(tests::test_seed());
    for (int i = 0; i < 1000; ++i) {
        std::string bytes;
        for (std::uint64_t length = random() % 20; bytes.size() < length;) {
            bytes += static_cast<char>(random() % 4 == 0 ? random() % 3 : random() % 256);
        }
        const Json json{{"path", bytes}, {"list", {bytes, 7, nullptr, {{"deep", bytes}}}}};
        const std::string line = json_line(json);
        EXPECT_EQ(from_json_line(line), json);
        EXPECT_EQ(line.find('\n'), line.npos);
        EXPECT_FALSE(parsed_json(line).is_discarded()) << "it is JSON to others";
    }
}

TEST(JsonLine, WhatIsPlainStaysReadable) {
    EXPECT_EQ(json_line({{"load", "gen:sphere:500"}}), R"({"load":"gen:sphere:500"})");
}

TEST(JsonLine, TakesWhatOthersWrote) {
    EXPECT_EQ(from_json_line("[\"caf\xc3\xa9\"]"), Json({"caf\xc3\xa9"}));
    EXPECT_EQ(from_json_line("[\"\\u0001\xe2\x82\xac\"]"), Json({"\xe2\x82\xac"}));
    for (const char* line : {"{", "", "[\"\xc3\"]"}) {
        EXPECT_TRUE(from_json_line(line).is_discarded()) << line;
    }
}

}  // namespace
}  // namespace heapwood::app
