/// @file
/// The arithmetic of AWMalloc: its pool's division into segments, of which a lap of the ring passes
/// each once.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::awmalloc {

/// A part of the ring that lies in one segment.
struct Part {
    std::uint64_t lap;
    std::uint64_t offset;  ///< in the pool
    std::uint64_t bytes;
    std::uint64_t segment;
};

/// The pool's division into segments.
struct Layout {
    std::uint64_t capacity;  ///< of the pool, bytes
    unsigned log2_segment;

    HEAPWOOD_INLINE std::uint64_t begin_of(std::uint64_t segment) const {
        return segment << log2_segment;
    }
    HEAPWOOD_INLINE std::uint64_t end_of(std::uint64_t segment) const {
        const std::uint64_t end = begin_of(segment + 1);
        return end < capacity ? end : capacity;
    }
    HEAPWOOD_INLINE std::uint64_t size_of(std::uint64_t segment) const {
        return end_of(segment) - begin_of(segment);
    }
    /// How many bytes of a lap of a segment have been drawn when the ring is at `position`.
    HEAPWOOD_INLINE std::uint64_t drawn(std::uint64_t position, std::uint64_t segment,
                                        std::uint64_t lap) const {
        const std::uint64_t begin = lap * capacity + begin_of(segment);
        const std::uint64_t size = size_of(segment);
        return position <= begin ? 0 : position - begin < size ? position - begin : size;
    }
    /// The part at that place, up to its segment's end.
    HEAPWOOD_INLINE Part part_at(std::uint64_t lap, std::uint64_t offset) const {
        const std::uint64_t segment = offset >> log2_segment;
        return {lap, offset, end_of(segment) - offset, segment};
    }
    HEAPWOOD_INLINE Part part_at(std::uint64_t position) const {
        const std::uint64_t lap = position / capacity;
        return part_at(lap, position - lap * capacity);
    }
    /// Calls f(part) for the parts of `size` bytes that begin with `part`, in order, while it
    /// returns true. @return whether it always did.
    template <class F>
    HEAPWOOD_INLINE bool for_each_part(Part part, std::uint64_t size, F f) const {
        while (size > 0) {
            if (part.bytes > size) part.bytes = size;
            if (!f(part)) return false;
            size -= part.bytes;
            part.offset += part.bytes;
            ++part.segment;
            if (part.offset == capacity) {
                part.offset = 0;
                part.segment = 0;
                ++part.lap;
            }
            part.bytes = size_of(part.segment);
        }
        return true;
    }
};

}  // namespace heapwood::allocators::awmalloc
