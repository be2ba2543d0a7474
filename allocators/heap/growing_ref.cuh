/// @file
/// GrowingRef: what kernels have of a pool that grows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/heap/growth_words.cuh"
#include "allocators/platform/atomic.cuh"

namespace heapwood::allocators {

template <class A>
concept CanGrow = Allocator<A> && !A::traits().one_heap && !A::traits().one_at_a_time;

template <CanGrow A>
class Growing;

namespace heap {

/// A part, as kernels see it.
template <class A>
struct PartEntry {
    typename A::Ref ref;
    std::uint64_t begin;  ///< address of its first byte
    std::uint64_t end;
};

}  // namespace heap

/// Growing's Ref (growing.cuh).
template <class A>
class GrowingRef {
    using Part = heap::PartEntry<A>;

public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (begins_with_first_) {
            void* const p = first_.ref.allocate(context, bytes);
            if (p != nullptr || growth_.mailbox == nullptr) return p;
        }
        return allocate_in_any(context, bytes);
    }
    // clang-format off
    /// As A's, of one part; else one block by one, of any.
    HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                   void* (&blocks)[2]) const
        requires AllocatesPairs<typename A::Ref> {
        // clang-format on
        if (begins_with_first_) {
            const bool both = first_.ref.allocate_pair(context, bytes, blocks);
            if (both || growth_.mailbox == nullptr) return both;
        }
        return allocate_pair_in_any(context, bytes, blocks);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (has(first_, p)) {
            first_.ref.deallocate(context, p, bytes);
        } else {
            part_of(p).ref.deallocate(without_cache(context), p, bytes);
        }
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return (has(first_, p) ? first_ : part_of(p)).ref.granted_bytes(p, bytes);
    }
    HEAPWOOD_FN void flush(const Context& context) const { allocators::flush(first_.ref, context); }

private:
    template <CanGrow B>
    friend class Growing;

    HEAPWOOD_INLINE static bool has(const Part& part, const void* p) {
        const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p));
        return address >= part.begin && address < part.end;
    }
    /// A cache serves one pool: the first part.
    HEAPWOOD_INLINE static Context without_cache(const Context& context) {
        return {context.multiprocessor, context.warp};
    }
    /// The part of a block that is not of the first one. A thread that has a block of a part sees
    /// that part's entry, and those before it: they happen before the block was handed out.
    HEAPWOOD_FN const Part& part_of(const void* p) const {
        std::uint32_t i = 1;
        while (i + 1 < heap::kMostParts && !has(parts_[i], p)) ++i;
        return parts_[i];
    }
    HEAPWOOD_FN void* allocate_in(std::uint32_t part, const Context& context,
                                  std::size_t bytes) const {
        return part == 0 ? first_.ref.allocate(context, bytes)
                         : parts_[part].ref.allocate(without_cache(context), bytes);
    }
    /// The part that answered the last request.
    HEAPWOOD_INLINE std::uint32_t last_part() const {
        const platform::AtomicRef last(growth_.words->last);
        const std::uint32_t hint = last.load_relaxed();
        // Acquire: the part has come after this handle was made.
        return hint >= count_ ? last.load_acquire() : hint;
    }
    HEAPWOOD_NOINLINE bool allocate_pair_in_any(Context context, const std::size_t (&bytes)[2],
                                                void* (&blocks)[2]) const {
        const std::uint32_t hint = last_part();
        const bool both =
            hint == 0 ? first_.ref.allocate_pair(context, bytes, blocks)
                      : parts_[hint].ref.allocate_pair(without_cache(context), bytes, blocks);
        if (both) return true;
        blocks[0] = allocate_in_any(context, bytes[0]);
        blocks[1] = blocks[0] == nullptr ? nullptr : allocate_in_any(context, bytes[1]);
        if (blocks[1] != nullptr) return true;
        deallocate(context, blocks[0], bytes[0]);
        blocks[0] = nullptr;
        return false;
    }
    HEAPWOOD_NOINLINE void* allocate_in_any(Context context, std::size_t bytes) const {
        const platform::AtomicRef last(growth_.words->last);
        const std::uint32_t hint = last_part();
        if (void* const p = allocate_in(hint, context, bytes); p != nullptr) return p;
        if (bytes == 0) return nullptr;
        std::uint32_t count = growth_.known_parts();
        std::uint32_t begin = hint + 1;
        std::uint32_t untried = count - 1;
        for (std::uint64_t deadline = 0;;) {
            for (std::uint32_t n = 0; n < untried; ++n) {
                const std::uint32_t i = (begin + n) % count;
                void* const p = allocate_in(i, context, bytes);
                if (p == nullptr) continue;
                // Release: passes on the part's entry.
                last.store_release(i);
                return p;
            }
            if (growth_.mailbox == nullptr) return nullptr;
            begin = count;
            count = growth_.more_parts(begin, bytes, deadline);
            if (count == begin) return nullptr;
            untried = count;
        }
    }

    Part first_;
    const Part* parts_;  ///< of which number 0 is not used
    /// Without a mailbox no part comes while a kernel runs.
    heap::GrowthCaller growth_;
    std::uint32_t count_;  ///< parts that there were when this handle was made
    /// That was one, and none comes while a kernel runs, or hardly: what this part refuses is rare.
    bool begins_with_first_;
};

}  // namespace heapwood::allocators
