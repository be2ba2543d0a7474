/// @file
/// What stands in for allocators/platform/lanes.cuh in the conformance suite on a CPU: lanes of a
/// LockstepWarp that come to the same place within a moment form a group, as those of a GPU's warp
/// do. Any other thread is alone.
///
/// This folder precedes the project's in the include path, so that the allocators' sources are
/// compiled unchanged.
#pragma once

#include <cstdint>
#include <memory>

#include "allocators/platform/atomic.cuh"
#include "tests/allocators/platform/lane_groups.h"
#include "tests/site.h"

#define Lanes UngroupedLanes
#include "../../../../../allocators/platform/lanes.cuh"
#undef Lanes

namespace heapwood::platform {

/// As the real one.
class Lanes {
    using Site = tests::Site;

public:
    template <class T, Scope kScope>
    explicit Lanes(const AtomicRef<T, kScope>& word, Site place = Site::current())
        : Lanes(word, 0, place) {}
    template <class T, Scope kScope>
    Lanes(const AtomicRef<T, kScope>& word, std::uint32_t key, Site place = Site::current()) {
        if (tests::LaneGroups* groups = tests::groups_of_caller) {
            group_ = groups->join({word.address(), key, place}, rank_);
        }
    }

    unsigned count() const { return group_ ? group_->count() : 1; }
    unsigned rank() const { return rank_; }
    template <class T>
    T of_leader(T v) const {
        return group_ ? static_cast<T>(gather(v)[0]) : v;
    }
    template <class T>
    T sum(T v, T& before) const {
        before = 0;
        if (!group_) return v;
        T all = 0;
        const auto values = gather(v);
        for (unsigned i = 0; i < count(); ++i) {
            if (i == rank_) before = all;
            all += static_cast<T>(values[i]);
        }
        return all;
    }
    void sync() const {
        if (group_) group_->sync(++syncs_);
    }

private:
    template <class T>
    tests::LaneGroup::Values gather(T v) const {
        return group_->gather(static_cast<std::uint64_t>(v), rank_, ++meetings_);
    }

    std::shared_ptr<tests::LaneGroup> group_;
    unsigned rank_ = 0;
    mutable std::uint32_t meetings_ = 0;
    mutable std::uint32_t syncs_ = 0;
};

}  // namespace heapwood::platform
