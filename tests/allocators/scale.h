/// @file
/// How large the allocators' tests are on a machine (tests/allocators/platform/machines.h).
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "tests/allocators/platform/machines.h"

namespace heapwood::tests {

/// What is alike on every machine.
struct CommonScale {
    /// Blocks that a thread has at most in a random test.
    static constexpr unsigned slots = 8;
    /// PoolConfig::multiprocessors of every pool.
    static constexpr unsigned multiprocessors = 7;
    /// The largest of a random test's blocks: when every thread has as many of them as it can, they
    /// take an eighth of the pool.
    static constexpr std::uint64_t largest(std::uint64_t pool, unsigned threads) {
        return pool / (8 * threads * slots);
    }
};

/// How large the tests are on a machine. `pool` also is the largest pool anybody asks for: CUDA's
/// malloc cannot grow within a process.
template <class Machine>
struct Scale : CommonScale {
    static constexpr allocators::Place place = allocators::Place::host;
    static constexpr unsigned warps = Machine::Warp::width == 1 ? 8 : 1;
    static constexpr unsigned rounds = 2000 / Machine::Warp::width;
    static constexpr std::uint64_t pool = 4 << 20;
};
#if defined(__CUDACC__)
template <>
struct Scale<DeviceMachine> : CommonScale {
    static constexpr allocators::Place place = allocators::Place::device;
    static constexpr unsigned warps = 128;
    static constexpr unsigned rounds = 48;
    static constexpr std::uint64_t pool = 256 << 20;
};
#endif

}  // namespace heapwood::tests
