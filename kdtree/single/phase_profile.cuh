/// @file
/// Where the time of a build goes: counters of a profiling build (CMake: HEAPWOOD_PROFILE). Other
/// builds have none of this.
#pragma once

#include <cstdint>

#include "allocators/platform/clock.cuh"
#include "allocators/platform/macros.cuh"
#include "kdtree/build_profile.h"

namespace heapwood::kdtree {

#if defined(HEAPWOOD_PROFILE)
inline constexpr bool kProfiling = true;
#else
inline constexpr bool kProfiling = false;
#endif

/// One warp's nanoseconds by phase, and of being busy by interval of the build.
struct PhaseProfile {
    static constexpr unsigned kIntervals = 512;
    static constexpr unsigned kIntervalBits = 14;  ///< log2 of an interval's nanoseconds

    std::uint64_t start;  ///< when the build began; the same for all warps
    std::uint64_t phases[kPhases];
    std::uint64_t divided[3];  ///< references of nodes that were divided: small, medium, large ones
    std::uint64_t busy[kIntervals];
};

/// One warp's stop watch. Only lane 0 keeps time.
template <class W>
class PhaseClock {
public:
    /// `profiles`: one for each warp, of which this is number `warp_number`; all zero. Unused in
    /// other builds.
    HEAPWOOD_INLINE PhaseClock(const W& warp, PhaseProfile* profiles, std::uint32_t warp_number)
        : leader_(warp.lane() == 0), all_(profiles), mine_(profiles + warp_number) {}

    /// To be called by the first warp before the others come to `start`.
    HEAPWOOD_INLINE void start_all() {
        if constexpr (kProfiling) {
            if (leader_) all_->start = platform::nanoseconds();
        }
    }
    /// The warp begins to keep time.
    HEAPWOOD_INLINE void start() {
        if constexpr (kProfiling) {
            if (leader_) mine_->start = since_ = busy_since_ = all_->start;
        }
    }
    /// The warp begins with something else. Nothing counts before it has started.
    HEAPWOOD_INLINE void enter(Phase phase) {
        if constexpr (kProfiling) {
            if (leader_ && since_ != 0 && phase != phase_) change(phase);
        }
    }

    /// The warp divides references in the phase that it is in.
    HEAPWOOD_INLINE void count_divided(std::uint32_t references) {
        if constexpr (kProfiling) {
            if (leader_) {
                mine_->divided[static_cast<unsigned>(phase_) -
                               static_cast<unsigned>(Phase::divide_small)] += references;
            }
        }
    }

private:
    HEAPWOOD_NOINLINE void change(Phase phase) {
        const std::uint64_t t = platform::nanoseconds();
        mine_->phases[static_cast<unsigned>(phase_)] += t - since_;
        since_ = t;
        if (phase == Phase::wait) record_busy(t);
        if (phase_ == Phase::wait) busy_since_ = t;
        phase_ = phase;
    }

    /// Adds the time since busy_since_ to the intervals it falls into; the last one takes what is
    /// beyond.
    HEAPWOOD_INLINE void record_busy(std::uint64_t until) {
        constexpr std::uint64_t kLength = std::uint64_t{1} << PhaseProfile::kIntervalBits;
        for (std::uint64_t t = busy_since_; t < until;) {
            const std::uint64_t i = (t - mine_->start) / kLength;
            const std::uint64_t end = mine_->start + (i + 1) * kLength;
            const std::uint64_t upto = end < until ? end : until;
            const std::uint64_t last = PhaseProfile::kIntervals - 1;
            mine_->busy[i < last ? i : last] += upto - t;
            t = upto;
        }
    }

    bool leader_;
    PhaseProfile* all_;
    PhaseProfile* mine_;
    Phase phase_ = Phase::other;
    std::uint64_t since_ = 0;
    std::uint64_t busy_since_ = 0;
};

}  // namespace heapwood::kdtree
