/// @file
/// Text from outside as it may be printed.
#include "app/base/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace heapwood::app {
namespace {

TEST(Printable, KeepsWhatReadersSee) {
    for (const char* text : {"", "a b", "~!", "caf\u00E9", "\u4E2D\u6587", "\U0001F332", "a\\b"}) {
        EXPECT_EQ(printable(text), text);
        EXPECT_EQ(brief(text), text);
    }
}

TEST(Printable, EscapesWhatTerminalsObey) {
    EXPECT_EQ(printable("a\x1b[31mb\a\r\n\tc\x7f"), "a\\x1b[31mb\\x07\\r\\n\\tc\\x7f");
    EXPECT_EQ(printable("a\nb", " "), "a b");
    EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
    EXPECT_EQ(printable("\u009B31m"), "\\u009b31m") << "a C1 control in UTF-8";
    EXPECT_EQ(printable("\x9b"
                        "31m"),
              "\\x9b31m")
        << "and as one byte";
    EXPECT_EQ(printable("\u202Egpj.exe\u2028"), "\\u202egpj.exe\\u2028");
    EXPECT_EQ(printable("a\u00ADb\u2060c\uFFF9d"), "a\\u00adb\\u2060c\\ufff9d") << "not seen";
    EXPECT_EQ(printable("\U000E0041\U0001D173"), "\\U000e0041\\U0001d173");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
    EXPECT_EQ(printable("\xff"), "\\xff");
    EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut short";
    EXPECT_EQ(printable("\xc3(\xe2\x82"), "\\xc3(\\xe2\\x82");
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "overlong";
    EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, LeavesTheMiddleOfLongTextOut) {
    const std::string word = "begin" + std::string(2'000'000, 'x') + "end";
    const std::string shown = brief("error: '" + word + "' is no number");
    EXPECT_LT(shown.size(), 600U);
    EXPECT_TRUE(shown.starts_with("error: 'beginx"));
    EXPECT_TRUE(shown.ends_with("xend' is no number"));
    EXPECT_NE(shown.find("...(1,99"), shown.npos) << shown;
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "word ";
    EXPECT_LT(brief(text).size(), 9000U);
    std::string trees;
    for (int i = 0; i < 1000; ++i) trees += "\U0001F332";
    EXPECT_EQ(printable(brief(trees)), brief(trees)) << "no character is cut in two";
}

}  // namespace
}  // namespace heapwood::app
