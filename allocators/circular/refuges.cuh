/// @file
/// Where requests begin to search if there is a single hint: there, or, in a crowd, at a refuge.
///
/// **Crowds.** A pool of one chunk is cut by one thread after the other, and thousands may want it
/// at once. So the single hint has refuges: as many hints more, evenly spread over the pool, for
/// requests that lose a chunk to another. They turn to a random one first; where no chunk starts
/// yet, to one of half as many, and so on; and back to finer ones when they lose again. They look
/// at few headers from each, and at the whole ring only in the end. A request that has lost no
/// chunk turns to them, too, once it has looked at a thousand headers. Whoever wins a chunk at a
/// refuge cuts the rest of it in half, at another, if it is large enough. So the number of chunks
/// that can be cut at the same time doubles, until everybody finds one; and a pool that no crowd
/// asks is never cut but where it must.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/hint.cuh"
#include "allocators/circular/ring.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::circular {

/// The single hint, number 0, and the refuges behind it.
template <class Policy>
class Refuges {
public:
    HEAPWOOD_INLINE Hint hint(std::uint32_t number) const { return hint_of(hints_, number); }
    /// Log2 of the number of refuges.
    HEAPWOOD_INLINE std::uint32_t levels() const { return levels_; }

    /// A hint for a request that has lost a chunk: one of 2^level refuges that are as far from one
    /// another as can be.
    HEAPWOOD_INLINE std::uint32_t refuge(std::uint32_t warp, std::uint32_t step,
                                         std::uint32_t level) const {
        const std::uint32_t caller = warp * 32 + platform::lane_of_caller();
        // Multiplicative hashing: the upper bits are the mixed ones.
        const std::uint32_t hash = (caller ^ (step * 0x85ebca6bU)) * 0x9e3779b1U;
        return 1 + ((hash >> 1 >> (31 - level)) << (levels_ - level));
    }
    /// Gives back the second half of the own chunk's part [from, end), if a refuge is about there,
    /// to whoever turns to this. @return where the own chunk ends now.
    HEAPWOOD_INLINE std::uint32_t cut(const Ring<Policy>& ring, std::uint32_t from,
                                      std::uint32_t end) const {
        const std::uint32_t number = (from + (end - from) / 2) / part_;
        const std::uint32_t middle = number * part_;
        if (middle <= from || number >> levels_ != 0) return end;
        Policy::pause();
        ring.give(middle, end);
        Policy::pause();
        hint(1 + number).store_relaxed(middle);
        return middle;
    }

    HEAPWOOD_INLINE void remember_freed(const Context&, std::uint32_t at) const {
        hint(0).store_relaxed(at);
    }
    /// The pool is one stretch: blocks that are freed merge over all of it.
    HEAPWOOD_INLINE static std::uint32_t end_of(std::uint32_t, std::uint32_t granules) {
        return granules;
    }

private:
    template <class>
    friend class CircularMalloc;

    std::uint32_t* hints_;
    std::uint32_t levels_;
    std::uint32_t part_;  // granules of the pool for each refuge
};

}  // namespace heapwood::allocators::circular
