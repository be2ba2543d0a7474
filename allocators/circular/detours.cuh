/// @file
/// How a search of the whole ring uses hints: where it begins, and whether it moves to another hint
/// when it loses a chunk or has gone far.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/homes.cuh"
#include "allocators/circular/refuges.cuh"
#include "allocators/circular/ring.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// How many headers a search looks at in a stretch, or from a refuge on.
inline constexpr std::uint32_t kMostSteps = 64;
/// At how many refuges a request looks before it turns to coarser ones: then it has made so many
/// times kMostSteps steps. One that has never lost a chunk turns to a refuge after as many.
inline constexpr std::uint32_t kMostRefuges = 16;

/// As Ring::grant()'s `cut`: cuts nothing off.
struct CutNothing {
    HEAPWOOD_INLINE std::uint32_t operator()(std::uint32_t, std::uint32_t end) const { return end; }
};

/// A search that stays on its way: the request has moved from stretch to stretch before.
template <class Policy>
class NoDetour {
public:
    static constexpr bool kMoves = false;

    HEAPWOOD_INLINE NoDetour(const Homes<Policy>& homes, const Context& context, std::uint32_t need)
        : homes_(homes), home_(homes.home_of(context, need, kMostMoves)) {}

    HEAPWOOD_INLINE std::uint32_t start() const { return homes_.hint(home_).load_relaxed(); }
    HEAPWOOD_INLINE static bool moves_on(std::uint32_t, bool, std::uint32_t&) { return false; }
    HEAPWOOD_INLINE static std::uint32_t cut(std::uint32_t, std::uint32_t end, std::uint32_t) {
        return end;
    }
    HEAPWOOD_INLINE void remember_taken(std::uint32_t past) const {
        homes_.remember_taken(home_, past);
    }
    /// How many steps a search makes at least whose traversals are inconclusive.
    HEAPWOOD_INLINE static std::uint32_t patience(bool) { return Policy::kPatience; }

private:
    const Homes<Policy>& homes_;
    Home home_;
};

/// A search that turns from the single hint to refuges.
template <class Policy>
class RefugeDetour {
public:
    static constexpr bool kMoves = true;

    HEAPWOOD_INLINE RefugeDetour(const Ring<Policy>& ring, const Refuges<Policy>& refuges,
                                 std::uint32_t warp)
        : ring_(ring), refuges_(refuges), warp_(warp) {}

    HEAPWOOD_INLINE std::uint32_t start() const { return refuges_.hint(hint_).load_relaxed(); }
    /// A chunk was lost: on to a finer refuge. @return where to go on
    HEAPWOOD_INLINE std::uint32_t after_loss(std::uint32_t steps) {
        const std::uint32_t finest = refuges_.levels();
        level_ = hint_ == 0 || level_ == finest ? finest : level_ + 1;
        return turn(steps);
    }
    /// Whether the search goes on at a refuge, from `at` on: it has gone far from this one, or from
    /// the hint, or the ring has ended here (`ends`).
    HEAPWOOD_INLINE bool moves_on(std::uint32_t steps, bool ends, std::uint32_t& at) {
        constexpr std::uint32_t kLong = kMostSteps * kMostRefuges;
        if (level_ > 0 ? !ends && steps % kMostSteps != 0 : ends || steps != kLong || hint_ != 0) {
            return false;
        }
        if (hint_ == 0) {
            level_ = refuges_.levels();
        } else if (ends || steps >= kLong) {
            --level_;
        }
        at = turn(steps);
        return true;
    }
    /// As Ring::grant()'s `cut`: in a crowd another request finds the half of a large rest.
    HEAPWOOD_INLINE std::uint32_t cut(std::uint32_t from, std::uint32_t end,
                                      std::uint32_t need) const {
        if (hint_ == 0 || (end - from) / Policy::kCrowd < need) return end;
        return refuges_.cut(ring_, from, end);
    }
    HEAPWOOD_INLINE void remember_taken(std::uint32_t past) const {
        refuges_.hint(hint_).store_relaxed(0 < past && past < ring_.granules() ? past : 0);
    }
    /// As NoDetour's. `hopeful`: there may have been a chunk.
    HEAPWOOD_INLINE static std::uint32_t patience(bool hopeful) {
        return hopeful ? Policy::kPersistence : Policy::kPatience;
    }

private:
    HEAPWOOD_INLINE std::uint32_t turn(std::uint32_t steps) {
        hint_ = refuges_.refuge(warp_, steps, level_);
        return start();
    }

    const Ring<Policy>& ring_;
    const Refuges<Policy>& refuges_;
    std::uint32_t warp_;
    std::uint32_t hint_ = 0;
    std::uint32_t level_ = 0;  // of the refuge
};

}  // namespace heapwood::allocators::circular
