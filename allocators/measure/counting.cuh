/// @file
/// Counting: wraps any allocator and keeps the statistics of what is asked of it.
///
/// Every count is an integer, so that the result does not depend on the order of threads: sizes
/// and their squares are summed exactly, the waste of a block as a fraction in units of 2^-32,
/// rounded down. Exact for up to 2^32 requests of less than 2^48 bytes each whose squares sum up
/// to less than 2^96.
///
/// Concurrency: relaxed counters, read by the host after the kernel. They are many atomics a
/// request: a timed run never carries this adaptor.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/atomicmalloc.cuh"
#include "allocators/measure/adaptor.h"
#include "allocators/measure/statistics.h"
#include "allocators/memory/buffer.h"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {

namespace detail {

/// What Counting counts. Counters that every request touches lie in cache lines of their own.
struct Counters {
    alignas(128) std::uint64_t requests;
    alignas(128) std::uint64_t frees;
    alignas(128) std::uint64_t failed;
    alignas(128) std::uint64_t bytes;         ///< sum of the sizes asked for and given
    alignas(128) std::uint64_t squares_low;   ///< sum of the lower 32 bits of their squares
    alignas(128) std::uint64_t squares_high;  ///< sum of the bits above, in units of 2^32
    alignas(128) std::uint64_t live;          ///< bytes
    alignas(128) std::uint64_t peak;          ///< largest value of `live`
    alignas(128) std::uint64_t granted;       ///< blocks whose size in the pool is known
    alignas(128) std::uint64_t waste;         ///< their sum of waste / size, in units of 2^-32
    alignas(128) std::uint64_t live_granted;  ///< as `granted`, of the blocks not yet freed
    alignas(128) std::uint64_t live_waste;    ///< as `waste`, of the same
    alignas(128) std::uint64_t frozen;        ///< not 0: no call does anything any more
    alignas(128) std::uint64_t histogram[64];
};

/// wasted / size in units of 2^-32, rounded down; wasted < size.
HEAPWOOD_INLINE std::uint64_t fraction(std::uint64_t wasted, std::uint64_t size) {
    const unsigned log2 = platform::floor_log2(size);
    const unsigned shift = log2 > 31 ? log2 - 31 : 0;
    return ((wasted >> shift) << 32) / (size >> shift);
}

}  // namespace detail

/// An allocator that counts. Behaves as A in all else; reset() also sets the counters to 0.
///
/// Told to by freeze_at(), it stops dead when so many bytes are live for the first time: from then
/// on every request gets nullptr, every free does nothing, neither is counted, and the pool and the
/// counts of what is live stay as they were, but for the calls then under way. These end as usual,
/// so that counters and pool agree when the kernel has ended.
template <Allocator A>
class Counting : public Adaptor<A> {
    using Adaptor<A>::inner_;
    static constexpr bool kSplittable = A::traits().splittable;

public:
    class Ref {
    public:
        HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
            if (frozen()) return nullptr;
            add(counters_->requests, 1);
            void* p = inner_.allocate(context, bytes);
            if (p == nullptr) {
                add(counters_->failed, 1);
            } else {
                count(p, bytes);
            }
            return p;
        }
        /// Two requests in the counts.
        // clang-format off
        HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                       void* (&blocks)[2]) const
            requires AllocatesPairs<typename A::Ref> {
            // clang-format on
            blocks[0] = blocks[1] = nullptr;
            if (frozen()) return false;
            add(counters_->requests, 2);
            if (!inner_.allocate_pair(context, bytes, blocks)) {
                add(counters_->failed, 2);
                return false;
            }
            count(blocks[0], bytes[0]);
            count(blocks[1], bytes[1]);
            return true;
        }
        HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
            if (p == nullptr || frozen()) return;
            add(counters_->frees, 1);
            // What part of a block's waste a part of it has is nowhere written.
            if constexpr (!kSplittable) {
                if (const std::uint64_t size = inner_.granted_bytes(p, bytes); size != 0) {
                    add(counters_->live_granted, ~std::uint64_t{0});
                    add(counters_->live_waste, 0 - detail::fraction(size - bytes, size));
                }
            }
            // Before the block can be given to another, or `live` would count it twice.
            platform::AtomicRef(counters_->live).sub_relaxed(bytes);
            inner_.deallocate(context, p, bytes);
        }
        HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
            return inner_.granted_bytes(p, bytes);
        }
        /// Of a frozen pool only the cache is cleared: what it keeps is lost to the pool until the
        /// next reset().
        HEAPWOOD_FN void flush(const Context& context) const {
            if (!frozen()) {
                allocators::flush(inner_, context);
            } else if (context.cache != nullptr) {
                *context.cache = {};
            }
        }

    private:
        friend class Counting;

        // Relaxed: a call that has not yet seen it is one of those under way.
        HEAPWOOD_INLINE bool frozen() const {
            return platform::AtomicRef(counters_->frozen).load_relaxed() != 0;
        }

        /// Enters a block that has been given.
        HEAPWOOD_FN void count(const void* p, std::size_t bytes) const {
            add(counters_->bytes, bytes);
            add(counters_->histogram[platform::floor_log2(bytes)], 1);
            const std::uint64_t high = static_cast<std::uint64_t>(bytes) >> 32;
            const std::uint64_t low = static_cast<std::uint64_t>(bytes) & 0xffffffffU;
            add(counters_->squares_low, low * low & 0xffffffffU);
            add(counters_->squares_high, (low * low >> 32) + 2 * high * low + (high * high << 32));
            if (const std::uint64_t size = inner_.granted_bytes(p, bytes); size != 0) {
                const std::uint64_t waste = detail::fraction(size - bytes, size);
                add(counters_->granted, 1);
                add(counters_->waste, waste);
                add(counters_->live_granted, 1);
                add(counters_->live_waste, waste);
            }
            const std::uint64_t live =
                platform::AtomicRef(counters_->live).add_relaxed(bytes) + bytes;
            platform::AtomicRef(counters_->peak).max_relaxed(live);
            if (live >= freeze_at_) platform::AtomicRef(counters_->frozen).store_relaxed(1);
        }

        HEAPWOOD_INLINE static void add(std::uint64_t& counter, std::uint64_t v) {
            platform::AtomicRef(counter).count_relaxed(v);
        }

        typename A::Ref inner_;
        detail::Counters* counters_;
        std::uint64_t freeze_at_;
    };

    explicit Counting(const PoolConfig& config)
        : Adaptor<A>(config), counters_(config.place, sizeof(detail::Counters)) {
        counters_.zero();
    }

    Ref ref() const {
        Ref r;
        r.inner_ = inner_.ref();
        r.counters_ = counters_.as<detail::Counters>();
        r.freeze_at_ = freeze_at_;
        return r;
    }
    /// Frees everything, sets the counters to 0 and thaws the pool; what freeze_at() told holds on.
    void reset() {
        inner_.reset();
        counters_.zero();
    }
    /// The pool freezes when `bytes` bytes or more are live. For Refs made after the call.
    void freeze_at(std::uint64_t bytes) { freeze_at_ = bytes; }
    /// Whether it has. Only while no kernel runs.
    bool frozen() const { return read().frozen != 0; }

    /// The requests since construction or the last reset(). `requests` are all of them, `failed`
    /// those answered with nullptr, for whatever reason; mean, deviation and histogram are of the
    /// sizes asked for in all others. Only while no kernel runs.
    Statistics statistics() const {
        const detail::Counters c = read();
        Statistics s;
        s.requests = c.requests;
        s.frees = c.frees;
        s.failed = c.failed;
        s.live_bytes = c.live;
        s.peak_live_bytes = c.peak;
        for (unsigned i = 0; i < 64; ++i) s.histogram[i] = c.histogram[i];
        if (const std::uint64_t n = c.requests - c.failed; n > 0) {
            const auto count = static_cast<long double>(n);
            const auto sum = static_cast<long double>(c.bytes);
            const long double squares = static_cast<long double>(c.squares_high) * 0x1p32L +
                                        static_cast<long double>(c.squares_low);
            s.mean_bytes = static_cast<double>(sum / count);
            const long double variance = (squares - sum / count * sum) / count;
            s.deviation_bytes = variance > 0 ? static_cast<double>(std::sqrt(variance)) : 0;
        }
        if (c.granted > 0) {
            s.internal_fragmentation = mean(c.waste, c.granted);
            // Of an allocator whose blocks are freed in parts it is known only that there is none.
            if (!kSplittable || c.live_waste == 0) {
                s.live_internal_fragmentation = mean(c.live_waste, c.live_granted);
            }
        }
        return s;
    }

private:
    detail::Counters read() const {
        detail::Counters c;
        counters_.read(0, &c, sizeof(c));
        return c;
    }
    /// Of `blocks` blocks whose fractions of waste sum up to `waste` in units of 2^-32.
    static double mean(std::uint64_t waste, std::uint64_t blocks) {
        return blocks == 0 ? 0 : static_cast<double>(waste) * 0x1p-32 / static_cast<double>(blocks);
    }

    std::uint64_t freeze_at_ = ~std::uint64_t{0};
    Buffer counters_;
};

static_assert(Allocator<Counting<AtomicMalloc>>);

}  // namespace heapwood::allocators
