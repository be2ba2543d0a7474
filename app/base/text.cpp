#include "app/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <numeric>
#include <stdexcept>

#include "scenes/number.h"

namespace heapwood::app {
namespace {

template <class T, class... Format>
std::string converted(T value, Format... format) {
    // Enough for any double in fixed notation: 309 digits, the point and the decimals.
    std::array<char, 400> buffer;
    const auto result =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...);
    return {buffer.data(), result.ptr};
}

/// Levenshtein's distance: insertions, deletions and replacements from a to b.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string shortest(double value) {
    return converted(value);
}

std::string shortest(float value) {
    return converted(value);
}

double neat(float value) {
    return *scenes::read_number<double>(shortest(value));
}

std::string digits(double value) {
    return converted(value, std::chars_format::fixed);
}

std::string fixed(double value, int decimals) {
    return converted(value, std::chars_format::fixed, decimals);
}

double rounded(double value, int decimals) {
    return *scenes::read_number<double>(fixed(value, decimals));
}

std::string grouped(std::uint64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t i = text.size(); i > 3;) {
        i -= 3;
        text.insert(i, ",");
    }
    return text;
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> kPrefixes{" KiB", " MiB", " GiB", " TiB"};
    if (bytes < 1024) return std::to_string(bytes) + " B";
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < kPrefixes.size()) {
        value /= 1024;
        ++unit;
    }
    return fixed(value, value < 100 ? 1 : 0) + kPrefixes[unit];
}

std::string duration_text(double seconds) {
    const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
    const auto two = [](std::uint64_t value, std::uint64_t unit, const char* large,
                        const char* small) {
        return std::to_string(value / unit) + large + std::to_string(value % unit) + small;
    };
    if (whole < 60) return std::to_string(whole) + " s";
    if (whole < 3600) return two(whole, 60, " min ", " s");
    return two(whole / 60, 60, " h ", " min");
}

std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::array<char, 32> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return {text.data(), length};
}

std::string hex(std::uint64_t value) {
    const std::string digits = converted(value, 16);
    return std::string(16 - digits.size(), '0') + digits;
}

std::uint64_t read_hex(const std::string& digits) {
    const auto value = scenes::read_number<std::uint64_t>(digits, 16);
    if (!value) throw std::invalid_argument("no digest: " + digits);
    return *value;
}

std::optional<std::string> text_or_none(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += separator;
        text += words[i];
    }
    return text;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
    const auto nearest = std::min_element(
        candidates.begin(), candidates.end(),
        [word](const auto& a, const auto& b) { return distance(word, a) < distance(word, b); });
    // Half of the letters may be wrong: beyond that a suggestion is noise.
    if (nearest == candidates.end() || 2 * distance(word, *nearest) > nearest->size()) return "";
    return "; did you mean '" + *nearest + "'?";
}

std::size_t display_width(std::string_view utf8) {
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

}  // namespace heapwood::app
