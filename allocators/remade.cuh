/// @file
/// Remade: an allocator of a class that has pools, but cannot empty or move them, as those that
/// exist often are: reset() ends the pool and makes another one from the same PoolConfig.
///
/// The old pool ends before there is a new one. So a class whose state is in static or `__device__`
/// variables can be wrapped, and memory is needed for one pool alone. Handles end with reset(): who
/// launches a kernel takes ref() after it. Where no handle was taken since the pool was made,
/// reset() leaves the pool as it is. A reset that makes a pool costs what the constructor costs,
/// and cannot be captured in a CUDA graph.
#pragma once

#include <cstdint>
#include <memory>

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

template <PoolOwner A>
class Remade {
public:
    using Ref = typename A::Ref;

    static constexpr Traits traits() { return A::traits(); }

    /// @throws what A's constructor throws
    explicit Remade(const PoolConfig& config)
        : config_(config), pool_(std::make_unique<A>(config)) {}

    Ref ref() const {
        used_ = true;
        return pool_->ref();
    }
    /// @throws what A's constructor throws. Then there is no pool, and nothing but another reset(),
    /// which tries again, may be called.
    void reset() {
        if (!used_) return;
        pool_.reset();
        pool_ = std::make_unique<A>(config_);
        used_ = false;
    }
    std::uint64_t pool_bytes() const { return pool_->pool_bytes(); }
    std::uint64_t overhead_bytes() const { return pool_->overhead_bytes(); }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        pool_->for_each_region(visit);
    }
    /// A's own options, where it has some.
    // clang-format off
    static constexpr auto options() requires requires { A::options(); } { return A::options(); }
    // clang-format on

private:
    PoolConfig config_;
    std::unique_ptr<A> pool_;    ///< nullptr only after a reset() that threw
    mutable bool used_ = false;  ///< whether a handle of this pool was taken
};

namespace detail {

template <class A>
struct CompleteOf {
    using Type = A;
};
template <PoolOwner A>
requires(!Allocator<A>) struct CompleteOf<A> {
    using Type = Remade<A>;
};

}  // namespace detail

/// Whether A is a Remade.
template <class A>
inline constexpr bool kIsRemade = false;
template <class A>
inline constexpr bool kIsRemade<Remade<A>> = true;

/// A where it keeps all of the contract; Remade<A> where only reset() lacks, or that A is movable.
template <class A>
using Complete = typename detail::CompleteOf<A>::Type;

}  // namespace heapwood::allocators
