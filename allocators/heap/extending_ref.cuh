/// @file
/// ExtendingRef: what kernels have of a pool that grows at its end.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/heap/growing_ref.cuh"
#include "allocators/heap/growth_words.cuh"
#include "allocators/memory/source.h"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/opaque_call.cuh"
#include "allocators/platform/system_atomic.cuh"

namespace heapwood::allocators {

// The versions of clang-format lay out concepts differently.
// clang-format off

/// An allocator whose callers can take more of its pool into use, as BasicCambium::Extensible: its
/// host object keeps nothing in the pool itself.
template <class A>
concept CanExtend = CanGrow<A> &&
    std::constructible_from<A, const PoolConfig&, std::uint64_t, MemorySource&> &&
    requires(A a, const A& known, const typename A::Ref ref, const Context& context,
             std::uint64_t bytes) {
        a.begin_with(bytes);
        { known.block_bytes() } -> std::same_as<std::uint64_t>;
        { known.expects_more() } -> std::same_as<bool>;
        { ref.try_allocate(context, bytes) } -> std::same_as<void*>;
        ref.extend(bytes);
    };
// clang-format on

template <CanExtend A>
class Extending;

/// Extending's Ref (extending.cuh).
template <class A>
class ExtendingRef {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (void* const p = ref_.try_allocate(context, bytes); p != nullptr) return p;
        return platform::opaque_call(allocate_slowly, context, *this, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        ref_.deallocate(context, p, bytes);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        return ref_.granted_bytes(p, bytes);
    }
    HEAPWOOD_FN void flush(const Context& context) const { allocators::flush(ref_, context); }

private:
    template <CanExtend B>
    friend class Extending;

    /// The messenger's work: takes what the host has mapped into use.
    struct Extend {
        const ExtendingRef& pool;

        HEAPWOOD_FN void operator()(std::uint32_t parts) const {
            // Relaxed: the answer was acquired.
            const platform::SystemAtomicRef end(pool.growth_.mailbox->ends[parts - 1]);
            pool.ref_.extend(end.load_relaxed());
        }
    };

    /// Waits for more of the pool as long as there is more. The allocator is asked to look at
    /// everything first, which takes longer than more memory does where most requests find none; or
    /// in the end, if they are expected to find none.
    ///
    /// The parameters are not in the order of the allocator's own slow paths: of an opaque call the
    /// assembler takes every function with these types for the callee, and would see a recursion,
    /// whose stack it cannot tell.
    HEAPWOOD_NOINLINE static void* allocate_slowly(Context context, const ExtendingRef& pool,
                                                   std::size_t bytes) {
        if (bytes == 0) return nullptr;
        if (!pool.asks_at_once_) {
            void* const p = pool.ref_.allocate(context, bytes);
            if (p != nullptr || pool.growth_.mailbox == nullptr) return p;
        }
        std::uint32_t count = pool.growth_.known_parts();
        bool is_tried = count == pool.count_;
        for (std::uint64_t deadline = 0;;) {
            if (!is_tried) {
                void* const p = pool.ref_.try_allocate(context, bytes);
                if (p != nullptr) return p;
            }
            const std::uint32_t more =
                pool.growth_.more_parts(count, bytes, deadline, Extend{pool});
            if (more == count) return pool.ref_.allocate(context, bytes);
            count = more;
            is_tried = false;
        }
    }

    typename A::Ref ref_;
    heap::GrowthCaller growth_;
    bool asks_at_once_;    ///< the host, which then answers
    std::uint32_t count_;  ///< times that the pool had grown when this handle was made, and 1
};

}  // namespace heapwood::allocators
