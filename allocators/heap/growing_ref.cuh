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

/// Parts that a pool can have.
inline constexpr std::uint32_t kMostParts = 32;

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
        if (is_alone_) return first_.ref.allocate(context, bytes);
        return allocate_in_any(context, bytes);
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
    HEAPWOOD_NOINLINE void* allocate_in_any(Context context, std::size_t bytes) const {
        const platform::AtomicRef last(growth_.words->last);
        std::uint32_t hint = last.load_relaxed();
        // Acquire: the part has come after this handle was made.
        if (hint >= count_) hint = last.load_acquire();
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
    bool is_alone_;        ///< that was one, and none comes while a kernel runs
};

}  // namespace heapwood::allocators
