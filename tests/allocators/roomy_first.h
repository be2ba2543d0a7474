/// @file
/// Halloc as published: rather than an empty slab it opens one with pieces in use.
#pragma once

#include "allocators/halloc.cuh"

namespace heapwood::tests {

struct RoomyFirstPolicy : allocators::HallocPolicy {
    static constexpr bool kRoomyFirst = true;
};
using RoomyFirst = allocators::BasicHalloc<RoomyFirstPolicy>;

}  // namespace heapwood::tests
