/// @file
/// The part of Hybrid that runs in kernels: pieces of open blocks, and runs of whole ones.
///
/// **What the words mean.**
/// - An open word is {block + 1, units of 16 bytes used, pieces given}: nobody but the block's
///   giver knows of the rest of the block. A request replaces it by compare-and-swap, which both
///   takes a piece and counts it; a full one is replaced by that of a fresh block, and whoever
///   does that closes the old one.
/// - live[b] is kOpen - frees while b is open. Closing adds pieces - kOpen, so that from then on it
///   is the number of pieces in use. Whoever brings it to 0, by closing or by freeing, is alone
///   with the block, and returns it. It is 0 for all granules that are not blocks of pieces.
///
/// **Memory order.** Each free is a release on live[b]; the one that brings it to 0 then acquires
/// it, and so has all that was done to any piece behind it. It passes the block on through the list
/// (release and acquire there), or through its cache's `spare` (likewise, among the threads of one
/// block). The opener publishes the block by a release on the open word, and each request that
/// takes a piece acquires it: in the scope of the thread block if it is in a cache, so that a GPU
/// need not give up its L1 cache for it.
///
/// **Progress.** A lost compare-and-swap on an open word means that another has taken a piece or
/// opened a block. When the list has no block left, the open blocks of the caller and those that
/// all share are closed if none of their pieces is in use, the caller's spare one is returned, and
/// the request is tried again. If that yields nothing while others are about to open a block, the
/// request looks for that block a limited number of times before it is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/hybrid/words.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {
class Hybrid;
}

namespace heapwood::allocators::hybrid {

/// The list behind Hybrid's blocks.
struct ListPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    static constexpr std::uint32_t kSmallestShare = 16;  // a granule is a whole block here
    static constexpr std::uint32_t kSmallestStretch = 4;
    static constexpr Traits traits() {
        return {.name = "hybrid",
                .title = "Hybrid",
                .source = "Heapwood; Vinkler & Havran 2015, future work",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 3 * sizeof(std::uint32_t),  // header, predecessor, pieces
                .smallest_pool = 16384,
                .shares_regions = true};
    }
};

using List = circular::CircularMalloc<ListPolicy>;

/// The handle that kernels use.
class Core {
    using Scope = platform::Scope;

public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes != 0 && bytes <= small_ && has_cache(context)) {
            if (void* p = cut(cached_word(context), units_of(bytes))) return p;
        }
        return allocate_slowly(context, bytes);
    }
    /// Two pieces of one block, or two runs next to one another.
    HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                   void* (&blocks)[2]) const {
        if (bytes[0] != 0 && bytes[1] != 0 && bytes[0] <= small_ && bytes[1] <= small_ &&
            has_cache(context)) {
            const std::uint32_t first = units_of(bytes[0]);
            blocks[0] = cut(cached_word(context), first + units_of(bytes[1]), 2);
            if (blocks[0] != nullptr) {
                blocks[1] = static_cast<char*>(blocks[0]) + std::uint64_t{first} * kUnit;
                return true;
            }
        }
        const Blocks both = allocate_slowly(context, bytes[0], bytes[1]);
        blocks[0] = both.first;
        blocks[1] = both.second;
        return both.second != nullptr;
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        // Release: whatever was done to this piece, to the one who returns the block.
        if (bytes <= small_ && live(block_of(p)).sub_release(1) != 1) return;
        deallocate_slowly(context, p, bytes);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return bytes > small_ ? list_.granted_bytes(p, bytes)
                              : platform::round_up<std::uint64_t>(bytes, kUnit);
    }
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        const Open open = cached_word(context).exchange_acq_rel(0);
        if (open != 0) close(context, open);
        const std::uint32_t spare = take_spare(context);
        if (spare != 0) to_list(context, address(spare - 1));
    }

private:
    friend class allocators::Hybrid;

    /// How many times a request looks for a block that others may be about to open.
    static constexpr std::uint32_t kPatience = 8;

    HEAPWOOD_INLINE platform::AtomicRef<Live> live(std::uint32_t block) const {
        return platform::AtomicRef<Live>(live_[block]);
    }
    HEAPWOOD_INLINE platform::AtomicRef<Open> shared_word(std::uint32_t i) const {
        return platform::AtomicRef<Open>(shared_[i * kSharedStride]);
    }
    /// Requests that are about to take and open a block; behind the shared words.
    HEAPWOOD_INLINE platform::AtomicRef<Open> opening() const {
        return shared_word(shared_mask_ + 1);
    }
    HEAPWOOD_INLINE std::uint32_t block_of(const void* p) const {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> shift_);
    }
    HEAPWOOD_INLINE char* address(std::uint32_t block) const {
        return pool_ + (static_cast<std::uint64_t>(block) << shift_);
    }
    HEAPWOOD_INLINE bool has_cache(const Context& context) const {
        return context.cache != nullptr && context.warp < cached_callers_;
    }
    HEAPWOOD_INLINE static platform::AtomicRef<std::uint64_t, Scope::block> spare_word(
        const Context& context) {
        return platform::AtomicRef<std::uint64_t, Scope::block>(context.cache->words[1]);
    }
    /// The caller's spare block, plus 1; 0: it has none.
    HEAPWOOD_INLINE static std::uint32_t take_spare(const Context& context) {
        return static_cast<std::uint32_t>(spare_word(context).exchange_acq_rel(0));
    }

    HEAPWOOD_INLINE static platform::AtomicRef<Open, Scope::block> cached_word(
        const Context& context) {
        return platform::AtomicRef<Open, Scope::block>(context.cache->words[0]);
    }
    HEAPWOOD_INLINE static std::uint32_t units_of(std::size_t bytes) {
        return static_cast<std::uint32_t>((bytes + kUnit - 1) >> kUnitShift);
    }
    HEAPWOOD_INLINE bool has_room(Open w, std::uint32_t units) const {
        return w != 0 && used_of(w) + units <= 1U << (shift_ - kUnitShift);
    }

    /// Takes a piece of the open block of `word`. nullptr: it has no room for it.
    template <Scope kScope>
    HEAPWOOD_INLINE char* cut(platform::AtomicRef<Open, kScope> word, std::uint32_t units,
                              std::uint32_t pieces = 1) const {
        for (Open w = word.load_relaxed(); has_room(w, units);) {
            if (word.cas_acquire(w, w + make_pieces(units, pieces))) {
                return address(block_of_word(w)) + std::uint64_t{used_of(w)} * kUnit;
            }
        }
        return nullptr;
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    struct Blocks {
        void* first;
        void* second;
    };

    /// Two requests; nullptr for both if there is no memory for either.
    HEAPWOOD_NOINLINE Blocks allocate_slowly(Context context, std::size_t first,
                                             std::size_t second) const {
        if (first > small_ && second > small_) {
            void* blocks[2];
            if (list_.allocate_pair(context, {first, second}, blocks)) {
                return {blocks[0], blocks[1]};
            }
        } else if (first != 0 && second != 0 && first <= small_ && second <= small_ &&
                   has_cache(context)) {
            const std::uint32_t units = units_of(first);
            char* p = cut_fresh(cached_word(context), context, units + units_of(second), 2);
            return {p, p == nullptr ? p : p + std::uint64_t{units} * kUnit};
        }
        Blocks blocks{allocate_slowly(context, first), nullptr};
        if (blocks.first != nullptr) blocks.second = allocate_slowly(context, second);
        if (blocks.first != nullptr && blocks.second == nullptr) {
            deallocate(context, blocks.first, first);
            blocks.first = nullptr;
        }
        return blocks;
    }
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        if (bytes == 0) return nullptr;
        if (bytes > small_) return from_list(context, bytes);
        const std::uint32_t units = units_of(bytes);
        if (has_cache(context)) return cut_any(cached_word(context), context, units);
        return cut_any(shared_word(context.warp & shared_mask_), context, units);
    }
    /// Returns a run of blocks, or the block whose last piece has been freed.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > small_) {
            to_list(context, p);
        } else {
            recycle(context, block_of(p));
        }
    }

    /// As cut() for one piece, from a block of its own if need be.
    template <Scope kScope>
    HEAPWOOD_FN char* cut_any(platform::AtomicRef<Open, kScope> word, const Context& context,
                              std::uint32_t units) const {
        if (char* p = cut(word, units)) return p;
        return cut_fresh(word, context, units);
    }
    /// As cut(), with a block of its own to begin with. When there is none, others may have taken
    /// the last ones, and be about to open them.
    template <Scope kScope>
    HEAPWOOD_NOINLINE char* cut_fresh(platform::AtomicRef<Open, kScope> word, Context context,
                                      std::uint32_t units, std::uint32_t pieces = 1) const {
        // Acquire: no block is taken before it.
        opening().add_acquire(1);
        const std::uint32_t fresh = own_block(context);
        char* p = fresh == 0 ? nullptr : open(word, context, fresh, units, pieces);
        // Release: the word, to a request that has found no block.
        opening().sub_release(1);
        for (std::uint32_t looks = 0; p == nullptr && looks < kPatience; ++looks) {
            // Acquire: the words of all that have opened a block before.
            const bool alone = opening().load_acquire() == 0;
            p = cut(word, units, pieces);
            if (alone) break;
            platform::back_off(looks);
        }
        return p;
    }
    /// Cuts pieces from the own block, which it leaves in the word, or from one that another has
    /// opened meanwhile.
    template <Scope kScope>
    HEAPWOOD_INLINE char* open(platform::AtomicRef<Open, kScope> word, const Context& context,
                               std::uint32_t fresh, std::uint32_t units,
                               std::uint32_t pieces) const {
        live(fresh - 1).store_relaxed(kOpen);
        for (;;) {
            if (char* p = cut(word, units, pieces)) {
                keep(context, fresh - 1);
                return p;
            }
            Open w = word.load_relaxed();
            // Release: the block, with all that its former users did to it.
            if (!has_room(w, units) &&
                word.cas_acq_rel(w, (Open{fresh} << 32) + make_pieces(units, pieces))) {
                if (w != 0) close(context, w);
                return address(fresh - 1);
            }
        }
    }

    /// A block for the caller alone, plus 1; 0: there is none.
    HEAPWOOD_FN std::uint32_t own_block(const Context& context) const {
        if (has_cache(context)) {
            const std::uint32_t spare = take_spare(context);
            if (spare != 0) return spare;
        }
        void* p = from_list(context, std::size_t{1} << shift_);
        return p == nullptr ? 0 : block_of(p) + 1;
    }

    /// Counts the block as closed.
    HEAPWOOD_FN void close(const Context& context, Open word) const {
        const std::uint32_t block = block_of_word(word);
        const Live change = kOpen - pieces_of(word);
        if (live(block).sub_release(change) == change) recycle(context, block);
    }
    /// Nobody uses any piece of a closed block.
    HEAPWOOD_FN void recycle(const Context& context, std::uint32_t block) const {
        live(block).load_acquire();  // from all who freed pieces of it
        keep(context, block);
    }
    /// Puts an own block aside for this caller, or returns it to the list.
    HEAPWOOD_FN void keep(const Context& context, std::uint32_t block) const {
        live(block).store_relaxed(0);
        if (has_cache(context)) {
            std::uint64_t none = 0;
            if (spare_word(context).cas_acq_rel(none, block + 1ULL)) return;
        }
        to_list(context, address(block));
    }

    /// A run of blocks; closes idle ones if there is none.
    HEAPWOOD_NOINLINE void* from_list(Context context, std::size_t bytes) const {
        for (bool again = false;; again = true) {
            void* p = list_.allocate(context, bytes);
            if (p != nullptr || again || !close_idle(context)) return p;
        }
    }
    HEAPWOOD_NOINLINE void to_list(Context context, void* p) const {
        list_.deallocate(context, p, 0);
    }
    /// Returns the caller's spare block, and closes its open one and the shared ones if no piece of
    /// theirs is in use. @return whether there was such a block
    HEAPWOOD_FN bool close_idle(const Context& context) const {
        bool any = false;
        if (has_cache(context)) {
            any = close_if_idle(cached_word(context), context);
            const std::uint32_t spare = take_spare(context);
            if (spare != 0) to_list(context, address(spare - 1));
            any = any || spare != 0;
        }
        for (std::uint32_t i = 0; i <= shared_mask_; ++i) {
            if (close_if_idle(shared_word(i), context)) any = true;
        }
        return any;
    }
    template <Scope kScope>
    HEAPWOOD_FN bool close_if_idle(platform::AtomicRef<Open, kScope> word,
                                   const Context& context) const {
        Open w = word.load_relaxed();
        if (w == 0 || live(block_of_word(w)).load_relaxed() != kOpen - pieces_of(w) ||
            !word.cas_acquire(w, 0)) {
            return false;
        }
        // To the list, where everybody finds it, not to this caller's cache.
        close({context.multiprocessor, context.warp}, w);
        return true;
    }

    circular::Core<ListPolicy> list_;
    char* pool_;
    Live* live_;
    Open* shared_;
    std::uint32_t shared_mask_;
    std::uint32_t cached_callers_;
    std::uint32_t shift_;
    std::uint32_t small_;  // bytes
};

}  // namespace heapwood::allocators::hybrid
