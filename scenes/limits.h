/// @file
/// How large a scene may be.
#pragma once

#include <cstdint>

namespace heapwood::scenes {

/// The most triangles of a scene: the builder keeps triangle numbers and counts in 30 bits.
inline constexpr std::uint64_t kMaxTriangles = (std::uint64_t{1} << 30) - 1;

}  // namespace heapwood::scenes
