#include "app/base/json_line.h"

#include <algorithm>

namespace heapwood::app {
namespace {

/// Before a string whose every byte stands as the character of that number.
constexpr char kMark = '\x01';

std::string encoded(const std::string& bytes) {
    const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!bytes.starts_with(kMark) && std::ranges::all_of(bytes, is_plain)) return bytes;
    std::string text(1, kMark);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80) text += static_cast<char>(0xC0 | byte >> 6);
        text += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3F)) : c;
    }
    return text;
}

std::string decoded(const std::string& text) {
    if (!text.starts_with(kMark)) return text;
    std::string bytes;
    for (std::size_t i = 1; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // The first of two bytes; others would not be of encoded().
        const bool first = (byte == 0xC2 || byte == 0xC3) && i + 1 < text.size();
        bytes += first ? static_cast<char>(byte << 6 | (text[++i] & 0x3F)) : text[i];
    }
    return bytes;
}

/// The JSON with all its strings changed so.
Json with_strings(Json json, std::string (*change)(const std::string&)) {
    if (json.is_string()) return change(json.get_ref<const std::string&>());
    if (json.is_structured()) {
        for (Json& value : json) value = with_strings(std::move(value), change);
    }
    return json;
}

}  // namespace

std::string json_line(const Json& json) {
    return dumped(with_strings(json, encoded));
}

Json from_json_line(std::string_view line) {
    return with_strings(parsed_json(line), decoded);
}

}  // namespace heapwood::app
