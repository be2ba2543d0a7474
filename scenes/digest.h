/// @file
/// The hash of digests and checksums, and the digest of a scene.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "allocators/platform/for_chunks.h"
#include "scenes/scene.h"

namespace heapwood::scenes {

/// 64-bit FNV-1a (Fowler, Noll, Vo) over 32-bit words instead of bytes: the same on every machine.
/// Each step is a bijection of the hash, so that a single changed word always changes the result.
class Fnv {
public:
    void add(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001B3ULL; }
    /// Adds the 32-bit words of some memory.
    void add(const void* memory, std::uint64_t words) {
        std::uint32_t word = 0;
        for (std::uint64_t i = 0; i < words; ++i) {
            std::memcpy(&word, static_cast<const char*>(memory) + i * sizeof(word), sizeof(word));
            add(word);
        }
    }
    std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

/// 32-bit words of a block.
inline constexpr std::uint64_t kDigestBlock = std::uint64_t{1} << 24;

/// The digest of arrays of 32-bit words, taken as one row: the words' Fnv; of a row that is longer
/// than a block the Fnv of its blocks' Fnvs, each taken as one word of 64 bits. A chain of
/// multiplications has no parallel form, and blocks are computed by all cores.
/// @param sizes words of each array
/// @param add add(fnv, array, first, count) adds words of an array; several threads call it
template <std::size_t kArrays, class Add>
std::uint64_t digest_words(const std::array<std::uint64_t, kArrays>& sizes, const Add& add) {
    const std::uint64_t words = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    std::vector<Fnv> blocks(std::max<std::uint64_t>(1, (words + kDigestBlock - 1) / kDigestBlock));
    platform::for_chunks(words, kDigestBlock, 0, [&](std::uint64_t begin, std::uint64_t end) {
        Fnv fnv;  // not in the array, where neighbours would share its cache line
        std::uint64_t at = 0;
        for (std::size_t i = 0; i < kArrays; at += sizes[i++]) {
            const std::uint64_t first = std::max(begin, at);
            const std::uint64_t last = std::min(end, at + sizes[i]);
            if (first < last) add(fnv, i, first - at, last - first);
        }
        blocks[begin / kDigestBlock] = fnv;
    });
    if (blocks.size() == 1) return blocks.front().value();
    Fnv all;
    for (const Fnv& block : blocks) all.add(block.value());
    return all.value();
}

/// An array of 32-bit words in memory, whatever they mean. Owns nothing.
struct WordArray {
    const void* data;
    std::uint64_t words;
};

/// The same of arrays in memory.
template <std::size_t kArrays>
std::uint64_t digest_words(const std::array<WordArray, kArrays>& arrays) {
    std::array<std::uint64_t, kArrays> sizes;
    std::ranges::transform(arrays, sizes.begin(), &WordArray::words);
    return digest_words(sizes, [&](Fnv& fnv, std::size_t i, std::uint64_t first,
                                   std::uint64_t count) {
        fnv.add(static_cast<const char*>(arrays[i].data) + first * sizeof(std::uint32_t), count);
    });
}

/// That digest of the bits of positions and indices.
std::uint64_t digest(const Scene& scene);

}  // namespace heapwood::scenes
