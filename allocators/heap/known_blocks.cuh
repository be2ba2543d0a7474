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

/// - `known_bytes(p)`: p is an address in a live block, at a multiple of 16. If the block is one of
///   a class of sizes and begins at p, the bytes of its class, which deallocate() and
///   granted_bytes() take for those that were asked for. Else 0.
/// - `largest_known()`: requests of at most so many bytes, and not 0, get blocks of classes alone,
///   larger ones never do.
template <class Ref>
concept KnowsBlocks = requires(const Ref ref, const void* p) {
    { ref.known_bytes(p) } -> std::same_as<std::uint64_t>;
    { ref.largest_known() } -> std::same_as<std::size_t>;
};
// clang-format on

}  // namespace heapwood::allocators::heap
