/// @file
/// Example 1: a hash join. Each row of one table is to have the list of all rows of another table
/// with the same key. How long a list becomes is known when it is complete.
///
/// With a heap each thread walks its chain once, and its list grows as matches are found. Without,
/// all chains are walked twice: once to count the matches, then, when a prefix sum has given each
/// list its place, once more to write them.
#pragma once

#include <cstdint>
#include <span>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "tests/examples/list.cuh"
#include "tests/examples/machine.cuh"

namespace heapwood::examples {

/// The rows of a table by the hash of their keys: chains of rows, each 1 + its number.
struct Chains {
    const std::uint32_t* keys;
    std::uint32_t* heads;  ///< `mask` + 1 of them
    std::uint32_t* next;
    std::uint32_t mask;

    HEAPWOOD_FN std::uint32_t& head(std::uint32_t key) const {
        return heads[(key * 0x9e3779b1U) >> 8 & mask];
    }
    /// Enters a row. The chains are read by later launches only.
    HEAPWOOD_FN void enter(std::uint32_t row) const {
        const platform::AtomicRef at(head(keys[row]));
        std::uint32_t first = at.load_relaxed();
        do {
            next[row] = first;
        } while (!at.cas_relaxed(first, row + 1));
    }
    /// Calls found(row) for every row with that key.
    template <class Found>
    HEAPWOOD_FN void walk(std::uint32_t key, const Found& found) const {
        for (std::uint32_t row = head(key); row != 0; row = next[row - 1]) {
            if (keys[row - 1] == key) found(row - 1);
        }
    }
};

struct EnterRows {
    Chains chains;
    HEAPWOOD_FN void operator()(std::uint32_t row) const { chains.enter(row); }
};

/// With a heap, in one pass.
template <class Heap>
struct JoinInHeap {
    Chains chains;
    const std::uint32_t* keys;
    List* lists;
    std::uint32_t* refused;
    Heap heap;

    HEAPWOOD_FN void operator()(std::uint32_t row) const {
        List list{};
        bool fits = true;
        chains.walk(keys[row], [&](std::uint32_t match) { fits = list.add(heap, match) && fits; });
        lists[row] = list;
        if (!fits) platform::AtomicRef(*refused).count_relaxed(1);
    }
};

template <class Heap>
struct ClearLists {
    List* lists;
    Heap heap;
    HEAPWOOD_FN void operator()(std::uint32_t row) const { lists[row].clear(heap); }
};

/// Without, the first pass and the second one.
struct CountMatches {
    Chains chains;
    const std::uint32_t* keys;
    std::uint32_t* counts;
    HEAPWOOD_FN void operator()(std::uint32_t row) const {
        std::uint32_t count = 0;
        chains.walk(keys[row], [&](std::uint32_t) { ++count; });
        counts[row] = count;
    }
};
struct WriteMatches {
    Chains chains;
    const std::uint32_t* keys;
    const std::uint32_t* places;
    std::uint32_t* matches;
    HEAPWOOD_FN void operator()(std::uint32_t row) const {
        std::uint32_t* to = matches + places[row];
        chains.walk(keys[row], [&](std::uint32_t match) { *to++ = match; });
    }
};

/// Both tables on a machine, the second one in chains.
template <class Machine>
class Join {
public:
    Join(std::span<const std::uint32_t> probes, std::span<const std::uint32_t> keys)
        : probes_(Machine::place, probes),
          keys_(Machine::place, keys),
          next_(Machine::place, keys.size()),
          heads_(Machine::place, kHeads) {
        heads_.zero();
        Machine::for_each(static_cast<std::uint32_t>(keys.size()), EnterRows{chains()});
    }

    std::uint32_t rows() const { return static_cast<std::uint32_t>(probes_.size()); }

    /// @param lists one a row; each is to be cleared. @param refused counts rows whose list is
    /// short
    /// @return milliseconds
    template <class Heap>
    double in_heap(const Heap& heap, List* lists, std::uint32_t* refused) const {
        return Machine::for_each(rows(),
                                 JoinInHeap<Heap>{chains(), probes_.data(), lists, refused, heap});
    }
    template <class Heap>
    double clear(const Heap& heap, List* lists) const {
        return Machine::for_each(rows(), ClearLists<Heap>{lists, heap});
    }
    /// @param places has one number more than there are rows: row i's matches are those from
    ///     places[i] to places[i + 1]
    double count(std::uint32_t* places) const {
        return Machine::for_each(rows(), CountMatches{chains(), probes_.data(), places}) +
               Machine::sum_up(places, rows() + 1);
    }
    double write(const std::uint32_t* places, std::uint32_t* matches) const {
        return Machine::for_each(rows(), WriteMatches{chains(), probes_.data(), places, matches});
    }

private:
    static constexpr std::uint32_t kHeads = 1 << 16;

    Chains chains() const { return {keys_.data(), heads_.data(), next_.data(), kHeads - 1}; }

    Array<std::uint32_t> probes_;
    Array<std::uint32_t> keys_;
    Array<std::uint32_t> next_;
    Array<std::uint32_t> heads_;
};

}  // namespace heapwood::examples
