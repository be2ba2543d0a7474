/// @file
/// Adaptor: what all allocators that wrap another have in common.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "allocators/allocator.cuh"

namespace heapwood::allocators {

// The versions of clang-format lay out concepts differently.
// clang-format off

/// An allocator that notices when it would hand out memory in use, and refuses: after a kernel,
/// `failure_note()` is a sentence on that, or empty.
template <class A>
concept RefusesToOverwrite = requires(const A a) {
    { a.failure_note() } -> std::same_as<std::string>;
};
// clang-format on

/// Base of a host object that wraps an A: owns it and passes on what the adaptor does not change.
/// The adaptor adds `Ref`, `ref()`, and its own traits() and reset() where they differ.
template <Allocator A>
class Adaptor {
public:
    static constexpr Traits traits() { return A::traits(); }

    void reset() { inner_.reset(); }
    std::uint64_t pool_bytes() const { return inner_.pool_bytes(); }
    std::uint64_t overhead_bytes() const { return inner_.overhead_bytes(); }
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        inner_.for_each_region(visit);
    }
    /// As A's, where it has one.
    // clang-format off
    std::string failure_note() const requires RefusesToOverwrite<A> { return inner_.failure_note(); }
    // clang-format on
    /// As A's, where its pool can grow while a kernel uses it (heap/growth_limits.h).
    // clang-format off
    template <class Limits>
    void grow_automatically(const Limits& limits)
        requires requires(A& a) { a.grow_automatically(limits); } {
        inner_.grow_automatically(limits);
    }
    std::string growth_refusal() const requires requires(const A& a) { a.growth_refusal(); } {
        return inner_.growth_refusal();
    }
    std::uint32_t part_count() const requires requires(const A& a) { a.part_count(); } {
        return inner_.part_count();
    }
    // clang-format on
    A& inner() { return inner_; }

protected:
    explicit Adaptor(const PoolConfig& config) : inner_(config) {}

    A inner_;
};

}  // namespace heapwood::allocators
