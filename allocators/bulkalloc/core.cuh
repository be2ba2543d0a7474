/// @file
/// The part of BulkAlloc that runs in kernels; bulkalloc.cuh says what it is made of and after
/// whom.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/bulkalloc/bins.cuh"
#include "allocators/bulkalloc/buddies.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::bulkalloc {

/// The handle that kernels use. A Policy has
/// - `kPatience`: pauses of a wait for units that another has promised;
/// - `kLooks`: how often a search that was in vain looks on before it looks everywhere;
/// - `kRounds`: how often a request that was unlucky tries again;
/// - `pause()`: called wherever other threads may come between two steps; does something in tests
///   only.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 >= small_) return allocate_large(context, bytes);  // 0, too
        const std::uint32_t kind = kind_of(bytes);
        const std::uint32_t arena = bins_.arena_of(context.multiprocessor);
        for (std::uint32_t unlucky = 0; unlucky < Policy::kRounds;) {
            const platform::Lanes lanes(bins_.hint(arena, kind));
            Grant grant = kAgain;
            if (lanes.rank() == 0) grant = bins_.supply(arena, kind, lanes.count());
            grant = {lanes.of_leader(grant.bin), lanes.of_leader(grant.units),
                     lanes.of_leader(grant.first)};
            lanes.sync();
            if (grant.units == 0) return nullptr;
            // To come after other lanes that get their units is no bad luck.
            if (grant.bin != kNone && lanes.rank() >= grant.units) continue;
            if (grant.bin != kNone) {
                const std::uint32_t unit =
                    bins_.template find_unit<true>(arena, kind, grant, lanes.rank());
                if (unit != kNone) return address(grant.bin) + (std::size_t{unit} << (kind + 3));
            }
            platform::back_off(unlucky++);
        }
        return nullptr;
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        const auto offset = static_cast<std::uint64_t>(static_cast<char*>(p) - memory_);
        const auto bin = static_cast<std::uint32_t>(offset >> bins_.bin_shift());
        const Buddies<Policy>& buddies = bins_.buddies();
        if (bytes > small_) {
            const std::uint32_t order = order_of(bytes);
            return buddies.free(buddies.first(order) + (bin >> order), order, 0);
        }
        const std::uint32_t kind = kind_of(bytes);
        const auto within = static_cast<std::uint32_t>(offset) & ((1U << bins_.bin_shift()) - 1);
        bins_.template free<true>(bins_.arena_of(context.multiprocessor), kind, bin,
                                  within >> (kind + 3), 0);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return bytes > small_ ? std::uint64_t{1} << (bins_.bin_shift() + order_of(bytes))
                              : std::uint64_t{8} << kind_of(bytes);
    }

private:
    template <class>
    friend class heapwood::allocators::BasicBulkAlloc;

    HEAPWOOD_INLINE char* address(std::uint32_t bin) const {
        return memory_ + (std::uint64_t{bin} << bins_.bin_shift());
    }
    HEAPWOOD_INLINE static std::uint32_t kind_of(std::size_t bytes) {
        return platform::floor_log2((static_cast<std::uint32_t>(bytes) - 1) | 15U) - 2;
    }
    /// Of blocks that are larger than small ones.
    HEAPWOOD_INLINE std::uint32_t order_of(std::size_t bytes) const {
        const std::uint64_t bins = (std::uint64_t{bytes} - 1) >> bins_.bin_shift();
        return bins == 0 ? 0 : platform::floor_log2(bins) + 1;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        if (bytes == 0 || bytes > largest_) return nullptr;
        const std::uint32_t order = order_of(bytes);
        const Node node = bins_.obtain(bins_.arena_of(context.multiprocessor), order, context.warp);
        if (node == kNone) return nullptr;
        return address((node - bins_.buddies().first(order)) << order);
    }

    char* memory_;
    std::uint64_t largest_;  ///< bytes of the largest block
    Bins<Policy> bins_;
    std::uint32_t small_;  ///< bytes of the largest block of a bin
};

}  // namespace heapwood::allocators::bulkalloc
