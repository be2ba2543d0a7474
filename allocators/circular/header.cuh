/// @file
/// The headers of the circular allocators: state and successor of a chunk, in a table beside the
/// pool that has one cell for every granule.
///
/// Two layouts, as published: FusedHeaders keeps both in one word (CFMalloc), SeparateHeaders a
/// word for each (CMalloc). The ring uses either through the same few operations:
/// - `load(at)`: what the cell says, relaxed. Of separate words the two may be of different times.
/// - `kFused`: whether a cell is one word.
/// - `kConfirmations`: how many traversals in a row must find the pool full. A state and a next of
///   different times can hide free chunks from one of them; from several, with pauses in between,
///   it is most unlikely.
/// - `take(at, seen, to)`: makes a FREE cell `to` and its chunk the caller's; acquire: pairs with
///   the release of whoever made it FREE. True: seen.next is where the chunk ends now, which need
///   not be what was seen. False: `seen` is what the cell says instead.
/// - `settle(at, header)`: writes a cell of an own chunk, relaxed.
/// - `give(at, next)`: makes the cell FREE and the chunk [at, next) nobody's; release.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// What a header says of the granule it belongs to.
enum State : std::uint32_t {
    kDead = 0,       ///< no chunk starts here; the cell of zeroes: none ever did
    kFree = 1,       ///< a free chunk
    kUsed = 2,       ///< an allocated chunk, or the sentinel
    kUnsettled = 3,  ///< a chunk whose owner is about to give back a part of it, or all
};

/// A header: what is at a granule, and at which granule the next chunk starts (0: at none).
struct Header {
    State state;
    std::uint32_t next;
};

inline constexpr std::uint32_t kNextBits = 30;

/// As many granules as a pool may have: the sentinel's index, one more than the last granule's,
/// must fit as well.
inline constexpr std::uint64_t kMostGranules = (std::uint64_t{1} << kNextBits) - 2;

/// State and successor in one word: the state in the upper 2 bits.
class FusedHeaders {
public:
    using Cell = std::uint32_t;
    static constexpr bool kFused = true;
    static constexpr std::uint32_t kConfirmations = 1;

    HEAPWOOD_INLINE static constexpr Cell encode(Header h) {
        return (static_cast<Cell>(h.state) << kNextBits) | h.next;
    }
    HEAPWOOD_INLINE static constexpr Header decode(Cell c) {
        return {static_cast<State>(c >> kNextBits), c & ((Cell{1} << kNextBits) - 1)};
    }

    FusedHeaders() = default;
    explicit FusedHeaders(Cell* cells) : cells_(cells) {}

    HEAPWOOD_INLINE Header load(std::uint32_t at) const { return decode(cell(at).load_relaxed()); }
    HEAPWOOD_INLINE bool take(std::uint32_t at, Header& seen, State to) const {
        Cell expected = encode({kFree, seen.next});
        const bool taken = cell(at).cas_acquire(expected, encode({to, seen.next}));
        if (!taken) seen = decode(expected);
        return taken;
    }
    HEAPWOOD_INLINE void settle(std::uint32_t at, Header h) const {
        cell(at).store_relaxed(encode(h));
    }
    HEAPWOOD_INLINE void give(std::uint32_t at, std::uint32_t next) const {
        cell(at).store_release(encode({kFree, next}));
    }

private:
    HEAPWOOD_INLINE platform::AtomicRef<Cell> cell(std::uint32_t at) const {
        return platform::AtomicRef<Cell>(cells_[at]);
    }

    Cell* cells_ = nullptr;
};

/// State and successor in words of their own. The successor is written by the chunk's owner alone,
/// before the state, and read again once the state has been taken: only then it can be trusted.
class SeparateHeaders {
public:
    struct Cell {
        std::uint32_t state;
        std::uint32_t next;
    };
    static constexpr bool kFused = false;
    static constexpr std::uint32_t kConfirmations = 3;

    static constexpr Cell encode(Header h) { return {h.state, h.next}; }
    static constexpr Header decode(Cell c) { return {static_cast<State>(c.state), c.next}; }

    SeparateHeaders() = default;
    explicit SeparateHeaders(Cell* cells) : cells_(cells) {}

    HEAPWOOD_INLINE Header load(std::uint32_t at) const {
        return {static_cast<State>(state(at).load_relaxed()), next(at).load_relaxed()};
    }
    HEAPWOOD_INLINE bool take(std::uint32_t at, Header& seen, State to) const {
        std::uint32_t expected = kFree;
        const bool taken = state(at).cas_acquire(expected, to);
        seen = {static_cast<State>(expected), next(at).load_relaxed()};
        return taken;
    }
    HEAPWOOD_INLINE void settle(std::uint32_t at, Header h) const {
        next(at).store_relaxed(h.next);
        state(at).store_relaxed(h.state);
    }
    HEAPWOOD_INLINE void give(std::uint32_t at, std::uint32_t end) const {
        next(at).store_relaxed(end);
        state(at).store_release(kFree);
    }

private:
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> state(std::uint32_t at) const {
        return platform::AtomicRef<std::uint32_t>(cells_[at].state);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> next(std::uint32_t at) const {
        return platform::AtomicRef<std::uint32_t>(cells_[at].next);
    }

    Cell* cells_ = nullptr;
};

}  // namespace heapwood::allocators::circular
