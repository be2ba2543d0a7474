/// @file
/// What Cambium keeps in the cache that a caller lends it, which callers of a thread block may
/// share.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/cambium/blocks.cuh"
#include "allocators/cambium/open_block.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::cambium {

/// The words of a caller's cache, all 0 at the start.
class OwnWords {
public:
    using Word = platform::AtomicRef<std::uint64_t, platform::Scope::block>;
    using Moves = MovesAmong<platform::Scope::block>;

    /// Refers to the cache, which the caller has.
    HEAPWOOD_INLINE explicit OwnWords(const Context& context) : words_(context.cache->words) {}

    /// The position of the open block.
    HEAPWOOD_INLINE Word open() const { return Word(words_[0]); }

    /// A block that is kept until the next one is to be opened, or kNone: there is none.
    HEAPWOOD_INLINE std::uint32_t take_spare() const {
        return static_cast<std::uint32_t>(spare().exchange_acq_rel(0)) - 1;
    }
    /// Keeps an own block. False: there is one already.
    HEAPWOOD_INLINE bool put_spare(std::uint32_t block) const {
        std::uint64_t none = 0;
        return spare().cas_acq_rel(none, block + 1ULL);
    }
    HEAPWOOD_INLINE bool has_spare() const { return spare().load_relaxed() != 0; }

    /// Moves of those that share the cache.
    HEAPWOOD_INLINE Moves moves() const { return Moves(words_[2]); }

    /// Whether the half for so many blocks is known to have no untouched ones.
    HEAPWOOD_INLINE bool know_end(std::uint32_t n) const { return end(n).load_relaxed() != 0; }
    HEAPWOOD_INLINE void set_end(std::uint32_t n) const {
        // Not a store, for which compute-sanitizer would see a race of the warps that share the
        // cache: it cannot tell a relaxed store to shared memory from an ordinary one.
        end(n).set_relaxed(1);
    }

    /// Forgets all but the open and the spare block.
    HEAPWOOD_INLINE void clear() const {
        for (unsigned i = 2; i < 5; ++i) Word(words_[i]).store_relaxed(0);
    }

private:
    HEAPWOOD_INLINE Word spare() const { return Word(words_[1]); }
    HEAPWOOD_INLINE Word end(std::uint32_t n) const { return Word(words_[n == 1 ? 3 : 4]); }

    std::uint64_t* words_;
};

}  // namespace heapwood::allocators::cambium
