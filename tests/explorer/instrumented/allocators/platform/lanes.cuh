/// @file
/// What stands in for allocators/platform/lanes.cuh in the explorer's tests: lanes of a program's
/// warp form a group or do not, as the explorer chooses.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "tests/explorer/explorer.h"
#include "tests/site.h"

#define Lanes UngroupedLanes
#include "../../../../../allocators/platform/lanes.cuh"
#undef Lanes

namespace heapwood::platform {

/// As the real one, of two lanes at most.
class Lanes {
    using Site = tests::Site;

public:
    template <class T, Scope kScope>
    explicit Lanes(const AtomicRef<T, kScope>& word, Site place = Site::current())
        : Lanes(word, 0, place) {}
    template <class T, Scope kScope>
    Lanes(const AtomicRef<T, kScope>& word, std::uint32_t key, Site place = Site::current())
        : group_(tests::explorer::join_lanes(word.address(), key, place)) {}

    unsigned count() const { return group_.together ? 2 : 1; }
    unsigned rank() const { return group_.rank; }
    template <class T>
    T of_leader(T v) const {
        if (!group_.together) return v;
        const T other = exchange(v);
        return rank() == 0 ? v : other;
    }
    template <class T>
    T sum(T v, T& before) const {
        before = 0;
        if (!group_.together) return v;
        const T other = exchange(v);
        if (rank() == 1) before = other;
        return static_cast<T>(v + other);
    }
    void sync(Site place = Site::current()) const {
        if (group_.together) tests::explorer::sync_with(group_.partner, place);
    }

private:
    template <class T>
    T exchange(T v) const {
        return static_cast<T>(
            tests::explorer::exchange_with(group_.partner, static_cast<std::uint64_t>(v)));
    }

    tests::explorer::Group group_;
};

}  // namespace heapwood::platform
