/// @file
/// The bytes of a tree file: read and changed one by one, and made to fit each other again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "scenes/digest.h"

namespace heapwood::kdtree::tests {

// Where a header's fields are: written down again, from the table in kdtree/README.md.
inline constexpr std::size_t kVersion = 8;
inline constexpr std::size_t kByteOrder = 12;
inline constexpr std::size_t kBytes = 16;
inline constexpr std::size_t kChecksum = 24;
inline constexpr std::size_t kTreeDigest = 32;
inline constexpr std::size_t kSceneDigest = 40;
inline constexpr std::size_t kNodes = 48;
inline constexpr std::size_t kReferences = 56;
inline constexpr std::size_t kTriangles = 64;
inline constexpr std::size_t kPositions = 72;
inline constexpr std::size_t kBounds = 80;
inline constexpr std::size_t kConfig = 104;
inline constexpr std::size_t kHeader = 192;

template <class T>
T get(const std::string& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

/// Makes the checksum fit to the rest, as the author of a hostile file would.
inline void seal(std::string& bytes) {
    scenes::Fnv hash;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        if (i != kChecksum && i != kChecksum + 4) hash.add(get<std::uint32_t>(bytes, i));
    }
    put(bytes, kChecksum, hash.value());
}

inline std::size_t rounded(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// And the digests.
inline void seal_all(std::string& bytes) {
    const auto nodes = get<std::uint64_t>(bytes, kNodes);
    const auto references = get<std::uint64_t>(bytes, kReferences);
    scenes::Fnv tree;
    tree.add(static_cast<std::uint32_t>(nodes));
    for (std::size_t i = 0; i < 2 * nodes; ++i) {
        tree.add(get<std::uint32_t>(bytes, kHeader + 4 * i));
    }
    const std::size_t at_references = kHeader + rounded(8 * nodes);
    for (std::size_t i = 0; i < references; ++i) {
        tree.add(get<std::uint32_t>(bytes, at_references + 4 * i));
    }
    put(bytes, kTreeDigest, tree.value());
    const std::size_t at_triangles = at_references + rounded(4 * references);
    const auto triangles = get<std::uint64_t>(bytes, kTriangles);
    const std::size_t at_positions = at_triangles + rounded(12 * triangles);
    scenes::Fnv scene;
    for (std::size_t i = 0; i < 3 * get<std::uint64_t>(bytes, kPositions); ++i) {
        scene.add(get<std::uint32_t>(bytes, at_positions + 4 * i));
    }
    for (std::size_t i = 0; i < 3 * triangles; ++i) {
        scene.add(get<std::uint32_t>(bytes, at_triangles + 4 * i));
    }
    put(bytes, kSceneDigest, scene.value());
    seal(bytes);
}

}  // namespace heapwood::kdtree::tests
