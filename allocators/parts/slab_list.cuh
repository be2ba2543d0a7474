/// @file
/// What allocators of slabs stand on: a circular list (circular/ring.cuh) of which they take slabs,
/// that is, blocks of one size at multiples of it, which they divide into pieces, and which also
/// answers the requests that are too large for pieces. So the whole pool is one pool, and what is
/// large takes a granule of at most 512 bytes more than it needs.
///
/// A search of the list in vain is long, for it looks at all chunks. So that not every request
/// makes one, the list counts what has returned to it, and remembers the count at which it had no
/// slab: as long as the count is the same, there is none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/apart.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// What all callers of a list share; each word by itself in the L2 cache. No count wraps: 64 bits
/// last for centuries.
struct SlabListState {
    alignas(32) std::uint64_t returned;  ///< how often the list got something back
    alignas(32) std::uint64_t full;      ///< `returned` + 1, when it had no slab; 0: never yet
};

/// The part that runs in kernels. Policy is the list's (circular/policy.cuh).
template <class Policy>
class SlabList {
    using Word = platform::AtomicRef<std::uint64_t>;

public:
    static constexpr std::uint32_t kNoSlab = ~std::uint32_t{0};

    SlabList() = default;
    /// Refers to the state, which is zero at first. `slab_shift`: log2 of the bytes of a slab.
    SlabList(const circular::Core<Policy>& list, SlabListState& state, std::uint32_t slab_shift)
        : list_(list), memory_(list.address(0)), state_(&state), slab_shift_(slab_shift) {}

    HEAPWOOD_INLINE std::uint32_t slab_shift() const { return slab_shift_; }
    HEAPWOOD_INLINE char* slab(std::uint32_t number) const {
        return memory_ + (std::uint64_t{number} << slab_shift_);
    }
    /// Bytes from the pool's start to p.
    HEAPWOOD_INLINE std::uint64_t offset(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - memory_);
    }

    /// The number of a slab, with all that was done to it before. kNoSlab: there is none, or, if it
    /// is not known to be full afterwards, others are changing the list.
    HEAPWOOD_FN std::uint32_t take(const Context& context) const {
        const std::uint64_t before = returned();
        bool full;
        void* p = list_.allocate_aligned(context, std::size_t{1} << slab_shift_, full);
        if (p != nullptr) return static_cast<std::uint32_t>(offset(p) >> slab_shift_);
        if (full) Word(state_->full).store_relaxed(before + 1);
        return kNoSlab;
    }
    /// A large block, or nullptr. `full` as of circular::Core::allocate().
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes, bool& full) const {
        return list_.allocate(apart(context), bytes, full);
    }
    /// Of a large block.
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p) const {
        return list_.granted_bytes(p, 0);
    }
    /// Returns a slab, or a large block.
    HEAPWOOD_NOINLINE void give(Context context, void* p) const {
        list_.deallocate(context, p, 0);
        Word(state_->returned).add_release(1);
    }
    /// How often the list has got something back. Acquire: a search of it that begins now finds it.
    HEAPWOOD_INLINE std::uint64_t returned() const { return Word(state_->returned).load_acquire(); }
    /// Whether the list had no slab when returned() was that.
    HEAPWOOD_INLINE bool is_full(std::uint64_t returned) const {
        return Word(state_->full).load_relaxed() == returned + 1;
    }

private:
    circular::Core<Policy> list_;
    char* memory_;
    SlabListState* state_;
    std::uint32_t slab_shift_;
};

/// The host's side: owns the pool. The slabs are as large as kLargestSlabShift says, smaller in a
/// pool that would have less than kFewestSlabs of them, but not below 1 KiB; both are of the
/// Policy.
template <class Policy>
class SlabListPool {
public:
    explicit SlabListPool(const PoolConfig& config)
        : slab_shift_(slab_shift(config.bytes)),
          list_(config,
                std::clamp(slab_shift_ - kGranulesShift, circular::kSmallestShift,
                           kLargestGranuleShift),
                std::uint64_t{1} << slab_shift_),
          state_(config.place, sizeof(SlabListState)) {
        state_.zero();
    }

    SlabList<Policy> ref() const {
        return {list_.ref(), *state_.template as<SlabListState>(), slab_shift_};
    }
    void reset() {
        list_.reset();
        state_.zero();
    }
    std::uint32_t slab_shift() const { return slab_shift_; }
    /// As many slabs as the pool may have; at least 1.
    std::uint32_t slab_count() const {
        return std::max(static_cast<std::uint32_t>(pool_bytes() >> slab_shift_), 1U);
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const { return list_.overhead_bytes() + state_.size(); }

    /// Visits all regions of the list, but calls visit_slab(region, number) for those that begin
    /// where a slab does and are in use: it returns false if there is no slab.
    template <class Visitor, class SlabVisitor>
    void for_each_region(Visitor&& visit, SlabVisitor&& visit_slab) const {
        list_.for_each_region([&](const Region& r) {
            const std::uint64_t slab = r.offset >> slab_shift_;
            const bool may_be_slab =
                r.allocated && slab < slab_count() && slab << slab_shift_ == r.offset;
            if (!may_be_slab || !visit_slab(r, static_cast<std::uint32_t>(slab))) visit(r);
        });
    }
    /// Visits the pieces of a slab, of `bytes` bytes each, that are in use by is_used(number), and
    /// what lies between them and behind the last one as free.
    template <class IsUsed, class Visitor>
    static void for_each_piece(const Region& slab, std::uint64_t bytes, std::uint32_t count,
                               IsUsed&& is_used, Visitor&& visit) {
        std::uint64_t end = slab.offset;
        for (std::uint32_t n = 0; n < count; ++n) {
            if (!is_used(n)) continue;
            const std::uint64_t begin = slab.offset + n * bytes;
            if (end < begin) visit(Region{end, begin - end, false});
            visit(Region{begin, bytes, true});
            end = begin + bytes;
        }
        const std::uint64_t past = slab.offset + slab.size;
        if (end < past) visit(Region{end, past - end, false});
    }

private:
    static constexpr std::uint32_t kSmallestSlabShift = 10;
    /// Log2 of the list's granules in a slab, and of the largest granule's bytes.
    static constexpr std::uint32_t kGranulesShift = 6;
    static constexpr std::uint32_t kLargestGranuleShift = 9;

    static std::uint32_t slab_shift(std::uint64_t bytes) {
        return unit_shift(bytes, kSmallestSlabShift, Policy::kLargestSlabShift,
                          Policy::kFewestSlabs);
    }

    std::uint32_t slab_shift_;
    circular::CircularMalloc<Policy> list_;
    Buffer state_;
};

}  // namespace heapwood::allocators
