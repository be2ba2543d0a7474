/// @file
/// What a virtual queue (virtual_queue.cuh) knows of the Map that finds its parts: ArrayMap
/// (array_map.cuh) or ListMap (list_map.cuh).
///
/// Part n has the places from n times the entries of a part on. The Maps of all queues share the
/// table `used`, with a word for each chunk.
/// - `find(c, queue, n, end)`: part n. It has been installed, or is being installed, and is not
///   used up.
/// - `is_full(c, queue)`: whether no part can be added; a hint.
/// - `install(c, queue, part)`: adds an own chunk as the next part. False: it cannot.
/// - `remove(c, queue, n, all, give)`: part n is used up: its count is `all`. Calls give(part) for
///   each part that is the caller's now.
#pragma once

#include <cstdint>

#include "allocators/ouroboros/chunks.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// At which end of a queue a part is looked for.
enum class End { front, back };

/// A part and its number: {number, part + 1}, of which part + 1 is 0 if there is none.
class NumberedPart {
public:
    using Word = std::uint64_t;

    HEAPWOOD_INLINE static Word make(std::uint32_t n, std::uint32_t part) {
        return (Word{n} << 32) | (part + 1);
    }
    HEAPWOOD_INLINE static std::uint32_t number(Word w) {
        return static_cast<std::uint32_t>(w >> 32);
    }
    /// Or kNone.
    HEAPWOOD_INLINE static std::uint32_t part(Word w) { return static_cast<std::uint32_t>(w) - 1; }
    HEAPWOOD_INLINE static bool is(Word w, std::uint32_t n) {
        return number(w) == n && part(w) != kNone;
    }
};

}  // namespace heapwood::allocators::ouroboros
