/// @file
/// DeviceStripes: Stripes by CUDA's own intrinsics, as code that somebody brings along may be: only
/// nvcc can compile it. The host object is that of Stripes on a GPU.
#pragma once

#include <mine/counters.h>

#include <stdexcept>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"

#if !defined(__CUDACC__)
#error "this header is for nvcc: the allocator is GPU_ONLY"
#endif

namespace mine {

namespace allocators = heapwood::allocators;

class DeviceStripes {
public:
    static constexpr std::uint32_t kStripes = 8;

    static constexpr allocators::Traits traits() {
        return {.name = "device-stripes",
                .title = "Stripes, by intrinsics",
                .source = "a test of Heapwood",
                .frees_individually = false,
                .full = false,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = std::uint64_t{64} << 10};
    }

    class Ref {
    public:
        __device__ void* allocate(const allocators::Context& context, std::size_t bytes) const {
            if (bytes == 0 || bytes > stripe_) return nullptr;
            const unsigned long long size = granted_bytes(nullptr, bytes);
            for (std::uint32_t i = 0; i < kStripes; ++i) {
                const std::uint32_t stripe = (context.multiprocessor + i) % kStripes;
                auto* used = reinterpret_cast<unsigned long long*>(&counters_[stripe].used);
                if (__ldcg(used) + size > stripe_) continue;
                const std::uint64_t offset = atomicAdd(used, size);
                if (offset + size <= stripe_) return pool_ + stripe * stripe_ + offset;
            }
            return nullptr;
        }
        __device__ void deallocate(const allocators::Context&, void*, std::size_t) const {}
        __device__ std::uint64_t granted_bytes(const void*, std::size_t bytes) const {
            return (bytes + allocators::kAlignment - 1) / allocators::kAlignment *
                   allocators::kAlignment;
        }

    private:
        friend class DeviceStripes;
        char* pool_;
        Counter* counters_;
        std::uint64_t stripe_;  ///< bytes of each
    };

    explicit DeviceStripes(const allocators::PoolConfig& config)
        : stripe_(config.bytes / kStripes / allocators::kAlignment * allocators::kAlignment) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument("device-stripes needs a pool of at least 64 KiB");
        }
        pool_ = allocators::Buffer(config.place, kStripes * stripe_);
        counters_ = allocators::Buffer(config.place, sizeof(Counter) * kStripes);
        reset();
    }

    Ref ref() const {
        Ref r;
        r.pool_ = pool_.as<char>();
        r.counters_ = counters_.as<Counter>();
        r.stripe_ = stripe_;
        return r;
    }
    void reset() { counters_.zero(); }
    std::uint64_t pool_bytes() const { return kStripes * stripe_; }
    std::uint64_t overhead_bytes() const { return sizeof(Counter) * kStripes; }

    /// Of each stripe what was handed out, and the rest.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        Counter counters[kStripes];
        counters_.read(0, counters, sizeof(counters));
        for (std::uint32_t i = 0; i < kStripes; ++i) {
            const std::uint64_t used = counters[i].used < stripe_ ? counters[i].used : stripe_;
            const std::uint64_t start = i * stripe_;
            if (used > 0) visit(allocators::Region{start, used, true});
            if (used < stripe_) visit(allocators::Region{start + used, stripe_ - used, false});
        }
    }

private:
    std::uint64_t stripe_;
    allocators::Buffer pool_;
    allocators::Buffer counters_;
};

static_assert(allocators::Allocator<DeviceStripes>);

}  // namespace mine
