/// @file
/// The hash of digests and checksums, and the digest of a scene.
#pragma once

#include <cstdint>

#include "scenes/scene.h"

namespace heapwood::scenes {

/// 64-bit FNV-1a (Fowler, Noll, Vo) over 32-bit words instead of bytes: the same on every machine.
/// Each step is a bijection of the hash, so that a single changed word always changes the result.
class Fnv {
public:
    void add(std::uint32_t word) { hash_ = (hash_ ^ word) * 0x100000001B3ULL; }
    std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

/// That hash over the bits of positions and indices.
std::uint64_t digest(const Scene& scene);

}  // namespace heapwood::scenes
