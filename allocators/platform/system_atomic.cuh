/// @file
/// Words that a GPU's threads and the host's threads write for one another while a kernel runs.
///
/// The word lies in memory that both see at one address: pinned memory, or on a CPU any. Each word
/// has one side that writes, so there are loads and stores alone: over a bus a read-modify-write
/// may not be atomic. On a GPU an access goes to the host's memory and takes about a microsecond.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"

#if defined(__CUDACC__)
#include <cuda/atomic>
#else
#include <atomic>
#endif

namespace heapwood::platform {

// As in atomic.cuh: different names for the linker.
#if defined(__CUDACC__)
inline namespace cuda_system_atomics {
#else
inline namespace std_system_atomics {
#endif

/// An 8-byte word for the threads of all machines. Does not own it. All methods are wait-free.
class SystemAtomicRef {
#if defined(__CUDACC__)
    using Ref = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;
    static constexpr auto kRelaxed = cuda::std::memory_order_relaxed;
    static constexpr auto kAcquire = cuda::std::memory_order_acquire;
    static constexpr auto kRelease = cuda::std::memory_order_release;
#else
    using Ref = std::atomic_ref<std::uint64_t>;
    static constexpr auto kRelaxed = std::memory_order_relaxed;
    static constexpr auto kAcquire = std::memory_order_acquire;
    static constexpr auto kRelease = std::memory_order_release;
#endif

public:
    HEAPWOOD_INLINE explicit SystemAtomicRef(std::uint64_t& object) : object_(object) {}

    HEAPWOOD_INLINE std::uint64_t load_relaxed() const {
        return Ref(object_).load(kRelaxed);
    }
    HEAPWOOD_INLINE std::uint64_t load_acquire() const {
        return Ref(object_).load(kAcquire);
    }
    HEAPWOOD_INLINE void store_relaxed(std::uint64_t v) const {
        Ref(object_).store(v, kRelaxed);
    }
    HEAPWOOD_INLINE void store_release(std::uint64_t v) const {
        Ref(object_).store(v, kRelease);
    }

private:
    std::uint64_t& object_;
};

}  // inline namespace

}  // namespace heapwood::platform
