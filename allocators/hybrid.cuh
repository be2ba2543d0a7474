/// @file
/// Hybrid: blocks for small requests in front of a circular list, Heapwood's own allocator.
///
/// Vinkler & Havran 2015 name a hybrid as future work: small requests and large ones want different
/// allocators. Here the pool is a circular list (circular/ring.cuh) whose granule is a block of up
/// to 32 KiB. A request of at most half a block is cut from an open block, front to
/// back; a larger one is a run of blocks from the list. A block counts its pieces, and returns to
/// the list when it is closed and the last of its pieces has been freed.
///
/// **Where open blocks are kept.** In the caller's cache (Context::cache), which on a GPU is shared
/// memory: then an allocation touches the pool's tables only when it opens a block. Callers without
/// a cache, and those for whose blocks the pool is too small, share a table of open blocks.
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
/// **Progress.** Nobody waits. A lost compare-and-swap on an open word means that another has taken
/// a piece or opened a block. When the list has no block left, the shared open blocks none of whose
/// pieces is in use are closed, the caller's spare one is returned, and the request is tried again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// The list behind Hybrid's blocks.
struct HybridListPolicy : circular::HintPerMultiprocessor {
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

class Hybrid {
    using List = circular::CircularMalloc<HybridListPolicy>;
    using Live = std::uint32_t;
    using Open = std::uint64_t;
    using Scope = platform::Scope;

public:
    static constexpr Traits traits() { return HybridListPolicy::traits(); }

    class Ref {
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
            if (!has_cache(context)) return;
            const Open open = cached_word(context).exchange_acq_rel(0);
            if (open != 0) close(context, open);
            const std::uint32_t spare = take_spare(context);
            if (spare != 0) to_list(context, address(spare - 1));
        }

    private:
        friend class Hybrid;

        HEAPWOOD_INLINE platform::AtomicRef<Live> live(std::uint32_t block) const {
            return platform::AtomicRef<Live>(live_[block]);
        }
        HEAPWOOD_INLINE platform::AtomicRef<Open> shared_word(std::uint32_t i) const {
            return platform::AtomicRef<Open>(shared_[i * kSharedStride]);
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
        HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p,
                                                 std::size_t bytes) const {
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
        /// As cut(), with a block of its own to begin with.
        template <Scope kScope>
        HEAPWOOD_NOINLINE char* cut_fresh(platform::AtomicRef<Open, kScope> word, Context context,
                                          std::uint32_t units, std::uint32_t pieces = 1) const {
            const std::uint32_t fresh = own_block(context);
            if (fresh == 0) return nullptr;
            live(fresh - 1).store_relaxed(kOpen);
            for (;;) {
                // Somebody else may have opened one meanwhile.
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
        /// Returns the caller's spare block, and closes the shared open ones without a piece in
        /// use.
        /// @return whether there was one.
        HEAPWOOD_FN bool close_idle(const Context& context) const {
            const std::uint32_t spare = has_cache(context) ? take_spare(context) : 0;
            if (spare != 0) to_list(context, address(spare - 1));
            bool any = spare != 0;
            for (std::uint32_t i = 0; i <= shared_mask_; ++i) {
                Open w = shared_word(i).load_relaxed();
                if (w == 0 || live(block_of_word(w)).load_relaxed() != kOpen - pieces_of(w) ||
                    !shared_word(i).cas_acquire(w, 0)) {
                    continue;
                }
                // To the list, where everybody finds it, not to this caller's cache.
                close({context.multiprocessor, context.warp}, w);
                any = true;
            }
            return any;
        }

        circular::Core<HybridListPolicy> list_;
        char* pool_;
        Live* live_;
        Open* shared_;
        std::uint32_t shared_mask_;
        std::uint32_t cached_callers_;
        std::uint32_t shift_;
        std::uint32_t small_;  // bytes
    };

    explicit Hybrid(const PoolConfig& config)
        : shift_(block_shift(config)), list_(config, shift_), shared_count_(1) {
        const std::uint64_t blocks = config.bytes >> shift_;
        live_ = Buffer(config.place, blocks * sizeof(Live));
        // Of the pool, callers have at most a third open to themselves and a third spare; an eighth
        // is open to all.
        cached_callers_ = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(config.callers, blocks / kBlocksPerCachedCaller));
        shared_count_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(config.callers, 1, std::max<std::uint64_t>(blocks / 8, 1))));
        shared_ = Buffer(config.place, shared_count_ * kSharedStride * sizeof(Open));
        live_.zero();
        shared_.zero();
    }

    Ref ref() const {
        Ref r;
        r.list_ = list_.ref();
        r.pool_ = r.list_.address(0);
        r.live_ = live_.as<Live>();
        r.shared_ = shared_.as<Open>();
        r.shared_mask_ = shared_count_ - 1;
        r.cached_callers_ = cached_callers_;
        r.shift_ = shift_;
        r.small_ = 1U << (shift_ - 1);
        return r;
    }
    void reset() {
        list_.reset();
        live_.zero();
        shared_.zero();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + live_.size() + shared_.size();
    }

    /// A block with pieces in use is one region; an open one without any is free.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Live> live(live_.size() / sizeof(Live));
        live_.read(0, live.data(), live_.size());
        std::vector<Open> shared(shared_.size() / sizeof(Open));
        shared_.read(0, shared.data(), shared_.size());
        for (std::size_t i = 0; i < shared.size(); i += kSharedStride) {
            if (shared[i] != 0) live[block_of_word(shared[i])] -= kOpen - pieces_of(shared[i]);
        }
        std::vector<bool> idle(live.size());
        for (std::size_t i = 0; i < shared.size(); i += kSharedStride) {
            if (shared[i] != 0) {
                idle[block_of_word(shared[i])] = live[block_of_word(shared[i])] == 0;
            }
        }
        list_.for_each_region([&](Region r) {
            r.allocated = r.allocated && !idle[r.offset >> shift_];
            visit(r);
        });
    }

private:
    static constexpr std::uint32_t kUnitShift = 4;
    static constexpr std::uint32_t kUnit = 1U << kUnitShift;
    static constexpr std::uint32_t kLargestShift = 15;
    static constexpr std::uint32_t kSmallestShift = 9;
    static constexpr std::uint32_t kPiecesBits = 16;
    static constexpr Live kOpen = Live{1} << 31;
    static constexpr std::uint32_t kSharedStride = 4;
    /// Blocks of the pool for each that a caller may keep to itself.
    static constexpr std::uint64_t kBlocksPerCachedCaller = 3;

    /// 32 KiB, or less, so that a small pool has some hundred blocks, and some for every caller.
    static std::uint32_t block_shift(const PoolConfig& config) {
        const std::uint64_t blocks =
            std::max<std::uint64_t>(1024, config.callers * kBlocksPerCachedCaller);
        std::uint32_t shift = kLargestShift;
        while (shift > kSmallestShift && (config.bytes >> shift) < blocks) --shift;
        return shift;
    }
    /// What pieces of so many units together add to an open word.
    HEAPWOOD_INLINE static Open make_pieces(std::uint32_t units, std::uint32_t pieces) {
        return (Open{units} << kPiecesBits) + pieces;
    }
    HEAPWOOD_INLINE static std::uint32_t block_of_word(Open w) {
        return static_cast<std::uint32_t>(w >> 32) - 1;
    }
    HEAPWOOD_INLINE static std::uint32_t used_of(Open w) {
        return static_cast<std::uint32_t>(w >> kPiecesBits) & 0xffffU;
    }
    HEAPWOOD_INLINE static std::uint32_t pieces_of(Open w) {
        return static_cast<std::uint32_t>(w) & 0xffffU;
    }

    std::uint32_t shift_;
    List list_;
    std::uint32_t shared_count_;
    std::uint32_t cached_callers_ = 0;
    Buffer live_;
    Buffer shared_;
};

static_assert(Allocator<Hybrid>);

}  // namespace heapwood::allocators
