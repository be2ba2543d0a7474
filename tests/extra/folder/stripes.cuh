/// @file
/// Stripes: AtomicMalloc with a pool in stripes, a counter for each, so that fewer threads meet at
/// a counter. An example of an allocator outside the tree.
///
/// Concurrency: a counter hands out disjoint ranges, and no memory is handed out twice between two
/// resets, so relaxed order suffices.
#pragma once

#include <mine/counters.h>

#include <stdexcept>

#include "allocators/allocator.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

#if !defined(MINE_STRIPES)
#error "MINE_STRIPES comes from the OPTIONS of this folder's CMakeLists.txt"
#endif

namespace mine {

namespace allocators = heapwood::allocators;
namespace platform = heapwood::platform;

class Stripes {
public:
    static constexpr std::uint32_t kStripes = MINE_STRIPES;

    static constexpr allocators::Traits traits() {
        return {.name = "stripes",
                .title = "Stripes",
                .source = "a test of Heapwood",
                .frees_individually = false,
                .full = false,
                .walkable = true,
                .header_bytes = 0,
                .smallest_pool = std::uint64_t{64} << 10};
    }

    class Ref {
    public:
        /// Looks into every stripe once, its own first.
        HEAPWOOD_FN void* allocate(const allocators::Context& context, std::size_t bytes) const {
            if (bytes == 0 || bytes > stripe_) return nullptr;
            const auto size = platform::round_up<std::uint64_t>(bytes, allocators::kAlignment);
            for (std::uint32_t i = 0; i < kStripes; ++i) {
                const std::uint32_t stripe = (context.multiprocessor + i) % kStripes;
                const platform::AtomicRef counter(counters_[stripe].used);
                if (counter.load_relaxed() + size > stripe_) continue;
                const std::uint64_t offset = counter.add_relaxed(size);
                if (offset + size <= stripe_) return pool_ + stripe * stripe_ + offset;
            }
            return nullptr;
        }
        HEAPWOOD_FN void deallocate(const allocators::Context&, void*, std::size_t) const {}
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t bytes) const {
            return platform::round_up<std::uint64_t>(bytes, allocators::kAlignment);
        }

    private:
        friend class Stripes;
        char* pool_;
        Counter* counters_;
        std::uint64_t stripe_;  ///< bytes of each
    };

    explicit Stripes(const allocators::PoolConfig& config)
        : stripe_(config.bytes / kStripes / allocators::kAlignment * allocators::kAlignment) {
        if (config.bytes < traits().smallest_pool) {
            throw std::invalid_argument("stripes needs a pool of at least 64 KiB");
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

static_assert(allocators::Allocator<Stripes>);

}  // namespace mine
