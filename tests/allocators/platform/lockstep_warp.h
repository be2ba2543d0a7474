/// @file
/// LockstepWarp: a warp of 32 host threads. For tests only: it shows on a CPU, to a debugger and
/// to a thread sanitizer, what only 32 lanes can show.
#pragma once

#include <array>
#include <barrier>
#include <bit>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>
#include <vector>

#include "allocators/platform/warp.cuh"
#include "tests/allocators/platform/lane_groups.h"

namespace heapwood::tests {

/// What the lanes of one LockstepWarp share.
struct LockstepGroup {
    static constexpr unsigned kWidth = 32;

    std::barrier<> barrier{kWidth};
    std::array<std::uint64_t, kWidth> slots{};
    LaneGroups lane_groups;
};

/// One lane's view of a warp of 32 threads that meet at a barrier.
///
/// Every collective has two meetings: all lanes have written their slots, all lanes have read
/// them. Between collectives the lanes run as the system schedules them, further apart than a
/// GPU's would. The group must outlive the lanes.
class LockstepWarp {
public:
    static constexpr unsigned width = LockstepGroup::kWidth;

    LockstepWarp(LockstepGroup& group, unsigned lane) : group_(&group), lane_(lane) {}

    unsigned lane() const { return lane_; }
    void sync() const { group_->barrier.arrive_and_wait(); }
    std::uint32_t ballot(bool p) const {
        std::uint32_t bits = 0;
        const auto votes = gather(p ? 1U : 0U);
        for (unsigned i = 0; i < width; ++i) bits |= votes[i] << i;
        return bits;
    }
    bool any(bool p) const { return ballot(p) != 0; }
    bool all(bool p) const { return ballot(p) == 0xffffffffU; }
    std::uint32_t match(std::uint32_t v) const {
        std::uint32_t bits = 0;
        const auto all = gather(v);
        for (unsigned i = 0; i < width; ++i) bits |= (all[i] == v ? 1U : 0U) << i;
        return bits;
    }
    template <class T>
    T shuffle(T v, unsigned source) const {
        // As a GPU takes it: a lane that has no use for the result may pass 32.
        return gather(v)[source % width];
    }
    unsigned rank(bool p) const {
        return static_cast<unsigned>(std::popcount(ballot(p) & ((1U << lane_) - 1U)));
    }
    unsigned count(bool p) const { return static_cast<unsigned>(std::popcount(ballot(p))); }
    template <class T>
    T sum(T v) const {
        return fold(gather(v), width, [](T a, T b) { return static_cast<T>(a + b); });
    }
    template <class T>
    T min(T v) const {
        return fold(gather(v), width, [](T a, T b) { return precedes(b, a) ? b : a; });
    }
    template <class T>
    T max(T v) const {
        return fold(gather(v), width, [](T a, T b) { return precedes(a, b) ? b : a; });
    }
    template <class T>
    T inclusive_sum(T v) const {
        return fold(gather(v), lane_ + 1, [](T a, T b) { return static_cast<T>(a + b); });
    }
    template <class T, unsigned N>
    void inclusive_sums(T (&values)[N]) const {
        for (T& value : values) value = inclusive_sum(value);
    }
    static void back_off(unsigned n) { platform::back_off(n); }

private:
    /// What every lane passed.
    template <class T>
    std::array<T, width> gather(T v) const {
        static_assert(std::is_arithmetic_v<T> && sizeof(T) <= sizeof(std::uint64_t));
        std::memcpy(&group_->slots[lane_], &v, sizeof(T));
        sync();
        std::array<T, width> all;
        for (unsigned i = 0; i < width; ++i) std::memcpy(&all[i], &group_->slots[i], sizeof(T));
        sync();
        return all;
    }

    template <class T, class Op>
    static T fold(const std::array<T, width>& values, unsigned n, Op op) {
        T result = values[0];
        for (unsigned i = 1; i < n; ++i) result = op(result, values[i]);
        return result;
    }

    template <class T>
    static bool precedes(T a, T b) {
        if constexpr (std::is_same_v<T, float>) {
            return platform::float_ordered_bits(a) < platform::float_ordered_bits(b);
        } else {
            return a < b;
        }
    }

    LockstepGroup* group_;
    unsigned lane_;
};

static_assert(platform::Warp<LockstepWarp>);

/// Calls `body(warp, w)` on each of the 32 lanes of `warps` LockstepWarps at once, w being the
/// warp's number, and returns when all are done.
template <class Body>
void run_lockstep(unsigned warps, const Body& body) {
    std::vector<LockstepGroup> groups(warps);
    std::vector<std::thread> threads;
    threads.reserve(std::size_t{warps} * LockstepWarp::width);
    for (unsigned w = 0; w < warps; ++w) {
        for (unsigned lane = 0; lane < LockstepWarp::width; ++lane) {
            threads.emplace_back([&, w, lane] {
                groups_of_caller = &groups[w].lane_groups;
                body(LockstepWarp(groups[w], lane), w);
            });
        }
    }
    for (std::thread& thread : threads) thread.join();
}

/// Calls `body(SerialWarp, w)` on `threads` threads at once, w being the thread's number, and
/// returns when all are done.
template <class Body>
void run_serial(unsigned threads, const Body& body) {
    std::vector<std::thread> running;
    running.reserve(threads);
    for (unsigned w = 0; w < threads; ++w) {
        running.emplace_back([&, w] { body(platform::SerialWarp{}, w); });
    }
    for (std::thread& thread : running) thread.join();
}

}  // namespace heapwood::tests
