/// @file
/// Coalescing: wraps any allocator, so that the lanes of a warp that ask together share one
/// request of it.
///
/// Coalesced requests are XMalloc's idea (Huang et al. 2010), and the circular allocators were
/// published with them (Vinkler & Havran 2014, section 4), but there all lanes had to free
/// together. Here every lane owns its part: it can be freed by any thread at any time.
///
/// Structure: of an allocator whose blocks may be freed in parts (or never are), the lanes just
/// split a block: no overhead. Of any other, a group's block begins with 16 bytes that hold its
/// size and how many parts are live; whoever frees the last part frees the block. A part finds
/// them by a tag of 4 bytes behind its payload, where the size that deallocate is told leads: its
/// distance from the block's start in granules of 16 bytes, or 0 for a block of a single request,
/// which has no head. So the overhead is 16 bytes a group and 4 bytes a part, and as payloads are
/// rounded to 16 bytes anyway, the 4 mostly cost nothing. What a group costs beside is that its
/// block stays until the last part is freed.
///
/// The lanes must call as the Warp's collectives demand: all of them, converged in program order.
/// Nothing depends on lockstep or on who happens to be active.
///
/// Concurrency: lane 0 writes the head and what it acquired with the block is known to all lanes,
/// before Warp::sync. Freeing a part subtracts from the count with release, so that all that its
/// owner did happens before the block is freed by the thread that brings the count to 0 with
/// acquire; lanes that free parts of one group together meet in sync first and subtract once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/atomicmalloc.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

/// An allocator whose requests can be shared by a warp's lanes; behaves as A in all else.
template <Allocator A>
class Coalescing : public Adaptor<A> {
    using Adaptor<A>::inner_;

    /// Whether parts of a block need no count.
    static constexpr bool kSplits = A::traits().splittable || !A::traits().frees_individually;

    /// What a group's block begins with.
    struct alignas(kAlignment) Head {
        std::uint64_t bytes;  ///< of the block
        std::uint32_t live;   ///< parts that have not been freed
    };
    /// What follows a payload, at the next multiple of its size: granules from the head; 0: none.
    using Tag = std::uint32_t;
    static constexpr std::uint64_t kLargestGroup = (std::uint64_t{1} << 32) * kAlignment;

public:
    /// As A's, with the tag.
    static constexpr Traits traits() {
        Traits t = A::traits();
        if (!kSplits && t.header_bytes) *t.header_bytes += sizeof(Tag);
        t.shares_regions = true;
        return t;
    }

    class Ref {
    public:
        /// A request of this lane alone.
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            if (bytes == 0 || bytes > capacity_) return nullptr;
            void* p = inner_.allocate(context, share(bytes));
            if constexpr (!kSplits) {
                if (p != nullptr) tag(p, bytes) = 0;
            }
            return p;
        }
        /// Frees a part, or the block of a single request.
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            if (p == nullptr) return;
            if constexpr (kSplits) {
                inner_.deallocate(context, p, share(bytes));
            } else if (Head* head = head_of(p, bytes)) {
                leave(context, *head, 1);
            } else {
                inner_.deallocate(context, p, share(bytes));
            }
        }

        /// Collective: what the lanes ask for, in one request of A if it can be had, and else lane
        /// by lane. Lanes with 0 bytes take no part.
        template <platform::Warp W>
        HEAPWOOD_FN void* allocate(const W& warp, const Context& context, std::size_t bytes) const {
            if constexpr (W::width == 1) {
                return allocate(context, bytes);
            } else {
                return allocate_together(warp, context, bytes);
            }
        }
        /// Collective: frees the lanes' parts; lanes with nullptr take no part. One atomic
        /// operation for all that belong to the same group.
        template <platform::Warp W>
        HEAPWOOD_FN void deallocate(const W& warp, const Context& context, void* p,
                                    std::size_t bytes) const {
            if constexpr (kSplits || W::width == 1) {
                deallocate(context, p, bytes);
            } else {
                Head* const head = p != nullptr ? head_of(p, bytes) : nullptr;
                if (p != nullptr && head == nullptr) deallocate(context, p, bytes);
                const auto own = reinterpret_cast<std::uint64_t>(head);
                warp.sync();  // what other lanes did to their parts, for the one that subtracts
                for (std::uint32_t left = warp.ballot(head != nullptr); left != 0;) {
                    const unsigned chosen = platform::floor_log2(left);
                    const std::uint32_t members = warp.ballot(own == warp.shuffle(own, chosen));
                    if (warp.lane() == chosen) leave(context, *head, platform::popcount(members));
                    left &= ~members;
                }
            }
        }

        /// Of a group's part, without its share of the head.
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            if constexpr (!kSplits) {
                if (head_of(p, bytes) != nullptr) return share(bytes);
            }
            return inner_.granted_bytes(p, share(bytes));
        }
        HEAPWOOD_FN void flush(const Context& context) const { allocators::flush(inner_, context); }

    private:
        friend class Coalescing;

        template <class W>
        HEAPWOOD_FN void* allocate_together(const W& warp, const Context& context,
                                            std::size_t bytes) const {
            const bool takes = bytes != 0 && bytes <= capacity_;
            const unsigned parts = warp.count(takes);
            const std::uint64_t own = takes ? share(bytes) : 0;
            const std::uint64_t end = warp.inclusive_sum(own) + (kSplits ? 0 : sizeof(Head));
            const std::uint64_t total = warp.shuffle(end, W::width - 1);
            std::uint64_t block = 0;
            if (warp.lane() == 0 && parts > 1 && total <= capacity_ && total < kLargestGroup) {
                void* p = inner_.allocate(context, total);
                if constexpr (!kSplits) {
                    if (p != nullptr) *static_cast<Head*>(p) = {total, parts};
                }
                block = reinterpret_cast<std::uint64_t>(p);
            }
            block = warp.shuffle(block, 0);
            if (block == 0) return allocate(context, bytes);
            warp.sync();  // the head, and what lane 0 acquired with the block
            if (!takes) return nullptr;
            const std::uint64_t offset = end - own;
            void* p = reinterpret_cast<char*>(block) + offset;
            if constexpr (!kSplits) tag(p, bytes) = static_cast<Tag>(offset / kAlignment);
            return p;
        }

        HEAPWOOD_INLINE static std::uint64_t tag_offset(std::uint64_t bytes) {
            return platform::round_up<std::uint64_t>(bytes, sizeof(Tag));
        }
        /// Bytes of a block that a part of `bytes` bytes takes.
        HEAPWOOD_INLINE static std::uint64_t share(std::uint64_t bytes) {
            const std::uint64_t end = kSplits ? bytes : tag_offset(bytes) + sizeof(Tag);
            return platform::round_up<std::uint64_t>(end, kAlignment);
        }
        HEAPWOOD_INLINE static Tag& tag(void* p, std::uint64_t bytes) {
            return *reinterpret_cast<Tag*>(static_cast<char*>(p) + tag_offset(bytes));
        }
        /// The head of the group that a part belongs to; nullptr: none.
        HEAPWOOD_INLINE static Head* head_of(const void* p, std::uint64_t bytes) {
            char* const part = static_cast<char*>(const_cast<void*>(p));
            const std::uint64_t granules = tag(part, bytes);
            return granules == 0 ? nullptr : reinterpret_cast<Head*>(part - granules * kAlignment);
        }
        HEAPWOOD_FN void leave(const Context& context, Head& head, std::uint32_t parts) const {
            // Release: what the parts' owners did. Acquire, of the last: what all others did.
            if (platform::AtomicRef(head.live).sub_acq_rel(parts) == parts) {
                inner_.deallocate(context, &head, head.bytes);
            }
        }

        typename A::Ref inner_;
        std::uint64_t capacity_;
    };

    explicit Coalescing(const PoolConfig& config) : Adaptor<A>(config) {}

    Ref ref() const {
        Ref r;
        r.inner_ = inner_.ref();
        r.capacity_ = inner_.pool_bytes();
        return r;
    }
};

static_assert(Allocator<Coalescing<AtomicMalloc>>);

}  // namespace heapwood::allocators
