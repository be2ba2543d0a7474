/// @file
/// Where ScatterAlloc's fields lie in a pool, and what the word of a field says.
///
/// The pool is a circular list whose granule is a page. Chunks lie in fields: a field is up to 32
/// chunks of one size, beside one another. Where 32 chunks fill a page or more, a field is a page
/// from the list. Of smaller chunks it is a chunk of a page itself, one 32 times as large: so a
/// page has two levels of bit fields, and up to 32 x 32 chunks. Each field has a word in a table
/// beside the pool: a bit for every chunk, the chunks' size, and whether the field is held.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::scatter {

/// Log2 of the chunks that a bit field has room for (published: 32, and two levels of them).
inline constexpr std::uint32_t kFieldShift = 5;
/// Log2 of the smallest chunk's bytes; the size of a chunk is named by its log2.
inline constexpr std::uint32_t kSmallestChunk = 4;
/// Log2 of the smallest field's bytes.
inline constexpr std::uint32_t kSmallestField = kSmallestChunk + kFieldShift;
/// Fields that are looked at together (published: pages of a region). Their words fill one line of
/// an L2 cache.
inline constexpr std::uint32_t kRegion = 16;
/// The word of a field: a bit for every chunk, the hold, and the size of its chunks (0: closed).
using Word = std::uint64_t;
inline constexpr Word kHeld = Word{1} << 32;
inline constexpr std::uint32_t kSizeShift = 33;

HEAPWOOD_INLINE constexpr Word open_word(std::uint32_t size) {
    return Word{size} << kSizeShift;
}
HEAPWOOD_INLINE constexpr std::uint32_t size_of(Word w) {
    return static_cast<std::uint32_t>(w >> kSizeShift);
}
HEAPWOOD_INLINE constexpr std::uint32_t bits_of(Word w) {
    return static_cast<std::uint32_t>(w);
}
HEAPWOOD_INLINE constexpr bool is_unused(Word w) {
    return w << (64 - kSizeShift) == 0;
}

/// Where the fields of a pool lie, and their words.
struct Layout {
    std::uint32_t pages;
    std::uint32_t page_shift;  ///< log2 of a page's bytes

    /// Log2 of the bytes of a field of such chunks.
    HEAPWOOD_INLINE std::uint32_t field_shift(std::uint32_t size) const {
        const std::uint32_t shift = size + kFieldShift;
        return shift < page_shift ? shift : page_shift;
    }
    /// Whether a field of such chunks is a whole page.
    HEAPWOOD_INLINE bool is_page(std::uint32_t size) const {
        return size + kFieldShift >= page_shift;
    }
    /// A bit for each chunk of a field.
    HEAPWOOD_INLINE std::uint32_t chunks(std::uint32_t size) const {
        return ~0U >> (32 - (1U << (field_shift(size) - size)));
    }
    /// Whether a field of that word, open for such chunks, has none left.
    HEAPWOOD_INLINE bool is_full(std::uint32_t size, Word w) const {
        return (chunks(size) & ~bits_of(w)) == 0;
    }
    /// How many fields of such chunks there could be in the pool; each is known by its number.
    HEAPWOOD_INLINE std::uint32_t fields(std::uint32_t size) const {
        return pages << (page_shift - field_shift(size));
    }
    /// Index of a field's word: those of pages come first, the others behind them.
    HEAPWOOD_INLINE std::uint32_t word(std::uint32_t size, std::uint32_t field) const {
        return is_page(size) ? field : pages + (field << (size - kSmallestChunk));
    }
    /// The field to which a word belongs, if its chunks are of that size.
    HEAPWOOD_INLINE std::uint32_t field(std::uint32_t size, std::uint32_t word) const {
        return is_page(size) ? word : (word - pages) >> (size - kSmallestChunk);
    }
    HEAPWOOD_INLINE std::uint64_t offset(std::uint32_t size, std::uint32_t field) const {
        return std::uint64_t{field} << field_shift(size);
    }
    std::uint64_t words() const {
        return pages + (std::uint64_t{pages} << (page_shift - kSmallestField));
    }
};

/// A chunk, as a bit of a word.
struct Place {
    std::uint32_t word;
    Word bit;
};

/// The chunk of that size at a byte of the pool.
HEAPWOOD_INLINE Place place_of(const Layout& layout, std::uint64_t offset, std::uint32_t size) {
    const std::uint32_t shift = layout.field_shift(size);
    const auto chunk = static_cast<std::uint32_t>(offset >> size) & ((1U << (shift - size)) - 1);
    return {layout.word(size, static_cast<std::uint32_t>(offset >> shift)), Word{1} << chunk};
}

}  // namespace heapwood::allocators::scatter
