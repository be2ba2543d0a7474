/// @file
/// What Halloc and XMalloc stand on: a circular list (circular/ring.cuh), of which they take the
/// memory that they divide, and which also answers the requests that are too large for them. So
/// the whole pool is one pool.
///
/// The published forms hand large requests to CUDA's malloc. For comparison with them
/// (kFallback) that is done here as well: then the list has three quarters of the pool
/// and CUDA's heap one, as in Halloc's defaults, and the pool cannot be walked.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/cudamalloc.cuh"

namespace heapwood::allocators {

/// Where requests go that are too large for the allocator in front.
enum class Fallback {
    pool,        ///< to the circular list, which holds the whole pool
    cudamalloc,  ///< to CUDA's malloc, as published: a quarter of the pool is CUDA's heap
};

/// The option that chooses among them.
inline constexpr Option kFallback{
    .key = "fallback",
    .flag = "--fallback",
    .values = "pool|cudamalloc",
    .help =
        "Where halloc and xmalloc get what is too large for them: from their own pool, or from "
        "CUDA's malloc, as published, which takes a quarter of it"};

inline Fallback fallback_of(const PoolConfig& config) {
    return static_cast<Fallback>(chosen(config.choices, kFallback));
}

/// The host object; Policy is the list's (circular/policy.cuh).
template <class Policy>
class FallbackPool {
    using List = circular::CircularMalloc<Policy>;

public:
    class Ref {
    public:
        HEAPWOOD_INLINE const typename List::Ref& list() const { return list_; }

        /// For requests that are too large for the caller.
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            return to_cuda_ ? cuda_.allocate(context, bytes) : list_.allocate(context, bytes);
        }
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            if (to_cuda_) {
                cuda_.deallocate(context, p, bytes);
            } else {
                list_.deallocate(context, p, bytes);
            }
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return to_cuda_ ? cuda_.granted_bytes(p, bytes) : list_.granted_bytes(p, bytes);
        }

    private:
        friend class FallbackPool;

        typename List::Ref list_;
        CudaMalloc::Ref cuda_;
        bool to_cuda_;
    };

    /// `shift`: log2 of the bytes of the list's granule; `unit` as CircularMalloc's.
    /// @throws std::invalid_argument if a part of the pool is too small.
    FallbackPool(const PoolConfig& config, std::uint32_t shift, std::uint64_t unit = 0)
        : cuda_(cuda_heap(config)), list_(with_bytes(config, list_bytes(config)), shift, unit) {}

    Ref ref() const {
        Ref r{};
        r.list_ = list_.ref();
        r.to_cuda_ = cuda_.has_value();
        if (cuda_) r.cuda_ = cuda_->ref();
        return r;
    }
    void reset() { list_.reset(); }
    std::uint64_t pool_bytes() const {
        return list_.pool_bytes() + (cuda_ ? cuda_->pool_bytes() : 0);
    }
    /// Bytes of the list alone.
    std::uint64_t list_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + (cuda_ ? cuda_->overhead_bytes() : 0);
    }
    /// The list's regions; none if there is a heap of CUDA's.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        if (!cuda_) list_.for_each_region(std::forward<Visitor>(visit));
    }

    /// Of config.bytes, how many the list has.
    static std::uint64_t list_bytes(const PoolConfig& config) {
        return config.bytes - cuda_bytes(config);
    }

private:
    static constexpr std::uint64_t kCudaPart = 4;

    static std::uint64_t cuda_bytes(const PoolConfig& config) {
        return fallback_of(config) == Fallback::cudamalloc ? config.bytes / kCudaPart : 0;
    }
    static PoolConfig with_bytes(PoolConfig config, std::uint64_t bytes) {
        config.bytes = bytes;
        return config;
    }
    static std::optional<CudaMalloc> cuda_heap(const PoolConfig& config) {
        if (fallback_of(config) != Fallback::cudamalloc) return std::nullopt;
        constexpr std::uint64_t kLeast = CudaMalloc::traits().smallest_pool;
        if (cuda_bytes(config) < kLeast) {
            throw std::invalid_argument(std::string(Policy::traits().name) +
                                        " with CUDA's malloc needs a pool of at least " +
                                        std::to_string(kLeast * kCudaPart) + " bytes");
        }
        return CudaMalloc(with_bytes(config, cuda_bytes(config)));
    }

    std::optional<CudaMalloc> cuda_;
    List list_;
};

}  // namespace heapwood::allocators
