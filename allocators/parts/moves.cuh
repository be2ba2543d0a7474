/// @file
/// A count of moves: of steps that hide free memory from the requests of others for a moment.
#pragma once

#include <cstdint>

#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

/// The count in a word that it does not own, at first 0. A request that has found nothing is right
/// if no move was under way when it began, and none has begun since.
///
/// Why: a thread begins a move by an acquire before it hides anything, and none_since() updates the
/// word by a release. If the update came before the beginning, the search would happen before all
/// that the move has hidden, and could not have missed it. If it came after, it sees the count.
///
/// kScope: among whom; those of one thread block, of a word in shared memory, or all.
template <platform::Scope kScope>
class MovesAmong {
public:
    /// The low half: moves under way. The high half: those done, wrapping.
    using Word = std::uint64_t;

    HEAPWOOD_INLINE explicit MovesAmong(Word& word) : word_(word) {}

    /// Acquire: what the move hides it hides after it was counted.
    HEAPWOOD_INLINE void begin() const { word_.add_acquire(1); }
    /// Release: what was moved, to a request that sees the move done.
    HEAPWOOD_INLINE void end() const { word_.add_release(kDone - 1); }
    /// Ends a move that has hidden nothing: requests need not mind it.
    HEAPWOOD_INLINE void end_in_vain() const { word_.add_release(Word{0} - 1); }

    /// To be called before a search, for none_since(). Acquire: the moves that are done.
    HEAPWOOD_INLINE Word look() const { return word_.load_acquire(); }
    /// Whether no move was under way at the look, nor began since.
    HEAPWOOD_INLINE bool none_since(Word look) const {
        return none_at(look) && look_again() == look;
    }
    /// Whether no move was under way at a look.
    HEAPWOOD_INLINE static bool none_at(Word look) { return static_cast<std::uint32_t>(look) == 0; }
    /// A look after a search. An update, for that never sees an old count.
    HEAPWOOD_INLINE Word look_again() const { return word_.add_acq_rel(0); }

private:
    static constexpr Word kDone = Word{1} << 32;

    platform::AtomicRef<Word, kScope> word_;
};

using Moves = MovesAmong<platform::Scope::device>;

/// Moves that are counted in several words, so that thousands of callers do not meet at one. A
/// request that has found nothing looks at all of them. The argument above holds for each word by
/// itself.
class SpreadMoves {
public:
    /// A word by itself in a sector of the L2 cache.
    struct alignas(32) Cell {
        Moves::Word word;
    };

    SpreadMoves() = default;
    /// `cells`: a power of two of them, at first 0.
    SpreadMoves(Cell* cells, std::uint32_t count) : cells_(cells), mask_(count - 1) {}

    /// The count for the moves of one caller.
    HEAPWOOD_INLINE Moves of(std::uint32_t caller) const {
        return Moves(cells_[caller & mask_].word);
    }
    /// As MovesAmong::look, of all words: the sum has the halves that each of them has. Moves that
    /// are done grow in number only, so none has begun since where a second sum is the same.
    HEAPWOOD_FN Moves::Word look() const {
        return sum([](const Moves& moves) { return moves.look(); });
    }
    /// As MovesAmong::look_again, of all words.
    HEAPWOOD_FN Moves::Word look_again() const {
        return sum([](const Moves& moves) { return moves.look_again(); });
    }

private:
    template <class F>
    HEAPWOOD_INLINE Moves::Word sum(F look) const {
        Moves::Word all = 0;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i <= mask_; ++i) all += look(of(i));
        return all;
    }

    Cell* cells_;
    std::uint32_t mask_;
};

/// Searches by take(last), `rounds` times at most, until it succeeds, or it is certain that there
/// is nothing; `last`: there is no further round. After each search in vain, again() may say that
/// there is more to be had. moves() is the count; a caller that keeps no reference of it meanwhile
/// needs fewer registers. @return whether take() has succeeded.
template <class MovesOf, class Take, class Again>
HEAPWOOD_FN bool insist(std::uint32_t rounds, MovesOf&& moves, Take&& take, Again&& again) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
        const Moves::Word before = moves().look();
        if (take(round + 1 == rounds)) return true;
        if (again()) continue;
        if (moves().none_since(before)) return false;
        platform::back_off(round);
    }
    return false;
}

}  // namespace heapwood::allocators
