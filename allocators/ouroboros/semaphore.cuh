/// @file
/// How threads draw tickets for the places of a queue: from a semaphore, a number that may be below
/// 0 for a moment and says how many there are, and a counter, the next place.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::ouroboros {

/// Lowers a semaphore by up to n, but not below 0; orders nothing. @return by how much.
HEAPWOOD_INLINE std::uint32_t lower(const platform::AtomicRef<std::uint32_t>& semaphore,
                                    std::uint32_t n) {
    const auto before = static_cast<std::int32_t>(semaphore.sub_relaxed(n));
    if (before >= static_cast<std::int32_t>(n)) return n;
    const std::uint32_t got = before > 0 ? static_cast<std::uint32_t>(before) : 0U;
    semaphore.count_relaxed(n - got);
    return got;
}

/// Tickets for places of a queue, as one lane of a group sees them.
struct Tickets {
    std::uint32_t count;  ///< of the whole group; its lanes of lower ranks have them
    std::uint64_t place;  ///< this lane's, if it has one; if `count` is not 0
};

/// Draws a ticket for each lane of a group, or as many as there are; orders nothing.
/// @param counter the next place
/// @param lower_it what lowers the semaphore by up to n and returns by how much
template <class Policy, class Group, class LowerIt>
HEAPWOOD_INLINE Tickets draw(const Group& group, std::uint64_t& counter, LowerIt&& lower_it) {
    Tickets t{0, 0};
    if (group.rank() == 0) {
        t.count = lower_it(group.count());
        Policy::pause();
        if (t.count != 0)
            t.place = platform::AtomicRef<std::uint64_t>(counter).add_relaxed(t.count);
        Policy::pause();
    }
    t.count = group.of_leader(t.count);
    if (t.count != 0) t.place = group.of_leader(t.place) + group.rank();
    return t;
}

}  // namespace heapwood::allocators::ouroboros
