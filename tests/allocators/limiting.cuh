/// @file
/// Limiting: wraps any allocator and fails on demand, to test what a program does when memory
/// runs out.
///
/// Concurrency: one relaxed counter numbers the requests, from 0; which thread draws which number
/// is up to the schedule, how many fail is not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/atomicmalloc.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"

namespace heapwood::tests {

namespace detail {

/// Mixes all bits of v (the finaliser of SplitMix64, Steele et al. 2014).
HEAPWOOD_INLINE std::uint64_t mix(std::uint64_t v) {
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9U;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebU;
    return v ^ (v >> 31);
}

}  // namespace detail

/// An allocator that fails when told to. Never fails of itself until it is told. What it refuses
/// does not reach A; what it passes on may still fail there.
template <allocators::Allocator A>
class Limiting : public allocators::Adaptor<A> {
    using allocators::Adaptor<A>::inner_;
    using Context = allocators::Context;

public:
    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            const std::uint64_t number = platform::AtomicRef(*counter_).add_relaxed(1);
            if (fails(number)) return nullptr;
            return inner_.allocate(context, bytes);
        }
        /// Two requests, each with a number of its own; if either fails, both do.
        // clang-format off
        HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                       void* (&blocks)[2]) const
            requires allocators::AllocatesPairs<typename A::Ref> {
            // clang-format on
            const std::uint64_t number = platform::AtomicRef(*counter_).add_relaxed(2);
            if (fails(number) || fails(number + 1)) {
                blocks[0] = blocks[1] = nullptr;
                return false;
            }
            return inner_.allocate_pair(context, bytes, blocks);
        }
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            inner_.deallocate(context, p, bytes);
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return inner_.granted_bytes(p, bytes);
        }
        HEAPWOOD_FN void flush(const Context& context) const { allocators::flush(inner_, context); }

        /// Whether the request of that number fails.
        HEAPWOOD_FN bool fails(std::uint64_t number) const {
            return number - first_ < count_ ||
                   (period_ != 0 && detail::mix(number + seed_) % period_ == 0);
        }

    private:
        friend class Limiting;
        typename A::Ref inner_;
        std::uint64_t* counter_;
        std::uint64_t first_;
        std::uint64_t count_;
        std::uint64_t period_;
        std::uint64_t seed_;
    };

    explicit Limiting(const allocators::PoolConfig& config)
        : allocators::Adaptor<A>(config), counter_(config.place, sizeof(std::uint64_t)) {
        counter_.zero();
    }

    /// From now on, the first `requests` requests pass and all later ones fail. For Refs made
    /// after the call.
    void fail_after(std::uint64_t requests) { fail(requests, ~std::uint64_t{0} - requests); }
    /// From now on, the request of that number fails and no other. For Refs made after the call.
    void fail_only(std::uint64_t number) { fail(number, 1); }
    /// From now on, one in `period` requests fails, chosen by a hash of its number and the seed; 0:
    /// none. For Refs made after the call.
    void fail_one_in(std::uint64_t period, std::uint64_t seed) {
        fail(0, 0);
        period_ = period;
        seed_ = detail::mix(seed);
    }

    Ref ref() const {
        Ref r;
        r.inner_ = inner_.ref();
        r.counter_ = counter_.as<std::uint64_t>();
        r.first_ = first_;
        r.count_ = count_;
        r.period_ = period_;
        r.seed_ = seed_;
        return r;
    }
    /// Frees everything and numbers requests from 0 again; what it was told holds on.
    void reset() {
        inner_.reset();
        counter_.zero();
    }

private:
    void fail(std::uint64_t first, std::uint64_t count) {
        first_ = first;
        count_ = count;
        period_ = 0;
        counter_.zero();
    }

    std::uint64_t first_ = 0;
    std::uint64_t count_ = 0;
    std::uint64_t period_ = 0;
    std::uint64_t seed_ = 0;
    allocators::Buffer counter_;
};

static_assert(allocators::Allocator<Limiting<allocators::AtomicMalloc>>);

}  // namespace heapwood::tests
