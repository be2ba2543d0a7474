/// @file
/// The last few blocks that a caller has freed, in the cache that it lends (Context::cache): what
/// is asked for again soon need not go through the pool.
#pragma once

#include <cstdint>
#include <iterator>

#include "allocators/allocator.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// Up to two blocks of each of kKinds kinds. A block is a number other than 0. All operations are
/// compare-and-swaps of {older, newer}, each a release and an acquire among the threads of a block:
/// what was done to a block before it was kept passes on to whoever takes it.
class KeptBlocks {
public:
    /// How many kinds of blocks there may be.
    static constexpr std::uint32_t kKinds = std::size(CallerCache{}.pages);
    /// How many blocks of a kind.
    static constexpr std::uint32_t kEach = 2;

    HEAPWOOD_INLINE explicit KeptBlocks(CallerCache& cache) : cache_(cache) {}

    /// The block that was kept last; 0: there is none.
    HEAPWOOD_INLINE std::uint32_t take(std::uint32_t kind) const {
        const Pair pair(cache_.pages[kind]);
        for (std::uint64_t w = pair.load_relaxed(); w != 0;) {
            if (pair.cas_acq_rel(w, w >> 32)) return static_cast<std::uint32_t>(w);
        }
        return 0;
    }
    /// @return false: there is no room for it.
    HEAPWOOD_INLINE bool keep(std::uint32_t kind, std::uint32_t block) const {
        const Pair pair(cache_.pages[kind]);
        for (std::uint64_t w = pair.load_relaxed(); w >> 32 == 0;) {
            if (pair.cas_acq_rel(w, w << 32 | block)) return true;
        }
        return false;
    }

private:
    using Pair = platform::AtomicRef<std::uint64_t, platform::Scope::block>;

    CallerCache& cache_;
};

/// How many kinds, from the first on, `callers` may keep if all of them together are to have at
/// most `most` bytes. bytes_of(kind): of a block; ascending.
template <class BytesOf>
std::uint32_t kinds_to_keep(std::uint32_t kinds, std::uint32_t callers, std::uint64_t most,
                            BytesOf&& bytes_of) {
    std::uint64_t bytes = 0;
    for (std::uint32_t kind = 0; kind < kinds && kind < KeptBlocks::kKinds; ++kind) {
        bytes += KeptBlocks::kEach * std::uint64_t{callers} * bytes_of(kind);
        if (bytes > most) return kind;
    }
    return kinds < KeptBlocks::kKinds ? kinds : KeptBlocks::kKinds;
}

}  // namespace heapwood::allocators
