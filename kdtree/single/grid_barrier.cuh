/// @file
/// A barrier among all warps of a build.
#pragma once

#include <cstdint>

#include "allocators/platform/macros.cuh"
#include "kdtree/single/task_queue.cuh"

namespace heapwood::kdtree {

/// A warp's place among the warps of a build: warps come in teams, which have a barrier of their
/// own. Here each warp is a team.
struct SoloTeam {
    std::uint32_t warp;
    std::uint32_t warps;

    /// How many teams there are, and how many warps.
    HEAPWOOD_INLINE std::uint32_t teams() const { return warps; }
    HEAPWOOD_INLINE std::uint32_t all_warps() const { return warps; }
    /// A number for the warp, from 0. Neighbours in number are in different teams, if they can be.
    HEAPWOOD_INLINE std::uint32_t rank() const { return warp; }
    /// Whether this warp speaks for its team.
    HEAPWOOD_INLINE bool leads() const { return true; }
    /// Collective of the team: waits for all of its threads, whose writes all see then.
    HEAPWOOD_INLINE void sync() const {}
};

/// The state of a barrier: all zero at the start.
struct BarrierState {
    Counter arrived;
    Counter passed;
};

/// One warp's view of a barrier of all warps, which are all running.
///
/// Memory order: what any warp wrote before `wait` happens before what any warp does after it. The
/// arrivals release, each acquires those before it, and the last one's release of `passed` is
/// acquired by all others.
template <class W, class Team>
class GridBarrier {
public:
    HEAPWOOD_FN GridBarrier(const W& warp, const Team& team, BarrierState& state)
        : warp_(warp), team_(team), state_(state) {}

    /// Collective of all warps.
    HEAPWOOD_INLINE void wait() {
        warp_.sync();
        team_.sync();
        ++turn_;
        if (team_.leads() && warp_.lane() == 0) {
            const std::uint32_t before = state_.arrived.ref().add_acq_rel(1);
            if (before + 1 == turn_ * team_.teams()) {
                state_.passed.ref().store_release(turn_);
            } else {
                auto passed = state_.passed.ref();
                // Relaxed first: on a GPU each acquire empties the multiprocessor's cache.
                while (passed.load_relaxed() < turn_) W::back_off(0);
                while (passed.load_acquire() < turn_) W::back_off(0);
            }
        }
        team_.sync();
        warp_.sync();
    }

private:
    const W warp_;
    const Team team_;
    BarrierState& state_;
    std::uint32_t turn_ = 0;
};

}  // namespace heapwood::kdtree
