/// @file
/// The bytes of tree files, for those who write and read them. kdtree/README.md has a table.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "kdtree/config_fields.h"
#include "kdtree/model/box.cuh"
#include "kdtree/tree/tree.h"
#include "scenes/digest.h"

namespace heapwood::kdtree::tree_format {

// Numbers are copied between memory and file as they are.
static_assert(std::endian::native == std::endian::little,
              "tree files are little-endian: a big-endian machine needs a conversion here");

/// A byte that is not ASCII, and both forms of a line's end: a transfer as text is noticed.
inline constexpr std::array<char, 8> kMagic{'\x89', 'K', 'D', 'T', '\r', '\n', '\x1a', '\n'};
inline constexpr std::uint32_t kByteOrder = 0x01020304;
/// Where sections begin: multiples of a cache line.
inline constexpr std::uint64_t kAlignment = 64;

/// Calls visit(field) for each field of a configuration that a tree depends on, in the order of the
/// file.
template <class Config, class Visit>
constexpr void each_field(Config& config, const Visit& visit) {
    for_each_field(config, [&](const Field& field, auto& value) {
        if (field.shapes_tree) visit(value);
    });
}

inline constexpr std::size_t kConfigWords = [] {
    const BuildConfig config;
    std::size_t count = 0;
    each_field(config, [&](const auto&) { ++count; });
    return count;
}();
/// Version 3 had 18 fields, and version 2 chains of FNV-1a over all words as digests and checksum.
/// With a further field there is a further version, whose header has a zero less; where a field is
/// left out or changes its meaning, the first number has to be raised.
inline constexpr std::uint32_t kVersion = 3 + (kConfigWords - 18);

/// The first bytes of a file.
struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t byte_order = kByteOrder;
    std::uint64_t bytes = 0;     ///< of the file
    std::uint64_t checksum = 0;  ///< the digest of all words of the file but this field's
    std::uint64_t tree_digest = 0;
    std::uint64_t scene_digest = 0;
    std::uint64_t nodes = 0;
    std::uint64_t references = 0;
    std::uint64_t triangles = 0;
    std::uint64_t positions = 0;
    Box bounds{};
    std::array<std::uint32_t, kConfigWords> config{};
    std::array<std::uint32_t, 22 - kConfigWords> reserved{};
};
static_assert(sizeof(Header) == 192 && sizeof(Header) % kAlignment == 0);
static_assert(offsetof(Header, checksum) == 24 && offsetof(Header, config) == 104);
static_assert(std::is_trivially_copyable_v<Header>);
static_assert(kMostNodes == Node::kLimit);
static_assert(sizeof(glm::vec3) == 12 && sizeof(glm::uvec3) == 12);

/// Where the sections behind the header begin, and where the file ends.
struct Layout {
    std::uint64_t nodes, references, triangles, positions, end;

    explicit Layout(const Header& header) {
        std::uint64_t at = sizeof(Header);
        const auto section = [&at](std::uint64_t count, std::uint64_t size) {
            const std::uint64_t begin = at;
            at += (count * size + kAlignment - 1) / kAlignment * kAlignment;
            return begin;
        };
        nodes = section(header.nodes, sizeof(Node));
        references = section(header.references, sizeof(std::uint32_t));
        triangles = section(header.triangles, sizeof(glm::uvec3));
        positions = section(header.positions, sizeof(glm::vec3));
        end = at;
    }
};

inline std::array<std::uint32_t, kConfigWords> packed(const BuildConfig& config) {
    std::array<std::uint32_t, kConfigWords> words;
    std::size_t i = 0;
    each_field(config, [&](const auto& field) {
        if constexpr (std::is_same_v<decltype(field), const float&>) {
            words.at(i++) = std::bit_cast<std::uint32_t>(field);
        } else {
            words.at(i++) = static_cast<std::uint32_t>(field);
        }
    });
    return words;
}

/// Bytes of a file that a thread has in memory at a time.
inline constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

/// Calls use(offset, memory) for pieces of a stretch of a file, in their order; `memory` has as
/// many bytes as the piece.
template <class Use>
void for_pieces(std::uint64_t offset, std::uint64_t bytes, const Use& use) {
    std::vector<char> memory(std::min(bytes, kPiece));
    for (const std::uint64_t end = offset + bytes; offset != end;) {
        const std::span<char> piece(memory.data(), std::min(kPiece, end - offset));
        use(offset, piece);
        offset += piece.size();
    }
}

/// The checksum of a file: the digest of its words, of which the checksum's own are left out but
/// counted.
/// @param add add(fnv, offset, words) adds words of the file from a byte's offset on; several
/// threads call it
template <class Add>
std::uint64_t checksum_of(std::uint64_t bytes, const Add& add) {
    constexpr std::uint64_t kWord = sizeof(std::uint32_t);
    constexpr std::uint64_t kBefore = offsetof(Header, checksum) / kWord;
    constexpr std::uint64_t kOwn = sizeof(Header::checksum) / kWord;
    constexpr std::array<std::uint64_t, 3> kOffsets{0, kBefore * kWord, (kBefore + kOwn) * kWord};
    const std::array<std::uint64_t, 3> sizes{kBefore, kOwn, bytes / kWord - kBefore - kOwn};
    return scenes::digest_words(
        sizes, [&](scenes::Fnv& fnv, std::size_t i, std::uint64_t first, std::uint64_t words) {
            if (i != 1) add(fnv, kOffsets[i] + first * kWord, words);
        });
}

}  // namespace heapwood::kdtree::tree_format
