/// @file
/// CudaMalloc: `malloc` and `free` of the CUDA runtime inside kernels, and of the C library on a
/// CPU. The baseline of all papers.
///
/// On a GPU the pool is CUDA's device heap, of which a process has one, and whose size CUDA fixes
/// when a kernel first uses it. So the first CudaMalloc decides: a later one that asks for no more
/// shares that heap (pool_bytes() is its real size), one that asks for more throws BufferError.
/// CUDA takes the memory when it loads the first kernel with a `malloc`; if there is not enough,
/// that launch fails. The heap cannot be walked, so fragmentation is unknown. It cannot be emptied:
/// reset() does nothing, and a block that no thread frees stays until the process ends.
///
/// On a CPU the pool exists as a number only: a counter refuses requests that would bring the sum
/// of live blocks above it.
///
/// CUDA and the C library see to concurrency. The counter orders nothing, so its order is relaxed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/memory/buffer_device.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

class CudaMalloc {
public:
    static constexpr Traits traits() {
        return {.name = "cudamalloc",
                .title = "CUDA malloc",
                .source = "CUDA C++ Programming Guide, dynamic global memory allocation",
                .frees_individually = true,
                .full = true,
                .walkable = false,
                .smallest_pool = std::uint64_t{1} << 20,
                .slow_crowds = true,
                .one_heap = true};
    }

    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context&, std::size_t bytes) const {
            if (bytes == 0 || bytes > capacity_) return nullptr;
#if defined(__CUDA_ARCH__)
            return malloc(bytes);
#else
            const std::uint64_t size = rounded(bytes);
            const platform::AtomicRef live(*live_);
            // Not added before it is sure to fit: a large request that is about to be refused must
            // not stand in the way of a small one.
            std::uint64_t before = live.load_relaxed();
            do {
                if (size > capacity_ - before) return nullptr;
            } while (!live.cas_relaxed(before, before + size));
            void* p = std::malloc(size);
            if (p == nullptr) live.sub_relaxed(size);
            return p;
#endif
        }
        HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t bytes) const {
#if defined(__CUDA_ARCH__)
            (void)bytes;
            free(p);
#else
            if (p == nullptr) return;
            std::free(p);
            platform::AtomicRef(*live_).sub_relaxed(rounded(bytes));
#endif
        }
        /// Unknown: what CUDA rounds a request to is not published.
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t) const {
            return 0;
        }

    private:
        friend class CudaMalloc;

        /// Whole kAlignments, for some C libraries align smaller blocks less.
        HEAPWOOD_FN static std::uint64_t rounded(std::uint64_t bytes) {
            return platform::round_up<std::uint64_t>(bytes, kAlignment);
        }

        std::uint64_t capacity_;
        std::uint64_t* live_;  ///< bytes in live blocks; on a CPU only
    };

    explicit CudaMalloc(const PoolConfig& config) : capacity_(config.bytes) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument("cudamalloc needs a pool of at least " +
                                        std::to_string(traits().smallest_pool) + " bytes");
        }
        if (config.place == Place::device) {
            capacity_ = detail::set_device_malloc_bytes(config.bytes);
        } else {
            live_ = Buffer(Place::host, sizeof(std::uint64_t));
            live_.zero();
        }
    }

    Ref ref() const {
        Ref r;
        r.capacity_ = capacity_;
        r.live_ = live_.as<std::uint64_t>();
        return r;
    }
    /// Does nothing, as the head of this file says.
    void reset() {}
    std::uint64_t pool_bytes() const {
        return capacity_;
    }
    std::uint64_t overhead_bytes() const {
        return live_.size();
    }
    /// Visits nothing.
    template <class Visitor>
    void for_each_region(Visitor&&) const {}

private:
    std::uint64_t capacity_;
    Buffer live_;
};

static_assert(Allocator<CudaMalloc>);

}  // namespace heapwood::allocators
