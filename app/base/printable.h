/// @file
/// Text from outside, such as names of files, words of the command line and fields of input files,
/// as it may be printed: a terminal obeys control characters, and a line end begins what looks like
/// another message.
#pragma once

#include <string>
#include <string_view>

namespace heapwood::app {

/// The text on one line. Control characters, line separators, marks that turn the direction of
/// writing, and bytes that are not UTF-8 are written as in source code: \n, \x1b, \u202e.
std::string printable(std::string_view text);

/// The same for people, and so of bounded length: "..." stands in the middle of a long word, and of
/// a long text, with the number of bytes that it replaces.
std::string brief(std::string_view text);

}  // namespace heapwood::app
