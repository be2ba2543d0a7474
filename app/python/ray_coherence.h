/// @file
/// Whether neighbouring rays are so alike that packets of them are faster on a CPU.
#pragma once

#include <cstdint>

#include "kdtree/model/box.cuh"
#include "kdtree/model/triangle.cuh"

namespace heapwood::python {

/// Rays of a packet (kdtree/rays/ray_packets.h).
inline constexpr std::uint64_t kPacket = 8;

/// A vector's length, squared.
inline float square(const glm::vec3& v) {
    return v.x * v.x + v.y * v.y + v.z * v.z;
}

/// Whether eight rays begin near one another and go almost the same way.
///
/// The limits are measured: rays of a camera whose eight neighbours are 1/16 of a radian apart, and
/// parallel ones 1/32 of the box's diagonal, take about as long in packets as one by one (four
/// scenes of 1,280 to 200,000 triangles), and those that are less far apart less long.
inline bool is_packet(const kdtree::Ray* rays, const kdtree::Box& bounds) {
    constexpr float kTurn = 1.0F / 16;
    constexpr float kShift = 1.0F / 32;
    const kdtree::Ray& first = rays[0];
    const float turn = kTurn * kTurn * square(first.direction);
    const float shift = kShift * kShift * square(bounds.hi - bounds.lo);
    for (std::uint64_t i = 1; i < kPacket; ++i) {
        // What is not finite is not alike.
        const bool alike = square(rays[i].direction - first.direction) < turn &&
                           square(rays[i].origin - first.origin) <= shift;
        if (!alike) return false;
    }
    return true;
}

/// Whether three quarters of the packets of `count` rays in succession are. Looks no further than
/// it has to, so rays of all directions cost little.
inline bool are_coherent(const kdtree::Ray* rays, std::uint64_t count, const kdtree::Box& bounds) {
    const std::uint64_t packets = count / kPacket;
    std::uint64_t others = 0;
    for (std::uint64_t i = 0; i < packets; ++i) {
        others += is_packet(rays + i * kPacket, bounds) ? 0 : 1;
        if (others * 4 > packets) return false;
    }
    return packets != 0;
}

}  // namespace heapwood::python
