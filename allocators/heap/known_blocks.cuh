/// @file
/// KnowsBlocks: what an allocator's Ref has that knows small blocks by their addresses. A heap puts
/// no header before these.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace heapwood::allocators::heap {

// The versions of clang-format lay out concepts differently.
// clang-format off

/// - `known_bytes(p)`: p is an address in a live block, at a multiple of 16. If the block belongs to
///   a size class and begins at p, returns the bytes of that class. deallocate() and
///   granted_bytes() accept these in place of the requested bytes. Otherwise returns 0.
/// - `largest_known()`: the largest request, in bytes, whose block known_bytes() tells. It tells that
///   of every request of 1 byte to this size. Of a larger one it does not, wherever p lies in the
///   block. 0: it tells none in this pool.
template <class Ref>
concept KnowsBlocks = requires(const Ref ref, const void* p) {
    { ref.known_bytes(p) } -> std::same_as<std::uint64_t>;
    { ref.largest_known() } -> std::same_as<std::size_t>;
};
// clang-format on

}  // namespace heapwood::allocators::heap
