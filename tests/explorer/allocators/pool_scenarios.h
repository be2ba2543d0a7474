/// @file
/// Scenarios of allocators that divide slabs, superblocks or segments of 1 KiB: threads in a pool
/// of 16 of these units, of which a part is in use when they begin.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explorer/explorer.h"
#include "tests/explorer/faults.h"
#include "tests/explorer/pool.h"
#include "tests/explorer/soundness.h"

namespace heapwood::tests::explorer {

inline constexpr unsigned kUnits = 16;
inline constexpr std::size_t kUnitPoolBytes = kUnits * 1024;
/// The room in a pool: all that the blocks leave; or none but in the blocks' units.
inline constexpr unsigned kRoomy = kUnits;
inline constexpr unsigned kFull = 0;

/// What a scenario's blocks are, or were.
using Blocks = const std::vector<void*>&;

/// @tparam Of the explorer's pool, of an allocator that is asked for more bytes than are used
/// (Resized)
/// @tparam kUnit the bytes used of a block that takes a unit's place
template <class Of, std::size_t kUnit>
struct PoolScenario {
    const char* name;
    /// Units that are not in use from beginning to end, with those of the blocks; or kFull: then
    /// one unit is in use before them, for a unit at the start of a stretch would merge with
    /// nothing, and could be returned twice; and all units behind them.
    unsigned room;
    unsigned taken;              ///< blocks that are allocated at first
    std::vector<unsigned> left;  ///< of these, the ones that are not freed again
    std::vector<std::function<void(Of&, Blocks)>> threads;
    std::size_t used = 16;  ///< of these blocks
    bool in_turn = false;   ///< threads end before others begin
    bool opened = false;  ///< after the frees one more block is allocated, which opens a unit anew
};

/// Explores a scenario.
template <class Of, std::size_t kUnit>
Result run_scenario(const PoolScenario<Of, kUnit>& s, const Bounds& bounds,
                    const Mutation& mutation = {}) {
    Expectations expectations;
    expectations.exact = false;  // threads use less than they ask for
    Of pool({.bytes = kUnitPoolBytes}, expectations);
    const unsigned before = s.room == kFull ? 1 : kUnits - s.room;
    for (unsigned i = 0; i < before; ++i) pool.prepare(kUnit);
    std::vector<void*> taken;
    for (unsigned i = 0; i < s.taken; ++i) taken.push_back(pool.prepare(s.used));
    // Idle units must not be taken to fill the pool.
    try {
        while (s.room == kFull) pool.prepare(kUnit);
    } catch (const std::invalid_argument&) {
        // Now it is.
    }
    std::vector<void*> blocks;
    for (unsigned i = 0; i < s.taken; ++i) {
        if (std::find(s.left.begin(), s.left.end(), i) != s.left.end()) {
            blocks.push_back(taken[i]);
        } else {
            pool.prepare_free(taken[i]);
        }
    }
    if (s.opened) pool.prepare(s.used);
    std::vector<typename Of::Thread> threads;
    for (const auto& t : s.threads) threads.emplace_back([&](Of& p) { t(p, blocks); });
    return explore(pool.program(threads), bounds, mutation);
}

/// A thread that could go on is interrupted twice at most; once where there are three, or where the
/// pool is full, for then a request searches long.
/// @param steps of an operation at most
template <class Of, std::size_t kUnit>
Bounds bounds_of(const PoolScenario<Of, kUnit>& s, unsigned steps) {
    const unsigned preemptions = s.in_turn ? 0 : s.room == kFull || s.threads.size() > 2 ? 1 : 2;
    return {.preemptions = preemptions, .stale_reads = 1, .steps = steps};
}

template <class Of, std::size_t kUnit>
void expect_sound(const std::vector<PoolScenario<Of, kUnit>>& scenarios,
                  unsigned steps = Bounds().steps, const std::string& prefix = "") {
    for (const auto& s : scenarios) {
        expect_nothing_found(run_scenario(s, bounds_of(s, steps)), prefix + s.name);
    }
}

/// The places in `files` that the scenarios come by.
template <class Of, std::size_t kUnit>
Places places_of(const std::vector<PoolScenario<Of, kUnit>>& scenarios,
                 std::initializer_list<std::string_view> files, unsigned steps = Bounds().steps) {
    Places places;
    for (const auto& s : scenarios) {
        add_places(places, run_scenario(s, {.preemptions = 1, .stale_reads = 0, .steps = steps}),
                   files);
    }
    return places;
}

/// The first scenario in which a mutation is found; "": in none.
/// @param most interruptions of a thread, of other mutations than torn ones
template <class Of, std::size_t kUnit>
std::string broken_by(const Mutation& mutation,
                      const std::vector<PoolScenario<Of, kUnit>>& scenarios,
                      unsigned steps = Bounds().steps, unsigned most = 2) {
    return first_broken(scenarios, [&](const PoolScenario<Of, kUnit>& s) {
        Bounds bounds = bounds_of(s, steps);
        if (mutation.fault != Fault::torn) bounds.preemptions = std::min(bounds.preemptions, most);
        return run_scenario(s, bounds, mutation);
    });
}

}  // namespace heapwood::tests::explorer
