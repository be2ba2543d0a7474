/// @file
/// Small letters for the legends of pictures.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace heapwood::app {

inline constexpr unsigned kGlyphWidth = 5;
inline constexpr unsigned kGlyphHeight = 7;

/// A glyph's rows from above; bit 4 is the leftmost pixel. Digits, lower-case letters and . + -
/// have one; other characters are blank.
using Glyph = std::array<std::uint8_t, kGlyphHeight>;
const Glyph& glyph(char c);

/// How many pixels a text is wide: glyphs are one apart.
inline unsigned width_of(std::string_view text) {
    return static_cast<unsigned>(text.size()) * (kGlyphWidth + 1);
}

}  // namespace heapwood::app
