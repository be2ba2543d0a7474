/// @file
/// An open block of Cambium, which callers cut from the front.
///
/// It is a position in a word: the units from there to the end of its block are nobody's yet. A
/// request takes the next ones by a compare-and-swap. A position at the border of two blocks has
/// nothing left. That a word has the same value again does no harm: what it says is all there is
/// to know.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// Where what is left of an open block begins, in units from the pool's start.
using Position = std::uint64_t;

/// No position.
inline constexpr Position kNowhere = ~Position{0};

/// Units from a position to the end of its block, which has `block_units`; 0 at a border.
HEAPWOOD_INLINE std::uint32_t room_at(Position at, std::uint32_t block_units) {
    return static_cast<std::uint32_t>(0 - at) & (block_units - 1);
}

/// Takes units of an open block. @return where they begin, or kNowhere: it has not so many
template <class Policy, platform::Scope kScope>
HEAPWOOD_INLINE Position cut(const platform::AtomicRef<Position, kScope>& open, std::uint32_t units,
                             std::uint32_t block_units) {
    for (Position at = open.load_relaxed(); units <= room_at(at, block_units);) {
        if (kScope == platform::Scope::device) Policy::pause();
        // Acquire: what former owners did to the block.
        if (open.cas_acquire(at, at + units)) return at;
    }
    return kNowhere;
}

/// As cut(), of a block that is open to all: of lanes that are here together one takes what they
/// all want.
template <class Policy>
HEAPWOOD_NOINLINE Position cut_together(Position& open, std::uint32_t units,
                                        std::uint32_t block_units) {
    const platform::AtomicRef<Position> word(open);
    const platform::Lanes lanes(word);
    std::uint32_t before = 0;
    const std::uint32_t all = lanes.sum(units, before);
    Position at = kNowhere;
    if (lanes.rank() == 0) at = cut<Policy>(word, all, block_units);
    at = lanes.of_leader(at);
    lanes.sync();  // what the leader has acquired
    return at == kNowhere ? kNowhere : at + before;
}

}  // namespace heapwood::allocators::cambium
