/// @file
/// The header word of the circular allocators: state and successor of a chunk in 32 bits.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// A header word: the state in the upper 2 bits, the granule at which the next chunk starts in the
/// lower 30. The next granule of every word but the sentinel's is above the word's own.
using Word = std::uint32_t;

/// What a header word says of the granule it belongs to.
enum State : std::uint32_t {
    kDead = 0,       ///< no chunk starts here; the zero word: none ever did
    kFree = 1,       ///< a free chunk
    kUsed = 2,       ///< an allocated chunk, or the sentinel
    kUnsettled = 3,  ///< a chunk whose owner is about to give back a part of it, or all
};

inline constexpr std::uint32_t kNextBits = 30;
inline constexpr Word kNextMask = (Word{1} << kNextBits) - 1;

/// As many granules as a pool may have: the sentinel's index, one more than the last granule's,
/// must fit as well.
inline constexpr std::uint64_t kMostGranules = kNextMask - 1;

HEAPWOOD_INLINE constexpr Word make_word(State state, std::uint32_t next) {
    return (static_cast<Word>(state) << kNextBits) | next;
}
HEAPWOOD_INLINE constexpr State state_of(Word w) {
    return static_cast<State>(w >> kNextBits);
}
HEAPWOOD_INLINE constexpr std::uint32_t next_of(Word w) {
    return w & kNextMask;
}

}  // namespace heapwood::allocators::circular
