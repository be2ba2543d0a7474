/// @file
/// Where the buddy allocator remembers that a caller's last requests were served.
#pragma once

#include <cstdint>

#include "allocators/buddy/tree.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::buddy {

/// A word with two nodes, those at which the last requests of levels 0 and 1 were served; 0: none.
/// It lies in the caller's cache, word 0, or in a table beside the pool. Two callers may overwrite
/// each other's: it is a hint.
class Hint {
public:
    /// `cached`: the word lies in a cache, which only the threads of one block use.
    HEAPWOOD_INLINE Hint(std::uint64_t* word, bool cached) : word_(word), cached_(cached) {}

    /// The node of that level, or 0.
    HEAPWOOD_INLINE Node look(std::uint32_t level) const {
        if (level >= 2) return 0;
        return static_cast<Node>(platform::AtomicRef(*word_).load_relaxed() >> 32 * level);
    }
    HEAPWOOD_INLINE void remember(std::uint32_t level, Node at) const {
        if (level >= 2) return;
        const std::uint64_t both = platform::AtomicRef(*word_).load_relaxed();
        const std::uint64_t other = level == 0 ? both >> 32 << 32 : both & 0xffffffffU;
        const std::uint64_t now = std::uint64_t{at} << 32 * level | other;
        if (cached_) {
            // Not a store, for which compute-sanitizer would see a race of the warp's lanes.
            platform::AtomicRef<std::uint64_t, platform::Scope::block>(*word_).exchange_acquire(
                now);
        } else {
            platform::AtomicRef(*word_).store_relaxed(now);
        }
    }

private:
    std::uint64_t* word_;
    bool cached_;
};

}  // namespace heapwood::allocators::buddy
