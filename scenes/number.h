/// @file
/// Numbers that are read from text. All readers of Heapwood take them from here, but for that of
/// OBJ files, which is tinyobjloader's.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace heapwood::scenes {

/// The number that the whole text is, in any locale: no blank or plus sign stands before it, and
/// nothing behind it.
/// @param format as std::from_chars takes it: a base, or a std::chars_format.
/// @return nothing if the text is no such number, or a `T` has no room for it. "inf" and "nan" are
/// numbers of floating-point types.
template <class T, class... Format>
std::optional<T> read_number(std::string_view text, Format... format) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, format...);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

/// Whether a number has a zero before its first digit, as 010 and -01.5 have, which some programs
/// take for eight.
constexpr bool leading_zero(std::string_view number) {
    if (number.starts_with('-')) number.remove_prefix(1);
    return number.size() > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9';
}

/// Reads a number that a person wrote. A leading zero is an error: the answer is nullopt.
template <class T>
std::optional<T> read_plain_number(std::string_view text) {
    return leading_zero(text) ? std::nullopt : read_number<T>(text);
}

}  // namespace heapwood::scenes
