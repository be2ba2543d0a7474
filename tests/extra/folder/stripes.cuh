/// @file
/// Stripes: AtomicMalloc with a pool in stripes, a counter for each, so that fewer threads meet at
/// a counter. An example of an allocator outside the tree.
///
/// Concurrency: a counter hands out disjoint ranges, and no memory is handed out twice between two
/// resets, so relaxed order suffices.
#pragma once

#include <mine/striped_pool.h>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

#if !defined(MINE_STRIPES)
#error "MINE_STRIPES comes from the OPTIONS of this folder's CMakeLists.txt"
#endif

namespace mine {

namespace platform = heapwood::platform;

class Stripes : public StripedPool<MINE_STRIPES> {
public:
    static constexpr allocators::Traits traits() { return striped_traits("stripes", "Stripes"); }

    class Ref {
    public:
        /// Looks into every stripe once, its own first.
        HEAPWOOD_FN void* allocate(const allocators::Context& context, std::size_t bytes) const {
            const auto [pool, counters, stripe] = memory_;
            if (bytes == 0 || bytes > stripe) return nullptr;
            const auto size = platform::round_up<std::uint64_t>(bytes, allocators::kAlignment);
            for (std::uint32_t i = 0; i < MINE_STRIPES; ++i) {
                const std::uint32_t number = (context.multiprocessor + i) % MINE_STRIPES;
                const platform::AtomicRef counter(counters[number].used);
                if (counter.load_relaxed() + size > stripe) continue;
                const std::uint64_t offset = counter.add_relaxed(size);
                if (offset + size <= stripe) return pool + number * stripe + offset;
            }
            return nullptr;
        }
        HEAPWOOD_FN void deallocate(const allocators::Context&, void*, std::size_t) const {}
        HEAPWOOD_FN std::uint64_t granted_bytes(const void*, std::size_t bytes) const {
            return platform::round_up<std::uint64_t>(bytes, allocators::kAlignment);
        }

    private:
        friend class Stripes;
        StripedMemory memory_;
    };

    explicit Stripes(const allocators::PoolConfig& config) : StripedPool(config, traits()) {}

    Ref ref() const {
        Ref r;
        r.memory_ = memory();
        return r;
    }
};

static_assert(allocators::Allocator<Stripes>);

}  // namespace mine
