/// @file
/// Groups of threads that are lanes of one warp: what a GPU's hardware forms where lanes come to
/// the same place at the same time (allocators/platform/lanes.cuh).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/site.h"

namespace heapwood::tests {

/// How many groups have been formed since the last reset(), in the whole process.
struct GroupCounts {
    std::atomic<std::uint64_t> alone{0};     ///< of one lane
    std::atomic<std::uint64_t> together{0};  ///< of several

    void reset() { alone = together = 0; }
};
inline GroupCounts group_counts;

/// Lanes that act together. All members call the same methods in the same order.
class LaneGroup {
public:
    static constexpr unsigned kMost = 32;
    using Values = std::array<std::uint64_t, kMost>;

    /// What its members compare.
    struct Key {
        const void* word;
        std::uint32_t key;
        Site place;

        bool operator==(const Key& other) const {
            return word == other.word && key == other.key && place.line() == other.place.line() &&
                   std::strcmp(place.file_name(), other.place.file_name()) == 0;
        }
    };

    explicit LaneGroup(const Key& key) : key_(key) {}

    const Key& key() const { return key_; }
    unsigned count() const { return count_.load(std::memory_order_relaxed); }

    /// Adds a lane, before close(). @return its rank
    unsigned enter() { return count_.fetch_add(1, std::memory_order_relaxed); }
    void close() { closed_.store(true, std::memory_order_release); }
    void wait_until_closed() const {
        while (!closed_.load(std::memory_order_acquire)) std::this_thread::yield();
    }

    /// What every member passes, by rank. It orders no other memory, as a GPU's shuffle: a value
    /// travels in two halves, each in a word with the number of the meeting. @param meeting how
    /// many meetings the caller has had in this group, and this one
    Values gather(std::uint64_t value, unsigned rank, std::uint32_t meeting) {
        auto& slots = slots_[meeting % 2];
        const std::uint64_t tag = std::uint64_t{meeting} << 32;
        slots[rank][0].store(tag | static_cast<std::uint32_t>(value), std::memory_order_relaxed);
        slots[rank][1].store(tag | value >> 32, std::memory_order_relaxed);
        Values values{};
        for (unsigned i = 0; i < count(); ++i) {
            values[i] = half(slots[i][0], meeting) | half(slots[i][1], meeting) << 32;
        }
        return values;
    }
    /// Waits for all members; what each did before happens before what any does afterwards.
    /// @param number how many calls the caller has made, and this one
    void sync(std::uint32_t number) {
        synced_.fetch_add(1, std::memory_order_acq_rel);
        while (synced_.load(std::memory_order_acquire) < number * count()) {
            std::this_thread::yield();
        }
    }

private:
    using Slot = std::array<std::atomic<std::uint64_t>, 2>;

    static std::uint64_t half(const std::atomic<std::uint64_t>& slot, std::uint32_t meeting) {
        for (;;) {
            const std::uint64_t w = slot.load(std::memory_order_relaxed);
            if (w >> 32 == meeting) return static_cast<std::uint32_t>(w);
            std::this_thread::yield();
        }
    }

    Key key_;
    std::atomic<unsigned> count_{0};
    std::atomic<bool> closed_{false};
    std::atomic<unsigned> synced_{0};
    /// A member that has all values of a meeting may be in the next one, but not in that after it.
    std::array<std::array<Slot, kMost>, 2> slots_{};
};

/// The groups that lanes of one warp are about to form.
class LaneGroups {
public:
    /// The caller's group, which it forms with those that come with the same key within a moment.
    /// @param rank the caller's number in it
    std::shared_ptr<LaneGroup> join(const LaneGroup::Key& key, unsigned& rank) {
        std::shared_ptr<LaneGroup> group = enter(key, rank);
        if (rank != 0) {
            group->wait_until_closed();
            return group;
        }
        for (unsigned i = 0; i < kPatience && group->count() < LaneGroup::kMost; ++i) {
            std::this_thread::yield();
        }
        const std::lock_guard lock(mutex_);
        std::erase(forming_, group);
        (group->count() == 1 ? group_counts.alone : group_counts.together) += 1;
        group->close();
        return group;
    }

private:
    /// Yields for which the first lane waits for others.
    static constexpr unsigned kPatience = 10;

    std::shared_ptr<LaneGroup> enter(const LaneGroup::Key& key, unsigned& rank) {
        const std::lock_guard lock(mutex_);
        const auto same = std::find_if(forming_.begin(), forming_.end(),
                                       [&](const auto& group) { return group->key() == key; });
        const auto group = same != forming_.end()
                               ? *same
                               : forming_.emplace_back(std::make_shared<LaneGroup>(key));
        rank = group->enter();
        return group;
    }

    std::mutex mutex_;
    std::vector<std::shared_ptr<LaneGroup>> forming_;
};

/// Those of the warp that the calling thread is a lane of; nullptr: it is a warp by itself.
inline thread_local LaneGroups* groups_of_caller = nullptr;

}  // namespace heapwood::tests
