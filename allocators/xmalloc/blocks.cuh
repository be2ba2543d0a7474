/// @file
/// The part of XMalloc that runs in kernels: basic blocks of five sizes, queues of free ones, and
/// what happens when a queue is empty or full. xmalloc.cuh says after whom.
///
/// **Who owns what.** A basic block is a block of the circular list, allocated there as long as it
/// is a basic block, and belongs to the thread that has it: the user's, from allocate() to
/// deallocate(), or in a queue to nobody, until one thread takes it out. So the list's argument
/// (circular/ring.cuh) and the queue's (fifo.cuh) are all that is needed: what was done to a block
/// before it was freed reaches its next owner through the slot of the queue, or through the list.
///
/// **Progress.** An empty queue is filled by one at a time of those who find it so, under a lock
/// that is a hint only: the others look into it again a few times, and then take a block for
/// themselves. When the list has nothing left, all queues and the caller's cache are emptied into
/// it once, and the request is tried again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/parts/apart.cuh"
#include "allocators/parts/fallback.cuh"
#include "allocators/parts/kept_blocks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"
#include "allocators/xmalloc/fifo.cuh"

namespace heapwood::allocators {
template <class>
class BasicXMalloc;
}

namespace heapwood::allocators::xmalloc {

/// Sizes of basic blocks, each twice the one before.
inline constexpr std::uint32_t kLevels = 5;

/// The blocks that a caller keeps, all words of its cache that are in use.
using Kept = KeptBlocks<kLevels, 2>;

/// What is common to the queues of a level.
struct Level {
    std::uint32_t log2_slots;     ///< of each
    std::uint32_t first_slot;     ///< of the first one
    std::uint32_t in_superblock;  ///< blocks; 1: there are no superblocks
};

/// The handle that kernels use.
template <class Policy>
class Core {
    using Pool = typename FallbackPool<Policy>::Ref;

public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < largest_) {
            const std::uint32_t level = level_of(static_cast<std::uint32_t>(bytes));
            if (keeps(context, level)) {
                const std::uint32_t kept = Kept(*context.cache).take(level);
                if (kept != 0) return address(kept);
            }
            return allocate_block(context, level);
        }
        return bytes == 0 ? nullptr : allocate_large(context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes <= largest_) {
            const std::uint32_t level = level_of(static_cast<std::uint32_t>(bytes));
            if (keeps(context, level) && Kept(*context.cache).keep(level, number_of(p))) return;
        }
        free(context, p, bytes);
    }
    /// Returns the blocks that the caller keeps.
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        Kept(*context.cache).empty([&](std::uint32_t level, std::uint32_t kept) {
            free(context, address(kept), std::size_t{1} << (smallest_shift_ + level));
        });
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return bytes > largest_ ? pool_.granted_bytes(p, bytes)
                                : pool_.list().granted_bytes(p, bytes);
    }

private:
    friend class BasicXMalloc<Policy>;

    HEAPWOOD_INLINE std::uint32_t level_of(std::uint32_t bytes) const {
        if (bytes <= 1U << smallest_shift_) return 0;
        return platform::floor_log2(bytes - 1) + 1 - smallest_shift_;
    }
    /// The number of a queue of that level, the caller's own or another one.
    HEAPWOOD_INLINE std::uint32_t queue_of(std::uint32_t number, std::uint32_t level) const {
        return level * (queue_mask_ + 1) + (number & queue_mask_);
    }
    HEAPWOOD_INLINE Fifo<Policy> queue(std::uint32_t i, std::uint32_t level) const {
        const std::uint32_t log2_slots = levels_[level].log2_slots;
        const std::uint64_t before = std::uint64_t{i & queue_mask_} << log2_slots;
        return Fifo<Policy>(ends_[i], slots_ + levels_[level].first_slot + before, log2_slots);
    }
    /// Whether the caller keeps blocks of that level.
    HEAPWOOD_INLINE bool keeps(const Context& context, std::uint32_t level) const {
        return level < kept_levels_ && context.cache != nullptr;
    }
    /// Blocks are known to queues by their granule, plus 1.
    HEAPWOOD_INLINE char* address(std::uint32_t number) const {
        return memory_ + (std::uint64_t{number - 1} << smallest_shift_);
    }
    HEAPWOOD_INLINE std::uint32_t number_of(const void* p) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(p) - memory_);
        return static_cast<std::uint32_t>(offset >> smallest_shift_) + 1;
    }

    // Out of line, for they are long, and with the context by value, so that the caller's need not
    // lie in memory.

    HEAPWOOD_NOINLINE void* allocate_block(Context context, std::uint32_t level) const {
        const std::uint32_t own = queue_of(context.warp, level);
        const std::uint32_t found = queue(own, level).pop();
        return found != 0 ? address(found) : allocate_slowly(context, level);
    }
    HEAPWOOD_NOINLINE void free(Context context, void* p, std::size_t bytes) const {
        if (bytes > largest_) return pool_.deallocate(context, p, bytes);
        const std::uint32_t level = level_of(static_cast<std::uint32_t>(bytes));
        if (queue(queue_of(context.warp, level), level).push(number_of(p))) return;
        pool_.list().deallocate(context, p, bytes);
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        for (bool again = false;; again = true) {
            void* p = pool_.allocate(apart(context), bytes);
            if (p != nullptr || again || !empty_queues(context)) return p;
        }
    }

    /// When the own queue is empty.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::uint32_t level) const {
        const std::uint32_t own = queue_of(context.warp, level);
        // A block that another has to spare.
        for (std::uint32_t i = 1; i <= Policy::kOthers && i <= queue_mask_; ++i) {
            const std::uint32_t other = queue_of(context.warp + i, level);
            const std::uint32_t found = queue(other, level).pop();
            if (found != 0) return address(found);
        }
        if (levels_[level].in_superblock > 1) {
            // 0: open; 1: taken; above: so many more requests are to do without a superblock, for
            // there was none, and to find that out takes long.
            const platform::AtomicRef lock(ends_[own].spare);
            for (std::uint32_t attempt = 0; attempt < Policy::kPatience; ++attempt) {
                std::uint32_t seen = lock.load_relaxed();
                if (seen > 1) {
                    lock.cas_relaxed(seen, seen == 2 ? 0 : seen - 1);
                    break;
                }
                if (seen == 0 && lock.cas_relaxed(seen, 1)) {
                    void* p = take_superblock(context, own, level);
                    lock.store_relaxed(p != nullptr ? 0 : Policy::kDiscouraged);
                    if (p != nullptr) return p;
                    break;
                }
                platform::back_off(attempt);
                if (const std::uint32_t found = queue(own, level).pop()) return address(found);
            }
        }
        const std::size_t bytes = std::size_t{1} << (smallest_shift_ + level);
        for (bool again = false;; again = true) {
            void* p = pool_.list().allocate(context, bytes);
            if (p != nullptr || again || !empty_queues(context)) return p;
        }
    }
    /// The first block of a superblock; puts the others into a queue.
    HEAPWOOD_FN char* take_superblock(const Context& context, std::uint32_t to,
                                      std::uint32_t level) const {
        const std::size_t bytes = std::size_t{1} << (smallest_shift_ + level);
        const std::uint32_t count = levels_[level].in_superblock;
        auto* first = static_cast<char*>(pool_.list().allocate_run_nearby(context, bytes, count));
        if (first == nullptr) return nullptr;
        for (std::uint32_t i = 1; i < count; ++i) {
            char* p = first + i * bytes;
            if (!queue(to, level).push(number_of(p))) pool_.list().deallocate(context, p, bytes);
        }
        return first;
    }
    /// Returns to the list what the caller keeps, and what is in the queues, the own one's first.
    /// @return whether there was anything.
    HEAPWOOD_NOINLINE bool empty_queues(Context context) const {
        bool any = false;
        if (context.cache != nullptr) {
            Kept(*context.cache).empty([&](std::uint32_t, std::uint32_t kept) {
                pool_.list().deallocate(context, address(kept), 0);
                any = true;
            });
        }
        for (std::uint32_t i = 0; i < kLevels * (queue_mask_ + 1); ++i) {
            const std::uint32_t level = i / (queue_mask_ + 1);
            const Fifo<Policy> from = queue(queue_of(context.warp + i, level), level);
            // No more than it holds, even if others go on filling it.
            for (std::uint32_t n = 0; n < 1U << levels_[level].log2_slots; ++n) {
                const std::uint32_t found = from.pop();
                if (found == 0) break;
                pool_.list().deallocate(context, address(found), 0);
                any = true;
            }
        }
        return any;
    }

    Pool pool_;
    char* memory_;
    FifoEnds* ends_;
    FifoSlot* slots_;
    Level levels_[kLevels];
    std::uint32_t queue_mask_;      // of a level
    std::uint32_t smallest_shift_;  // log2 of the bytes of the smallest block, and of a granule
    std::uint32_t largest_;         // bytes of the largest block
    std::uint32_t kept_levels_;     // of which callers keep blocks
};

}  // namespace heapwood::allocators::xmalloc
