/// @file
/// Numbers and words as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heapwood::app {

/// The shortest decimal that reads back as the same number: 0.8, 200, 1.5.
std::string shortest(double value);
std::string shortest(float value);
/// The double nearest to the finite float's shortest decimal, so that 0.8F is written as 0.8.
double neat(float value);
/// The shortest decimal without an exponent, however long.
std::string digits(double value);

/// With `decimals` digits after the point.
std::string fixed(double value, int decimals);
/// The double nearest to the finite number that fixed() writes.
double rounded(double value, int decimals);

/// Digits in groups of three: 66,454.
std::string grouped(std::uint64_t value);

/// With a binary unit: 0 B, 17 B, 1.5 KiB, 12.3 MiB.
std::string bytes_text(std::uint64_t bytes);

/// Rounded to what matters: 45 s, 3 min 20 s, 2 h 5 min.
std::string duration_text(double seconds);

/// The present time, UTC, ISO 8601: 2026-11-28T09:30:00Z.
std::string now();

/// 16 hexadecimal digits.
std::string hex(std::uint64_t value);
/// The number that hex() has written. @throws std::invalid_argument if it is none.
std::uint64_t read_hex(const std::string& digits);

/// The text; nothing if it is empty.
std::optional<std::string> text_or_none(const std::string& text);

/// The words with a separator between them.
std::string joined(const std::vector<std::string>& words, std::string_view separator);

/// "; did you mean 'NAME'?" for the candidate nearest to `word`, or nothing if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// How many characters a terminal shows for UTF-8 text without wide characters.
std::size_t display_width(std::string_view utf8);

}  // namespace heapwood::app
