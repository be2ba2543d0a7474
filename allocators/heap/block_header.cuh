/// @file
/// What a heap remembers of a block, so that free() needs no size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::heap {

/// The largest alignment that aligned_alloc() takes, in bytes.
inline constexpr std::size_t kLargestAlignment = std::size_t{64} << 10;

/// The 16 bytes before a block: how many bytes the allocator gave, and where they begin. The thread
/// that gets the block writes it before anybody has the block's address, so it is no atomic.
class alignas(kAlignment) BlockHeader {
public:
    /// Sizes are below this.
    static constexpr std::uint64_t kSizeEnd = std::uint64_t{1} << 48;

    /// The bytes that the heap requests from the allocator. A header and a block of `bytes` bytes
    /// at a multiple of `alignment` fit in them. 0: the size is too large for any pool.
    /// @param alignment a power of two from kAlignment to kLargestAlignment
    HEAPWOOD_INLINE static std::uint64_t request(std::size_t alignment, std::size_t bytes) {
        if (bytes >= kSizeEnd) return 0;
        const std::uint64_t whole = platform::round_up<std::uint64_t>(bytes, kAlignment);
        return (whole == 0 ? kAlignment : whole) + alignment;
    }
    /// Writes the header and returns the block behind it.
    /// @param start what the allocator gave for request(alignment, ...)
    HEAPWOOD_INLINE static void* write(void* start, std::size_t alignment, std::uint64_t request) {
        const auto from = reinterpret_cast<std::uintptr_t>(start);
        const std::uintptr_t to =
            platform::round_up<std::uintptr_t>(from + sizeof(BlockHeader), alignment);
        auto* const block = static_cast<char*>(start) + (to - from);
        of(block)->word_ = request << kOffsetBits | (to - from) / kAlignment;
        return block;
    }
    /// The header of a block that is in use.
    HEAPWOOD_INLINE static BlockHeader* of(void* block) {
        return reinterpret_cast<BlockHeader*>(static_cast<char*>(block) - sizeof(BlockHeader));
    }
    HEAPWOOD_INLINE static const BlockHeader* of(const void* block) {
        return reinterpret_cast<const BlockHeader*>(static_cast<const char*>(block) -
                                                    sizeof(BlockHeader));
    }

    /// What was asked of the allocator.
    HEAPWOOD_INLINE std::uint64_t request() const { return word_ >> kOffsetBits; }
    /// From where the allocator's bytes begin to the block.
    HEAPWOOD_INLINE std::uint64_t offset() const {
        return (word_ & ((1U << kOffsetBits) - 1)) * kAlignment;
    }

private:
    /// Up to kLargestAlignment, in units of kAlignment.
    static constexpr unsigned kOffsetBits = 13;

    std::uint64_t word_;
};

static_assert(sizeof(BlockHeader) == kAlignment);

}  // namespace heapwood::allocators::heap
