/// @file
/// The requests of a workload and the blocks that answer them, one a slot; and the stamps by which
/// blocks that overlap, or that the allocator writes to, are found out.
///
/// A block is stamped in whole words, each with a value of its own slot and place, so that whatever
/// writes to it spoils a stamp. The stamps of slots are computed, never stored; so are the sizes,
/// but for those of a replay.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection that looks random.
HEAPWOOD_INLINE std::uint64_t mixed(std::uint64_t v) {
    v += 0x9e3779b97f4a7c15U;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9U;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebU;
    return v ^ (v >> 31);
}

/// Slots for blocks. `data` lies where the workload runs.
struct Blocks {
    void** data;              ///< the block of every slot; nullptr: none
    std::uint64_t slots;      ///< how many
    std::uint64_t min_bytes;  ///< of a request; a multiple of 4, at least 4
    std::uint64_t max_bytes;  ///< likewise, at least min_bytes
    std::uint64_t seed;
    /// By slot: the size of its request, a multiple of 4, from min_bytes to max_bytes; nullptr: any
    /// such number, each as likely as any other.
    const std::uint64_t* sizes = nullptr;

    /// The size of the slot's request.
    HEAPWOOD_INLINE std::uint64_t bytes(std::uint64_t slot) const {
        if (sizes != nullptr) return sizes[slot];
        if (min_bytes == max_bytes) return min_bytes;
        const std::uint64_t choices = (max_bytes - min_bytes) / 4 + 1;
        return min_bytes + 4 * (mixed(seed ^ slot) % choices);
    }
    /// What stands in word 0 of the slot's block; word i has i more, modulo 2^32.
    HEAPWOOD_INLINE std::uint32_t stamp(std::uint64_t slot) const {
        return static_cast<std::uint32_t>(mixed(~slot ^ seed));
    }
};

/// How much of a block the caller stamps on receipt and checks before it frees it.
enum class Stamps : std::uint32_t {
    none,   ///< nothing: somebody else does (touch_blocks)
    ends,   ///< the first and the last word
    whole,  ///< every word
};

/// Writes the stamp of a slot's block. @param blocks says its bytes() and stamp().
template <class Known>
HEAPWOOD_FN void write_stamp(const Known& blocks, std::uint64_t slot, void* block, Stamps stamps) {
    if (stamps == Stamps::none) return;
    auto* words = static_cast<std::uint32_t*>(block);
    const std::uint64_t last = blocks.bytes(slot) / 4 - 1;
    const std::uint32_t stamp = blocks.stamp(slot);
    for (std::uint64_t i = 0; i < last; i = stamps == Stamps::whole ? i + 1 : last) {
        words[i] = stamp + static_cast<std::uint32_t>(i);
    }
    words[last] = stamp + static_cast<std::uint32_t>(last);
}

/// Whether the stamp is still there.
template <class Known>
HEAPWOOD_FN bool has_stamp(const Known& blocks, std::uint64_t slot, const void* block,
                           Stamps stamps) {
    if (stamps == Stamps::none) return true;
    const auto* words = static_cast<const std::uint32_t*>(block);
    const std::uint64_t last = blocks.bytes(slot) / 4 - 1;
    const std::uint32_t stamp = blocks.stamp(slot);
    for (std::uint64_t i = 0; i < last; i = stamps == Stamps::whole ? i + 1 : last) {
        if (words[i] != stamp + static_cast<std::uint32_t>(i)) return false;
    }
    return words[last] == stamp + static_cast<std::uint32_t>(last);
}

/// What callers saw, added up.
struct Counts {
    std::uint64_t requests;
    std::uint64_t frees;
    std::uint64_t failed;   ///< requests answered with nullptr
    std::uint64_t corrupt;  ///< blocks whose stamp had changed, or that should not exist

    bool operator==(const Counts&) const = default;
};

/// How many threads, next to each other, touch a block together.
inline constexpr std::uint32_t kTouchers = 8;

/// Reading or writing all the memory that was handed out.
struct Touch {
    bool write;  ///< stamps every word; else reads every word and compares it
    Blocks blocks;
    Counts* counts;  ///< adds to `corrupt` the blocks of which a word had changed
};

/// The part of thread `toucher` (below blocks.slots * kTouchers) in a Touch. Slots without a block
/// are passed over; a block may be counted once by each of its threads.
HEAPWOOD_FN inline void touch_blocks(const Touch& touch, std::uint64_t toucher) {
    const std::uint64_t slot = toucher / kTouchers;
    const std::uint64_t part = toucher % kTouchers;
    auto* words = static_cast<std::uint32_t*>(touch.blocks.data[slot]);
    if (words == nullptr) return;
    const std::uint64_t count = touch.blocks.bytes(slot) / 4;
    const std::uint32_t stamp = touch.blocks.stamp(slot);
    bool spoiled = false;
    for (std::uint64_t i = part; i < count; i += kTouchers) {
        const std::uint32_t word = stamp + static_cast<std::uint32_t>(i);
        if (touch.write) {
            words[i] = word;
        } else if (words[i] != word) {
            spoiled = true;
        }
    }
    if (spoiled) platform::AtomicRef(touch.counts->corrupt).count_relaxed(1);
}

}  // namespace heapwood::allocators
