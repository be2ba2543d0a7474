/// @file
/// The circular allocators in kernels: a ring of chunks that tile the pool (ring.cuh), searched
/// from a hint onwards, first fit (search.cuh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/allocator.cuh"
#include "allocators/circular/detours.cuh"
#include "allocators/circular/homes.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/circular/refuges.cuh"
#include "allocators/circular/ring.cuh"
#include "allocators/circular/search.cuh"

namespace heapwood::allocators::circular {

/// The handle that kernels use. What sets the circular allocators apart is their Policy: see
/// policy.cuh.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        bool full;
        return allocate(context, bytes, full);
    }
    /// `full` tells, if the answer is nullptr, whether the search was conclusive: there was no such
    /// chunk, unless one has been freed since it began.
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes, bool& full) const {
        full = true;
        if (bytes == 0 || bytes > pool_bytes()) return nullptr;
        const std::uint32_t need = ring_.granules_of(bytes);
        const std::uint32_t at = find(context, {need, need});
        full = at == kNone;
        return at >= kUnsure ? nullptr : ring_.address(at);
    }

    /// A block of `bytes` bytes, a power of two of at least a granule, that starts at a multiple of
    /// them. `full` as above.
    HEAPWOOD_FN void* allocate_aligned(const Context& context, std::size_t bytes, bool& full) const
        requires(Policy::kShares) {
        full = true;
        if (bytes > pool_bytes()) return nullptr;
        const std::uint32_t need = ring_.granules_of(bytes);
        const std::uint32_t at = find<true>(context, {need, need});
        full = at == kNone;
        return at >= kUnsure ? nullptr : ring_.address(at);
    }

    /// Two blocks, each to be freed on its own, for the price of one search: they are next to one
    /// another, if there is a chunk large enough for both. @return false: there is no room for
    /// both, and nothing is allocated.
    HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                   void* (&blocks)[2]) const requires(Policy::kShares) {
        blocks[0] = blocks[1] = nullptr;
        if (bytes[0] == 0 || bytes[1] == 0 || bytes[0] > pool_bytes() || bytes[1] > pool_bytes()) {
            return false;
        }
        const std::uint32_t first = ring_.granules_of(bytes[0]);
        const std::uint32_t second = ring_.granules_of(bytes[1]);
        const std::uint32_t at = find(context, {first + second, first});
        if (at < kUnsure) {
            blocks[0] = ring_.address(at);
            blocks[1] = ring_.address(at + first);
            return true;
        }
        blocks[0] = allocate(context, bytes[0]);
        if (blocks[0] != nullptr) blocks[1] = allocate(context, bytes[1]);
        if (blocks[1] != nullptr) return true;
        deallocate(context, blocks[0], bytes[0]);
        blocks[0] = nullptr;
        return false;
    }

    /// `count` blocks of `bytes` bytes, side by side, each to be freed on its own, for the price of
    /// one search. @return the first one, or nullptr: no chunk has room for all.
    HEAPWOOD_NOINLINE void* allocate_run(Context context, std::size_t bytes,
                                         std::uint32_t count) const {
        if (bytes == 0 || bytes > pool_bytes() / count) return nullptr;
        const std::uint32_t each = ring_.granules_of(bytes);
        const std::uint32_t at = find(context, {each * count, each * count});
        return at >= kUnsure ? nullptr : ring_.cut_run(at, each, count);
    }

    /// The same after a short search, for at most longest_run() bytes in all. @return the first
    /// one, or nullptr: a few stretches have no room for all.
    HEAPWOOD_NOINLINE void* allocate_run_nearby(Context context, std::size_t bytes,
                                                std::uint32_t count) const
        requires(Policy::kShares) {
        const std::uint32_t each = ring_.granules_of(bytes);
        const Request request{each * count, each * count};
        std::uint32_t at = find_at_home<false>(ring_, hints_, context, request).at;
        if (at == kNone) at = find_away<false>(ring_, hints_, context, request, kMostMoves);
        return at == kNone ? nullptr : ring_.cut_run(at, each, count);
    }

    /// Bytes of the longest run that is found nearby.
    HEAPWOOD_INLINE std::uint64_t longest_run() const requires(Policy::kShares) {
        return ring_.bytes(hints_.medium());
    }

    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t) const {
        if (p != nullptr) free(context, ring_.granule(p));
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t) const {
        if (p == nullptr) return 0;
        const std::uint32_t at = ring_.granule(p);
        return ring_.bytes(ring_.load(at).next - at);
    }

    /// The first byte of a granule.
    HEAPWOOD_INLINE char* address(std::uint32_t at) const { return ring_.address(at); }

private:
    template <class>
    friend class CircularMalloc;

    HEAPWOOD_INLINE std::uint64_t pool_bytes() const { return ring_.bytes(ring_.granules()); }

    // Both operations are out of line, for they are long, and with the context by value, so that
    // the caller's need not lie in memory. Policy::kDirect: they work on a copy of the handle,
    // which lies in registers. Through the pointer its words are loaded anew after every atomic
    // operation, and after each that acquires, a GPU's L1 cache is empty.

    HEAPWOOD_NOINLINE void free(Context context, std::uint32_t at) const {
        if constexpr (Policy::kDirect) {
            Core(*this).free_here(context, at);
        } else {
            free_here(context, at);
        }
    }
    HEAPWOOD_INLINE void free_here(const Context& context, std::uint32_t at) const {
        // All loads at once, as far as they can: each takes a GPU the better part of a microsecond.
        std::uint32_t start = at;
        if constexpr (Policy::kBackward) start = ring_.before(at).load_relaxed();
        const std::uint32_t next = ring_.load(at).next;
        const Header ahead = ring_.load(next);
        Header behind{};
        if (start < at) behind = ring_.load(start);
        const std::uint32_t end =
            ring_.merge(next, ahead, end_of_home(next - 1), Policy::kMergesPerFree);
        if (end != next) ring_.unsettle(at, next);
        // A stretch's first header stays one.
        if (start < at && !(Policy::kShares && end_of_home(at - 1) == at)) {
            at = ring_.join_predecessor(start, behind, at, end);
        }
        Policy::pause();
        ring_.give(at, end);
        // What was freed last is free, and in the cache: there the next search begins.
        hints_.remember_freed(context, at);
    }
    HEAPWOOD_INLINE std::uint32_t end_of_home(std::uint32_t at) const {
        return hints_.end_of(at, ring_.granules());
    }

    /// Finds and takes a chunk. kAligned: the block starts at a multiple of its size, which is a
    /// power of two. @return where the block starts, or kNone, or kUnsure if the search was
    /// inconclusive
    template <bool kAligned = false>
    HEAPWOOD_NOINLINE std::uint32_t find(Context context, Request request) const {
        if constexpr (Policy::kShares) {
            Found found;
            if constexpr (Policy::kDirect) {
                const Core copy(*this);
                found = find_at_home<kAligned>(copy.ring_, copy.hints_, context, request);
            } else {
                found = find_at_home<kAligned>(ring_, hints_, context, request);
            }
            return found.at != kNone ? found.at
                                     : find_rarely<kAligned>(context, request, found.lost);
        } else {
            return find_in_ring<kAligned>(ring_, RefugeDetour<Policy>(ring_, hints_, context.warp),
                                          request);
        }
    }
    /// Where the caller's share has no room, or others were quicker (`lost`): then there is room
    /// about there. Out of line, for the same reasons.
    template <bool kAligned>
    HEAPWOOD_NOINLINE std::uint32_t find_rarely(Context context, Request request, bool lost) const
        requires(Policy::kShares) {
        if (request.need > ring_.granules()) return kNone;
        if (!lost) {
            const std::uint32_t at =
                find_away<kAligned>(ring_, hints_, context, request, kMostLooks);
            if (at != kNone) return at;
        }
        return find_in_ring<kAligned>(ring_, NoDetour<Policy>(hints_, context, request.need),
                                      request);
    }

    Ring<Policy> ring_;
    std::conditional_t<Policy::kShares, Homes<Policy>, Refuges<Policy>> hints_;
};

}  // namespace heapwood::allocators::circular
