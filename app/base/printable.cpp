#include "app/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "app/base/text.h"

namespace heapwood::app {
namespace {

/// A character of UTF-8.
struct Character {
    std::uint32_t code;
    std::size_t bytes;
};

/// The character that a text begins with; nothing if its first byte begins none.
std::optional<Character> first_of(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return Character{byte(0), 1};
    const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
    if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return std::nullopt;
    std::uint32_t code = byte(0) & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
        code = code << 6 | (byte(i) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < kLeast[bytes] || code > 0x10FFFF || surrogate) return std::nullopt;
    return Character{code, bytes};
}

/// Whether a terminal obeys the character, or readers could be misled by what they do not see.
bool is_hidden(std::uint32_t code) {
    constexpr std::array<std::array<std::uint32_t, 2>, 13> kRanges{
        {{0, 0x1F},             // C0 controls
         {0x7F, 0x9F},          // delete, C1 controls
         {0xAD, 0xAD},          // soft hyphen
         {0x61C, 0x61C},        // direction of writing
         {0x180E, 0x180E},      // no width
         {0x200B, 0x200F},      // no width, direction
         {0x2028, 0x202E},      // separators of lines, direction
         {0x2060, 0x206F},      // no width, direction
         {0xFEFF, 0xFEFF},      // no width
         {0xFFF9, 0xFFFB},      // annotations
         {0x1BCA0, 0x1BCA3},    // of shorthand
         {0x1D173, 0x1D17A},    // of music
         {0xE0001, 0xE007F}}};  // tags
    return std::ranges::any_of(
        kRanges, [&](const auto& range) { return code >= range[0] && code <= range[1]; });
}

/// The last `count` digits.
std::string escape(const char* mark, std::uint32_t code, std::size_t count) {
    const std::string digits = hex(code);
    return mark + digits.substr(digits.size() - count);
}

std::string escaped(std::uint32_t code) {
    if (code == '\r') return "\\r";
    if (code == '\t') return "\\t";
    if (code < 0x80) return escape("\\x", code, 2);
    return code < 0x10000 ? escape("\\u", code, 4) : escape("\\U", code, 8);
}

/// The text without its middle if it is longer than `most` bytes; UTF-8 stays so.
std::string without_middle(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    const auto begins = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80;
    };
    std::size_t head = most / 2;
    std::size_t tail = text.size() - most / 2;
    while (!begins(head)) --head;
    while (tail < text.size() && !begins(tail)) ++tail;
    return std::string(text.substr(0, head)) + "...(" + grouped(tail - head) + " bytes)..." +
           std::string(text.substr(tail));
}

}  // namespace

std::string printable(std::string_view text, std::string_view line_end) {
    std::string shown;
    while (!text.empty()) {
        const auto character = first_of(text);
        const std::size_t bytes = character ? character->bytes : 1;
        if (!character) {
            shown += escape("\\x", static_cast<unsigned char>(text.front()), 2);
        } else if (character->code == '\n') {
            shown += line_end;
        } else if (is_hidden(character->code)) {
            shown += escaped(character->code);
        } else {
            shown += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    return shown;
}

std::string brief(std::string_view text) {
    constexpr std::size_t kWord = 400;
    constexpr std::size_t kText = 8000;
    std::string shown;
    const std::string all = printable(text);
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t end = std::min(all.find(' ', begin), all.size());
        shown += without_middle(std::string_view(all).substr(begin, end - begin), kWord);
        if (end < all.size()) shown += ' ';
        begin = end + 1;
    }
    return without_middle(shown, kText);
}

}  // namespace heapwood::app
