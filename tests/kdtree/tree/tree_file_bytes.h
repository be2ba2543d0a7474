/// @file
/// The bytes of a tree file: read and changed one by one, and made to fit each other again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "kdtree/tree/tree_file.h"

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

/// tree_file() as text.
inline std::string tree_bytes(const Tree& tree, const scenes::Scene& scene,
                              const BuildConfig& config) {
    const allocators::Buffer file = tree_file(tree, scene, config);
    return {file.as<char>(), file.size()};
}

/// The digest of a row of words, by its definition in kdtree/README.md: 64-bit FNV-1a, whose steps
/// take words of 32 bits, or whole hashes of blocks.
class RowDigest {
public:
    void add(std::uint32_t word) {
        if (counted_ == kBlock) end_block();
        step(block_, word);
        ++counted_;
    }
    /// A word that is counted, but does not change the hash.
    void skip() { ++counted_; }
    std::uint64_t value() {
        if (!several_) return block_;
        end_block();
        return all_;
    }

private:
    static constexpr std::uint64_t kBasis = 0xCBF29CE484222325U;
    static constexpr std::uint64_t kBlock = 16777216;

    static void step(std::uint64_t& hash, std::uint64_t word) {
        hash = (hash ^ word) * 0x100000001B3U;
    }
    void end_block() {
        step(all_, block_);
        several_ = true;
        block_ = kBasis;
        counted_ = 0;
    }

    std::uint64_t block_ = kBasis;
    std::uint64_t all_ = kBasis;
    std::uint64_t counted_ = 0;
    bool several_ = false;
};

/// Makes the checksum fit to the rest, as the author of a hostile file would.
inline void seal(std::string& bytes) {
    RowDigest row;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
        const bool own = i == kChecksum || i == kChecksum + 4;
        own ? row.skip() : row.add(get<std::uint32_t>(bytes, i));
    }
    put(bytes, kChecksum, row.value());
}

inline std::size_t rounded(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/// And the digests.
inline void seal_all(std::string& bytes) {
    const auto nodes = get<std::uint64_t>(bytes, kNodes);
    const auto references = get<std::uint64_t>(bytes, kReferences);
    const auto add = [&bytes](RowDigest& row, std::size_t offset, std::size_t words) {
        for (std::size_t i = 0; i < words; ++i) row.add(get<std::uint32_t>(bytes, offset + 4 * i));
    };
    RowDigest tree;
    tree.add(static_cast<std::uint32_t>(nodes));
    add(tree, kHeader, 2 * nodes);
    const std::size_t at_references = kHeader + rounded(8 * nodes);
    add(tree, at_references, references);
    put(bytes, kTreeDigest, tree.value());
    const std::size_t at_triangles = at_references + rounded(4 * references);
    const auto triangles = get<std::uint64_t>(bytes, kTriangles);
    RowDigest scene;
    add(scene, at_triangles + rounded(12 * triangles), 3 * get<std::uint64_t>(bytes, kPositions));
    add(scene, at_triangles, 3 * triangles);
    put(bytes, kSceneDigest, scene.value());
    seal(bytes);
}

}  // namespace heapwood::kdtree::tests
