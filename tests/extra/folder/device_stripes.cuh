/// @file
/// DeviceStripes: Stripes by CUDA's own intrinsics, as code that somebody brings along may be: only
/// nvcc can compile it.
#pragma once

#include <mine/striped_pool.h>

#if !defined(__CUDACC__)
#error "this header is for nvcc: the allocator is GPU_ONLY"
#endif

namespace mine {

class DeviceStripes : public StripedPool<8> {
public:
    static constexpr std::uint32_t kStripes = 8;

    static constexpr allocators::Traits traits() {
        return striped_traits("device-stripes", "Stripes, by intrinsics");
    }

    class Ref {
    public:
        __device__ void* allocate(const allocators::Context& context, std::size_t bytes) const {
            if (bytes == 0 || bytes > memory_.stripe) return nullptr;
            const unsigned long long size = granted_bytes(nullptr, bytes);
            for (std::uint32_t i = 0; i < kStripes; ++i) {
                const std::uint32_t number = (context.multiprocessor + i) % kStripes;
                auto* used = reinterpret_cast<unsigned long long*>(&memory_.counters[number].used);
                if (__ldcg(used) + size > memory_.stripe) continue;
                const std::uint64_t offset = atomicAdd(used, size);
                if (offset + size <= memory_.stripe) {
                    return memory_.pool + number * memory_.stripe + offset;
                }
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
        StripedMemory memory_;
    };

    explicit DeviceStripes(const allocators::PoolConfig& config) : StripedPool(config, traits()) {}

    Ref ref() const {
        Ref r;
        r.memory_ = memory();
        return r;
    }
};

static_assert(allocators::Allocator<DeviceStripes>);

}  // namespace mine
