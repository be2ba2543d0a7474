/// @file
/// Text from outside, such as names of files, words of the command line and fields of input files,
/// as it may be printed: a terminal obeys control characters, and a line end begins what looks like
/// another message.
#pragma once

#include <string>
#include <string_view>

namespace heapwood::app {

/// The text without control characters, line separators, marks that turn the direction of writing,
/// and bytes that are not UTF-8, which are written as in source code: \x1b, \u202e.
/// @param line_end stands for a line end
std::string printable(std::string_view text, std::string_view line_end = "\\n");

/// The same for people, and so of bounded length: "..." stands in the middle of a long word, and of
/// a long text, with the number of bytes that it replaces.
std::string brief(std::string_view text);

}  // namespace heapwood::app
