/// @file
/// Rays that take similar ways, eight at a time, by a CPU's vector instructions; and which do.
#pragma once

#include <cstdint>

#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"
#include "kdtree/rays/ray_layout.cuh"
#include "kdtree/rays/wide_tree.h"

namespace heapwood::kdtree {

/// A tree on the host, in both forms: eight rays at a time step from node to node; those that go
/// into different directions are traced one by one.
struct PacketView {
    RayTreeView nodes;
    WideTreeView wide;
};

/// closest_hit and any_hit (1 or 0) of `count` rays, with TriangleTest. The more alike eight rays
/// in succession are, the faster. Where WideTree::is_supported().
void packet_closest_hits(const PacketView& tree, const Ray* rays, std::uint64_t count, Hit* hits);
void packet_any_hits(const PacketView& tree, const Ray* rays, std::uint64_t count,
                     std::uint32_t* found);

/// Rays of a packet.
inline constexpr std::uint64_t kPacket = 8;

/// Whether at least three quarters of the packets of `count` rays in succession are of rays that
/// begin near one another, compared with the tree's box, and go almost the same way: packets are
/// faster then. Looks no further than it has to, so rays of all directions cost little.
bool are_coherent(const Ray* rays, std::uint64_t count, const Box& bounds);

}  // namespace heapwood::kdtree
