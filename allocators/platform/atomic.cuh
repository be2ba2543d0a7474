/// @file
/// Atomic operations named by their memory order; with system_atomic.cuh the only place in Heapwood
/// that touches an atomic type.
///
/// On a GPU loads and stores are `cuda::atomic_ref`'s, the rest its instructions with the place of
/// the object (gpu_atomic.cuh); under a host compiler they are `std::atomic_ref`, which a thread
/// sanitizer understands. There is no stand-alone fence, for a sanitizer cannot see one: publish
/// with a release, observe with an acquire. Only 4- and 8-byte integers (and pointers as integers)
/// are used, which every GPU has natively.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocators/platform/macros.cuh"

#if defined(__CUDACC__)
#include <cuda/atomic>
#else
#include <atomic>
#endif
#if defined(__CUDA_ARCH__)
#include "allocators/platform/gpu_atomic.cuh"
#endif

namespace heapwood::platform {

/// Among whom an atomic operation is atomic and orders memory; on a GPU also where its object is.
enum class Scope {
    device,  ///< all threads of the device; global memory, but for the reductions without an answer
    block,   ///< the threads of one thread block; shared memory
};

namespace detail {
#if defined(__CUDACC__)
template <class T, Scope scope>
using AtomicRef = cuda::atomic_ref<T, scope == Scope::device ? cuda::thread_scope_device
                                                             : cuda::thread_scope_block>;
using cuda::std::memory_order_acq_rel;
using cuda::std::memory_order_acquire;
using cuda::std::memory_order_relaxed;
using cuda::std::memory_order_release;
#else
template <class T, Scope>
using AtomicRef = std::atomic_ref<T>;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
#endif
}  // namespace detail

// A program may hold both forms at once (.cu files and .cpp files): different names for the linker.
#if defined(__CUDACC__)
inline namespace cuda_atomics {
#else
inline namespace std_atomics {
#endif

/// A 4- or 8-byte object of T that several threads access at the same time. Does not own it.
///
/// All methods are wait-free but the compare-and-swaps' users. T is an integer.
template <class T, Scope kScope = Scope::device>
class AtomicRef {
    static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

public:
    HEAPWOOD_INLINE explicit AtomicRef(T& object) : object_(object) {}

    /// The object's address, which no other object has.
    HEAPWOOD_INLINE const void* address() const { return &object_; }

    HEAPWOOD_INLINE T load_relaxed() const { return ref().load(detail::memory_order_relaxed); }
    HEAPWOOD_INLINE T load_acquire() const { return ref().load(detail::memory_order_acquire); }

    HEAPWOOD_INLINE void store_relaxed(T v) const { ref().store(v, detail::memory_order_relaxed); }
    HEAPWOOD_INLINE void store_release(T v) const { ref().store(v, detail::memory_order_release); }

    /// Each add, and the like, returns the value before it.
    HEAPWOOD_INLINE T add_relaxed(T v) const { return fetch_add<Order::relaxed>(v); }
    HEAPWOOD_INLINE T add_acquire(T v) const { return fetch_add<Order::acquire>(v); }
    HEAPWOOD_INLINE T add_release(T v) const { return fetch_add<Order::release>(v); }
    HEAPWOOD_INLINE T add_acq_rel(T v) const { return fetch_add<Order::acq_rel>(v); }
    HEAPWOOD_INLINE T sub_relaxed(T v) const {
        return fetch_add<Order::relaxed>(static_cast<T>(T{0} - v));
    }
    HEAPWOOD_INLINE T sub_acquire(T v) const {
        return fetch_add<Order::acquire>(static_cast<T>(T{0} - v));
    }
    HEAPWOOD_INLINE T sub_release(T v) const {
        return fetch_add<Order::release>(static_cast<T>(T{0} - v));
    }
    HEAPWOOD_INLINE T sub_acq_rel(T v) const {
        return fetch_add<Order::acq_rel>(static_cast<T>(T{0} - v));
    }
    HEAPWOOD_INLINE T or_acquire(T v) const { return fetch_or<Order::acquire>(v); }
    HEAPWOOD_INLINE T or_acq_rel(T v) const { return fetch_or<Order::acq_rel>(v); }
    HEAPWOOD_INLINE T and_acquire(T v) const { return fetch_and<Order::acquire>(v); }
    HEAPWOOD_INLINE T and_release(T v) const { return fetch_and<Order::release>(v); }
    HEAPWOOD_INLINE T and_acq_rel(T v) const { return fetch_and<Order::acq_rel>(v); }
    HEAPWOOD_INLINE T exchange_acquire(T v) const { return swap<Order::acquire>(v); }
    HEAPWOOD_INLINE T exchange_acq_rel(T v) const { return swap<Order::acq_rel>(v); }

    /// Adds without returning the old value: a reduction, which a GPU need not answer.
    HEAPWOOD_INLINE void count_relaxed(T v) const {
#if defined(__CUDA_ARCH__)
        using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
        atomicAdd(reinterpret_cast<Word*>(&object_), static_cast<Word>(v));
#else
        ref().fetch_add(v, detail::memory_order_relaxed);
#endif
    }
    /// Sets bits without returning the old value: a reduction, as count_relaxed.
    HEAPWOOD_INLINE void set_relaxed(T v) const {
#if defined(__CUDA_ARCH__)
        using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
        atomicOr(reinterpret_cast<Word*>(&object_), static_cast<Word>(v));
#else
        ref().fetch_or(v, detail::memory_order_relaxed);
#endif
    }
    /// As set_relaxed, and a release.
    HEAPWOOD_INLINE void set_release(T v) const {
#if defined(__CUDA_ARCH__)
        if constexpr (sizeof(T) == 4 && kScope == Scope::device) {
            asm volatile(
                "red.release.gpu.global.or.b32 [%0], %1;" ::"l"(__cvta_generic_to_global(&object_)),
                "r"(static_cast<std::uint32_t>(v))
                : "memory");
            return;
        }
#endif
        ref().fetch_or(v, detail::memory_order_release);
    }
    /// Lowers the object to v if v is smaller; orders nothing.
    HEAPWOOD_INLINE void min_relaxed(T v) const {
#if defined(__CUDACC__)
        ref().fetch_min(v, detail::memory_order_relaxed);
#else
        for (T old = load_relaxed(); v < old && !cas_relaxed(old, v);) {
        }
#endif
    }
    /// Raises the object to v if v is larger; orders nothing.
    HEAPWOOD_INLINE void max_relaxed(T v) const {
#if defined(__CUDACC__)
        ref().fetch_max(v, detail::memory_order_relaxed);
#else
        for (T old = load_relaxed(); old < v && !cas_relaxed(old, v);) {
        }
#endif
    }

    /// Replaces `expected` by `desired`; on failure stores the value found into `expected`.
    /// @return whether it was replaced. Never fails spuriously.
    HEAPWOOD_INLINE bool cas_relaxed(T& expected, T desired) const {
        return compare_exchange<Order::relaxed>(expected, desired);
    }
    /// As cas_relaxed; acquire on success: for taking what a release has published, where nothing
    /// new is published in turn. Spares a GPU the wait for the thread's own earlier writes.
    HEAPWOOD_INLINE bool cas_acquire(T& expected, T desired) const {
        return compare_exchange<Order::acquire>(expected, desired);
    }
    /// As cas_relaxed; release on success: for publishing, where nothing is taken in turn.
    HEAPWOOD_INLINE bool cas_release(T& expected, T desired) const {
        return compare_exchange<Order::release>(expected, desired);
    }
    /// As cas_relaxed; acquire and release on success, acquire on failure.
    HEAPWOOD_INLINE bool cas_acq_rel(T& expected, T desired) const {
        return compare_exchange<Order::acq_rel>(expected, desired);
    }

private:
#if defined(__CUDA_ARCH__)
    using Order = gpu::Order;
    static constexpr gpu::Place kPlace =
        kScope == Scope::device ? gpu::Place::global : gpu::Place::shared;

    template <Order kOrder>
    HEAPWOOD_INLINE T fetch_add(T v) const {
        return gpu::add<kOrder, kPlace>(&object_, v);
    }
    template <Order kOrder>
    HEAPWOOD_INLINE T fetch_or(T v) const {
        return gpu::set_bits<kOrder, kPlace>(&object_, v);
    }
    template <Order kOrder>
    HEAPWOOD_INLINE T fetch_and(T v) const {
        return gpu::keep_bits<kOrder, kPlace>(&object_, v);
    }
    template <Order kOrder>
    HEAPWOOD_INLINE T swap(T v) const {
        return gpu::exchange<kOrder, kPlace>(&object_, v);
    }
    template <Order kOrder>
    HEAPWOOD_INLINE bool compare_exchange(T& expected, T desired) const {
        return gpu::compare_exchange<kOrder, kPlace>(&object_, expected, desired);
    }
#else
    struct Order {
        static constexpr auto relaxed = detail::memory_order_relaxed;
        static constexpr auto acquire = detail::memory_order_acquire;
        static constexpr auto release = detail::memory_order_release;
        static constexpr auto acq_rel = detail::memory_order_acq_rel;
    };

    template <auto kOrder>
    HEAPWOOD_INLINE T fetch_add(T v) const {
        return ref().fetch_add(v, kOrder);
    }
    template <auto kOrder>
    HEAPWOOD_INLINE T fetch_or(T v) const {
        return ref().fetch_or(v, kOrder);
    }
    template <auto kOrder>
    HEAPWOOD_INLINE T fetch_and(T v) const {
        return ref().fetch_and(v, kOrder);
    }
    template <auto kOrder>
    HEAPWOOD_INLINE T swap(T v) const {
        return ref().exchange(v, kOrder);
    }
    template <auto kOrder>
    HEAPWOOD_INLINE bool compare_exchange(T& expected, T desired) const {
        return ref().compare_exchange_strong(
            expected, desired, kOrder, kOrder == Order::acq_rel ? Order::acquire : Order::relaxed);
    }
#endif

    HEAPWOOD_INLINE detail::AtomicRef<T, kScope> ref() const {
        return detail::AtomicRef<T, kScope>(object_);
    }

    T& object_;
};

}  // inline namespace

}  // namespace heapwood::platform
