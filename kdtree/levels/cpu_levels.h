/// @file
/// The level method's machine on a CPU: every step is a loop over an array, which threads share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "allocators/memory/array_pool.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/threads.h"
#include "allocators/platform/warp.cuh"
#include "kdtree/levels/level_state.cuh"
#include "kdtree/split/split_exact_serial.h"

namespace heapwood::kdtree {

/// See level_driver.h.
class CpuLevels {
public:
    using Search = SerialExactSearch;

    explicit CpuLevels(unsigned threads) : threads_(platform::thread_count(threads)) {}

    allocators::Place place() const { return allocators::Place::host; }
    std::uint32_t warps() const { return 8 * threads_; }

    template <class F>
    void for_each(std::uint32_t n, const F& f) {
        share(n, 4096, [&](std::uint32_t from, std::uint32_t to) {
            for (std::uint32_t i = from; i < to; ++i) f(i);
        });
    }
    template <class F>
    void for_each_warp(std::uint32_t n, const F& f) {
        share(n, std::clamp(n / warps(), 1U, 256U), [&](std::uint32_t from, std::uint32_t to) {
            typename F::Scratch scratch;
            for (std::uint32_t i = from; i < to; ++i) f(platform::SerialWarp{}, scratch, i);
        });
    }
    void exclusive_scan(allocators::ArrayPool&, Needs* values, std::uint32_t n) {
        std::exclusive_scan(values, values + n, values, Needs{});
    }
    void copy(void* to, const void* from, std::uint64_t bytes) {
        std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
    }
    template <class F>
    double time(const F& f) {
        return platform::run_timed(f);
    }
    unsigned threads() const { return threads_; }

private:
    /// Calls work(from, to) for ranges of at most `grain` that make up 0 .. n, on all threads.
    template <class Work>
    void share(std::uint32_t n, std::uint32_t grain, const Work& work) {
        std::uint64_t next = 0;
        const auto take = [&](std::uint32_t, std::uint32_t) {
            for (std::uint64_t from = 0;
                 (from = platform::AtomicRef(next).add_relaxed(grain)) < n;) {
                work(static_cast<std::uint32_t>(from),
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(from + grain, n)));
            }
        };
        platform::run_threads(std::min(threads_, platform::ceil_div(n, grain)), take);
    }

    unsigned threads_;
};

}  // namespace heapwood::kdtree
