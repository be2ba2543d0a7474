/// @file
/// FDGMalloc: a heap for every warp, whose memory is freed all at once (Widmer, Wodniok, Weber &
/// Goesele 2013, "Fast Dynamic Memory Allocator for Massively Parallel Architectures").
///
/// A warp's heap has an open superblock of 8192 bytes, from which requests are cut front to back. A
/// request that does not fit goes into a fresh one, and the rest of the old one is lost. Requests
/// larger than a superblock come from the list that superblocks come from. The heap is a list of
/// all that it has taken; tidy_up() gives them back. No block is freed by itself, hence the papers'
/// asterisk: a builder that does not call tidy_up() has its memory back on reset() only.
///
/// **Against the original:**
/// - Superblocks and large requests came from CUDA's malloc. Here they are runs of a circular list
///   (circular/ring.cuh) whose granule is a superblock, so that the pool is all there is.
/// - A heap was an object of the program's, made and ended by the warp. Here it is found by the
///   warp's number, its open superblock in the caller's cache if there is one, which on a GPU is
///   shared memory. The list has a link for every superblock, beside the pool, instead of arrays of
///   126 entries in the pool; so all of a superblock's 8192 bytes are payload, not 8188.
/// - The lanes of a warp were taken to run in lockstep, and added up their requests in memory that
///   held stale requests of the lanes that took no part. Here each lane's request is one atomic
///   addition, and `Coalescing` adds up those of a warp.
/// - Superblocks are smaller, down to 512 bytes, where the pool has fewer than four a warp.
///
/// **Soundness.** An open word is {superblock + 1, units of 16 bytes used}. A request adds its size
/// to it and owns what lies between the old and the new value, if the superblock has room for it;
/// it looks first, so that only requests in flight overshoot. A thread that finds no room takes a
/// superblock for itself, and puts it into the word by compare-and-swap if that has no room still.
/// No memory is given twice between two calls of tidy_up().
///
/// **Memory order.** Opening releases what was acquired with the superblock from the list, and each
/// request acquires it; in the scope of the thread block if the word is in a cache. Links are
/// relaxed: tidy_up() is called by one who knows that all requests have been answered.
#pragma once

#include <algorithm>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

/// The list that FDGMalloc's superblocks come from.
struct FDGListPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    static constexpr std::uint32_t kSmallestShare = 16;  // a granule is a superblock
    static constexpr std::uint32_t kSmallestStretch = 4;
    static constexpr Traits traits() {
        return {.name = "fdgmalloc",
                .title = "FDGMalloc",
                .source = "Widmer et al. 2013",
                .frees_individually = false,
                .full = false,
                .walkable = true,
                .header_bytes = 3 * sizeof(std::uint32_t),  // header, predecessor, link
                .smallest_pool = 16384,
                .shares_regions = true,
                .published_registers = {.uncoalesced = 26}};
    }
};

class FDGMalloc {
    using List = circular::CircularMalloc<FDGListPolicy>;
    using Open = std::uint64_t;
    using Link = std::uint32_t;
    using Scope = platform::Scope;

public:
    static constexpr Traits traits() { return FDGListPolicy::traits(); }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            if (context.cache != nullptr && fits(bytes)) {
                if (void* p = cut(cached_word(context), units_of(bytes))) return p;
            }
            return allocate_slowly(context, bytes);
        }
        HEAPWOOD_FN void deallocate(const Context&, void*, std::size_t) const {}
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            if (p == nullptr) return 0;
            return fits(bytes) ? platform::round_up<std::uint64_t>(bytes, kUnit)
                               : list_.granted_bytes(p, bytes);
        }
        /// Forgets the open superblocks in a cache; what has been cut from them stays.
        HEAPWOOD_FN void flush(const Context& context) const {
            if (context.cache == nullptr) return;
            HEAPWOOD_UNROLL(1)
            for (std::uint64_t& word : context.cache->words) {
                platform::AtomicRef<Open, Scope::block>(word).store_relaxed(0);
            }
        }

        /// Frees all that the calling warp has ever been given. Called by one lane, after all
        /// requests of the warp have been answered and their memory is no longer used. Does nothing
        /// for warps from PoolConfig::callers on, which have no heap of their own. Of the warps
        /// that share a cache the numbers must differ modulo CallerCache::kWords.
        HEAPWOOD_NOINLINE void tidy_up(const Context& context) const {
            if (context.warp >= heaps_) return;
            if (context.cache != nullptr) cached_word(context).store_relaxed(0);
            open_[context.warp * kStride] = 0;
            Link next = heads_[context.warp];
            heads_[context.warp] = 0;
            while (next != 0) {
                const std::uint32_t block = next - 1;
                next = links_[block];
                list_.deallocate(context, address(block), 0);
            }
        }

    private:
        friend class FDGMalloc;

        /// Every warp has a word of its cache, for a superblock belongs to the warp that opened it.
        HEAPWOOD_INLINE static platform::AtomicRef<Open, Scope::block> cached_word(
            const Context& context) {
            return platform::AtomicRef<Open, Scope::block>(
                context.cache->words[context.warp % CallerCache::kWords]);
        }
        HEAPWOOD_INLINE bool fits(std::size_t bytes) const {
            return bytes - 1 < std::uint64_t{1} << shift_;  // not 0
        }
        HEAPWOOD_INLINE static std::uint32_t units_of(std::size_t bytes) {
            return static_cast<std::uint32_t>((bytes + kUnit - 1) >> kUnitShift);
        }
        HEAPWOOD_INLINE char* address(std::uint32_t block) const {
            return pool_ + (std::uint64_t{block} << shift_);
        }
        HEAPWOOD_INLINE bool has_room(Open w, std::uint32_t units) const {
            return w != 0 && (w & 0xffffffffU) + units <= 1U << (shift_ - kUnitShift);
        }
        /// Cuts a piece of an open superblock. nullptr: there is none, or it has no room.
        template <Scope kScope>
        HEAPWOOD_INLINE char* cut(platform::AtomicRef<Open, kScope> open,
                                  std::uint32_t units) const {
            if (!has_room(open.load_relaxed(), units)) return nullptr;
            const Open w = open.add_acquire(units);
            if (!has_room(w, units)) return nullptr;
            return address(static_cast<std::uint32_t>(w >> 32) - 1) + (w & 0xffffffffU) * kUnit;
        }
        /// As deallocate, out of line, for it is rare; with the context by value, so that the
        /// caller's need not lie in memory.
        HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
            if (!fits(bytes)) {
                void* p = list_.allocate(context, bytes);
                if (p != nullptr) enlist(context, p);
                return p;
            }
            const std::uint32_t units = units_of(bytes);
            if (context.cache != nullptr) {
                return cut_fresh(cached_word(context), context, units);
            }
            // Warps without a heap share words in the table's other half.
            const std::uint32_t word =
                context.warp < heaps_ ? context.warp : heaps_ + context.warp % heaps_;
            return cut_fresh(platform::AtomicRef<Open>(open_[word * kStride]), context, units);
        }
        /// As cut(), from a superblock of the list's if need be.
        template <Scope kScope>
        HEAPWOOD_FN char* cut_fresh(platform::AtomicRef<Open, kScope> open, const Context& context,
                                    std::uint32_t units) const {
            if (char* p = cut(open, units)) return p;
            auto* fresh = static_cast<char*>(list_.allocate(context, std::size_t{1} << shift_));
            if (fresh == nullptr) return nullptr;
            for (;;) {
                // Somebody else may have opened one meanwhile.
                if (char* p = cut(open, units)) {
                    list_.deallocate(context, fresh, 0);
                    return p;
                }
                Open w = open.load_relaxed();
                // Release: the superblock, with all that its former users did to it.
                if (!has_room(w, units) &&
                    open.cas_acq_rel(w, (Open{block_of(fresh)} + 1) << 32 | units)) {
                    enlist(context, fresh);
                    return fresh;
                }
            }
        }
        HEAPWOOD_INLINE std::uint32_t block_of(const void* p) const {
            return static_cast<std::uint32_t>(
                static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> shift_);
        }
        /// Adds what was taken from the list to the warp's heap.
        HEAPWOOD_INLINE void enlist(const Context& context, const void* p) const {
            if (context.warp >= heaps_) return;
            const std::uint32_t block = block_of(p);
            links_[block] =
                platform::AtomicRef<Link>(heads_[context.warp]).exchange_acq_rel(block + 1);
        }

        circular::Core<FDGListPolicy> list_;
        char* pool_;
        Open* open_;
        Link* heads_;
        Link* links_;
        std::uint32_t heaps_;
        std::uint32_t shift_;
    };

    explicit FDGMalloc(const PoolConfig& config)
        : shift_(superblock_shift(config)),
          list_(config, shift_),
          heaps_(std::max(config.callers, 1U)) {
        open_ = Buffer(config.place, std::uint64_t{heaps_} * 2 * kStride * sizeof(Open));
        heads_ = Buffer(config.place, heaps_ * sizeof(Link));
        links_ = Buffer(config.place, (config.bytes >> shift_) * sizeof(Link));
        open_.zero();
        heads_.zero();
    }

    Ref ref() const {
        Ref r;
        r.list_ = list_.ref();
        r.pool_ = r.list_.address(0);
        r.open_ = open_.as<Open>();
        r.heads_ = heads_.as<Link>();
        r.links_ = links_.as<Link>();
        r.heaps_ = heaps_;
        r.shift_ = shift_;
        return r;
    }
    void reset() {
        list_.reset();
        open_.zero();
        heads_.zero();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + open_.size() + heads_.size() + links_.size();
    }

    /// A superblock that has been taken from the list is one allocated region.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        list_.for_each_region(visit);
    }

private:
    static constexpr std::uint32_t kUnitShift = 4;
    static constexpr std::uint32_t kUnit = 1U << kUnitShift;
    /// Published: superblocks of 8 KiB.
    static constexpr std::uint32_t kLargestShift = 13;
    static constexpr std::uint32_t kSmallestShift = 9;
    static constexpr std::uint64_t kSuperblocksPerCaller = 4;
    /// Open words, of 8 bytes, in a sector of the L2 cache.
    static constexpr std::uint32_t kStride = 4;

    static std::uint32_t superblock_shift(const PoolConfig& config) {
        const std::uint64_t fewest =
            std::max<std::uint64_t>(32, config.callers * kSuperblocksPerCaller);
        return unit_shift(config.bytes, kSmallestShift, kLargestShift, fewest);
    }

    std::uint32_t shift_;
    List list_;
    std::uint32_t heaps_;
    Buffer open_;
    Buffer heads_;
    Buffer links_;
};

static_assert(Allocator<FDGMalloc>);

}  // namespace heapwood::allocators
