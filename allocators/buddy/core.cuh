/// @file
/// The part of the buddy allocator that runs in kernels: words of bits beside the pool, taken by
/// atomic ANDs and given back by additions.
///
/// **The state** is a tree of 64-bit words beside the pool (tree.cuh), each for 32 adjacent units:
/// a bit that says the unit is free, and a bit that says a block begins there that is in use. Five
/// orders share a word: within it, to split a block is to take some of its bits, and to merge it
/// with its buddy is to set the bits again, which no two threads can do to each other's harm. A
/// word that is all free can be merged into a single unit of its parent word, 32 times as large,
/// and the other way round: five splits or merges at a stroke.
///
/// **Who owns what.** A unit's free bit is set: nobody owns it; whoever clears it by an atomic AND
/// and finds from the old value that it was set, owns it. All that exists of a unit below a set bit
/// is 0 in its child word and in all words below that. So:
/// - *Allocate* clears the bits of a run of units. If it got only some, since another was quicker,
///   it sets those again. A run it has in full is an allocated block; its head bit is added.
/// - *Free* sets the bits of the block and clears its head in one subtraction, without looking: the
///   size gives level and place, and nobody else can change these bits. It needs no answer.
/// - *Split*: who owns a unit stores its child word, with the run that is to be kept taken and the
///   other bits set. The child word was 0, and nobody else can change a 0, for an AND leaves it,
///   and bits are set only by owners of units below.
/// - *Merge*: who replaces a word that is all free by 0, in one compare-and-swap, owns the whole
///   unit above, and gives it back in the parent word.
/// Hence a bit seen late does no harm: if it is set when the AND arrives, the unit is free then,
/// whatever has been split and merged in between; there is no ABA. The bits that a loser of a race
/// puts back cannot meet a merged word, since without these bits nobody could merge it.
///
/// **No merge is lost**, because none is decided when a block is freed. The bits of both buddies
/// are set, by whom and in what order ever, and the next request sees the larger block. Merging
/// over a word's end is left to the requests that need it: one that finds nothing of its level or
/// above (allocate, below) merges all that is free below as it searches, so that memory that serves
/// small requests over and over is not merged and split each time. The walk shows free blocks
/// merged as far as such a request would merge them.
///
/// **Where a request looks.** First at four adjacent words (a sector of the L2 cache, loaded at
/// once): where a hint says that this caller's last request was served, or at its home. Hints are
/// kept in the caller's cache (Context::cache), on a GPU in shared memory, or in a small table. Two
/// lanes of a warp may read and write one at the same time, by relaxed loads and stores: no data
/// race, but compute-sanitizer's racecheck, which takes only read-modify-writes for atomic, reports
/// it.
/// Homes of levels 0 and 1 lie from the pool's start on, as far apart as the pool allows, those of
/// larger blocks from its end, and only as many as there are callers, so that the rest stays in
/// large blocks. If that is in vain it looks at the next words and at its home, where blocks have
/// come free since, and only then goes upwards to the root for a unit to split: else small blocks
/// would soon be strewn over the whole pool. Where there is nothing to split, it merges what is
/// free below the words around its place, and in the end it searches everything. An allocation
/// takes two round trips to memory where its first look is enough (load, AND), one more with each
/// further look, and three more where a unit of the next level is split (the look, the AND, and the
/// release of the child word). A free waits for none.
///
/// **Memory order.** Frees are releases, and so is the store of a word when a unit is split, and
/// the addition when one is merged. Every AND and compare-and-swap that takes is an acquire. All
/// changes of a word between two splits are read-modify-writes, so whoever takes a bit synchronises
/// with everybody who gave any unit of that word: what a former owner wrote to any part of a block,
/// at whatever level it was freed and merged, happens before what the next one does. Searching
/// loads are relaxed; what they find is taken by an AND that looks anew. A head bit is added
/// relaxed: its owner's free is later in the word's order, because it happens later.
///
/// **Progress.** Nobody waits. A lost race means that another took a unit; after a few, the request
/// looks elsewhere. Between taking a unit and giving its parts (split, merge) it is out of sight,
/// so the searches of others may miss it: a counter of such moves tells a request that found
/// nothing whether any were under way or done meanwhile, and then it searches again,
/// Policy::kPatience times at most. A full pool costs one search: a load for every 512 bytes of the
/// pool in small blocks, and less where blocks are larger. A thread stalled in the middle of a move
/// hides its unit and nothing else, and one that has lost a race for a run of units, for a moment,
/// some of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/buddy/effort.h"
#include "allocators/buddy/hint.cuh"
#include "allocators/buddy/tree.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

template <class Policy>
class BasicBuddy;

namespace buddy {

/// The handle that kernels use. A Policy has
/// - `kPatience`: how many searches a request makes at most before it is refused, if others were
///   splitting or merging all the while;
/// - `pause()`: called wherever other threads may come between two steps; does nothing, except in
///   tests, which stall there.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes == 0 || bytes > largest_) return nullptr;
        Request r = request_of(bytes);
        const std::uint32_t place = context.warp * kGolden;
        r.start = place >> 13;
        // The cache's word if there is one: in shared memory, where reading it costs no round trip.
        const bool cached = context.cache != nullptr;
        const Hint hint(cached ? &context.cache->words[0] : hints_ + (context.warp & hint_mask_),
                        cached);
        r.hinted = first_look(hint, r.level, place);
        r.towards = r.hinted;
        if (char* p = take(r, r.level, r.hinted, hint)) return p;
        return find(r, place, hint);
    }

    HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        const Request r = request_of(bytes);
        const auto offset = static_cast<std::uint64_t>(static_cast<char*>(p) - pool_);
        const std::uint64_t unit = offset >> Tree::unit_shift(r.level);
        const std::uint32_t first = static_cast<std::uint32_t>(unit) % kUnits;
        Policy::pause();
        // Release: pairs with the acquire of whoever takes one of the units next.
        give(tree_.first(r.level) + static_cast<Node>(unit / kUnits), units(first, r.order),
             1U << first);
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        const Request r = request_of(bytes);
        return std::uint64_t{1} << (Tree::unit_shift(r.level) + r.order);
    }

    /// Forgets the hint.
    HEAPWOOD_FN void flush(const Context& context) const {
        if (context.cache == nullptr) return;
        platform::AtomicRef<std::uint64_t, platform::Scope::block>(context.cache->words[0])
            .store_relaxed(0);
    }

private:
    friend class BasicBuddy<Policy>;

    /// What is wanted, and what a search for it has met.
    struct Request {
        std::uint32_t level;  ///< of the word
        std::uint32_t order;  ///< log2 of the units
        std::uint32_t start;  ///< where in a word to begin, modulo 32
        Node towards;         ///< the word for which larger units are split, if they are whole
        Node hinted;          ///< where the hint says
        bool nothing;         ///< the word looked at last was 0: it has no units at this time
        bool lost;            ///< left a word in which there may still be a run
    };

    HEAPWOOD_INLINE static Request request_of(std::size_t bytes) {
        const std::uint32_t order =
            bytes <= 16 ? 0 : platform::floor_log2(std::uint64_t{bytes} - 1) + 1 - kUnitShift;
        return {order / kOrders, order % kOrders, 0, 0, 0, false, false};
    }
    HEAPWOOD_INLINE platform::AtomicRef<Word> word(Node at) const {
        return platform::AtomicRef<Word>(table_[at]);
    }
    /// Splits and merges.
    HEAPWOOD_INLINE Moves moves() const { return Moves(table_[0]); }

    /// Sets free bits and clears heads, none of which anybody else can change. Release.
    HEAPWOOD_INLINE void give(Node at, std::uint32_t free, std::uint32_t no_heads) const {
        word(at).sub_release((Word{no_heads} << 32) - free);
    }

    /// The word at which a caller begins: `place` is a fraction of 2^32 of the homes.
    HEAPWOOD_INLINE Node home(std::uint32_t level, std::uint32_t place) const {
        const auto part = [place](std::uint32_t of) {
            return static_cast<std::uint32_t>(std::uint64_t{of} * place >> 32);
        };
        if (level == 0) return tree_.first(0) + part(homes_0_);
        if (level == 1) return tree_.first(1) + first_home_1_ + part(homes_1_);
        const std::uint32_t words = tree_.words(level);
        const std::uint32_t most = (callers_ >> (kOrders * (level - 1))) + 1;
        return tree_.first(level) + words - 1 - part(words < most ? words : most);
    }

    /// As home, or where a hint says that the last request of this level was served.
    HEAPWOOD_INLINE Node first_look(const Hint& hint, std::uint32_t level,
                                    std::uint32_t place) const {
        const Node last = hint.look(level);
        return last != 0 ? last : home(level, place);
    }

    /// The unit from which to begin in a word of that level: above the level wanted, the one that
    /// holds the word `towards`.
    HEAPWOOD_INLINE std::uint32_t start(const Request& r, std::uint32_t level) const {
        if (level == r.level) return r.start % kUnits;
        const std::uint32_t index = r.towards - tree_.first(r.level);
        return (index >> (kOrders * (level - r.level - 1))) % kUnits;
    }

    /// Takes what is wanted from one of the words of that level beside `at`. From a level above the
    /// one wanted it takes a unit and splits it.
    /// @return the block, or nullptr
    HEAPWOOD_FN char* take(Request& r, std::uint32_t level, Node at, const Hint& hint) const {
        const std::uint32_t order = level == r.level ? r.order : 0;
        Word w[kGroup];
        const Node group = at & ~(kGroup - 1);
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = 0; i < kGroup; ++i) {
            w[i] = word(group + (at + i) % kGroup).load_relaxed();
        }
        r.nothing = w[0] == 0;
        std::uint32_t found = kGroup;
        Word seen = 0;
        HEAPWOOD_UNROLL_ALL
        for (std::uint32_t i = kGroup; i-- > 0;) {
            if (runs(free_units(w[i]), order) != 0) {
                found = i;
                seen = w[i];
            }
        }
        if (found == kGroup) return nullptr;
        at = group + (at + found) % kGroup;
        if (level > r.level) moves().begin();
        std::uint32_t unit = claim(r, level, at, seen);
        const bool won = unit < kUnits;
        if (won) {
            for (std::uint32_t l = level; l > r.level; --l) at = split(r, l - 1, at, unit);
        }
        if (level > r.level) moves().end();
        if (!won) return nullptr;
        if (at != r.hinted) hint.remember(r.level, at);
        const std::uint64_t all = std::uint64_t{at - tree_.first(r.level)} * kUnits + unit;
        return pool_ + (all << Tree::unit_shift(r.level));
    }

    /// Takes a run of units from a word that was `seen` to have one.
    /// @return its first unit, or kUnits
    HEAPWOOD_INLINE std::uint32_t claim(Request& r, std::uint32_t level, Node at, Word seen) const {
        const std::uint32_t order = level == r.level ? r.order : 0;
        for (std::uint32_t i = 0; i < kTries; ++i) {
            const std::uint32_t candidates = runs(free_units(seen), order);
            if (candidates == 0) return kUnits;
            const std::uint32_t unit = choose(candidates, order, start(r, level));
            const std::uint32_t wanted = units(unit, order);
            Policy::pause();
            seen = word(at).and_acquire(~Word{wanted});
            const std::uint32_t taken = free_units(seen) & wanted;
            Policy::pause();
            if (taken == wanted) {
                word(at).count_relaxed(make_word(0, 1U << unit));
                return unit;
            }
            if (taken != 0) give(at, taken, 0);
        }
        r.lost = true;
        return kUnits;
    }

    /// Splits the own unit of a word, and takes what is wanted from its child word, of that level.
    /// @param unit in: the unit; out: the first one taken
    /// @return the child word
    HEAPWOOD_INLINE Node split(const Request& r, std::uint32_t level, Node at,
                               std::uint32_t& unit) const {
        const std::uint32_t order = level == r.level ? r.order : 0;
        const Node child = tree_.child(at, unit);
        unit = start(r, level) >> order << order;
        Policy::pause();
        // Release: passes on to whoever takes the other units what their former owners did.
        word(child).store_release(make_word(~units(unit, order), 1U << unit));
        return child;
    }

    /// Merges the children of a word that are all free into units of it.
    HEAPWOOD_FN void merge_children(Node at) const {
        const std::uint32_t split_or_used = heads(word(at).load_relaxed());
        if (split_or_used == 0) return;
        const Node children = tree_.child(at, 0);
        std::uint32_t whole = 0;
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t i = 0; i < kUnits; ++i) {
            if (word(children + i).load_relaxed() == kAllFree) whole |= 1U << i;
        }
        if (whole == 0) return;
        moves().begin();
        std::uint32_t won = 0;
        for (; whole != 0; whole &= whole - 1) {
            const std::uint32_t unit = lowest(whole);
            Word expected = kAllFree;
            Policy::pause();
            if (word(children + unit).cas_acquire(expected, 0)) won |= 1U << unit;
        }
        Policy::pause();
        // Release: passes on what the former owners of all parts did, which each exchange acquired.
        if (won != 0) give(at, won, won);
        moves().end();
    }

    /// Merges whatever is free below a word, from the bottom up.
    HEAPWOOD_FN void merge_below(std::uint32_t top, Node at) const {
        const std::uint32_t index = at - tree_.first(top);
        for (std::uint32_t level = 1; level <= top; ++level) {
            const std::uint32_t shift = kOrders * (top - level);
            const std::uint64_t end = std::uint64_t{index + 1} << shift;
            const std::uint64_t words = tree_.words(level);
            for (std::uint64_t i = std::uint64_t{index} << shift; i < (end < words ? end : words);
                 ++i) {
                merge_children(tree_.first(level) + static_cast<Node>(i));
            }
        }
    }

    /// What a request does whose first look was in vain.
    HEAPWOOD_NOINLINE char* find(Request r, std::uint32_t place, Hint hint) const {
        for (std::uint32_t round = 1;; ++round) {
            const Moves::Word before = moves().look();
            r.lost = false;
            // Where nothing is split yet, split; else see first what has come free nearby, and at
            // home: this keeps a caller's small blocks together.
            Node at = r.hinted;
            for (std::uint32_t look = 0; look <= kNearby && !r.nothing; ++look) {
                at = look < kNearby ? next(r, at) : home(r.level, place);
                if (char* p = take(r, r.level, at, hint)) return p;
            }
            if (char* p = climb(r, at, hint)) return p;
            // The pool's large units are scarce. Small ones may have become large, all around.
            at = r.hinted;
            for (std::uint32_t look = 0; look < kMerges; ++look) {
                merge_group(r.level, at);
                if (char* p = take(r, r.level, at, hint)) return p;
                at = next(r, at);
            }
            place += kStep;
            if (char* p = climb(r, home(r.level, place), hint)) return p;
            if (char* p = search(r, hint)) return p;
            const bool quiet = !r.lost && moves().none_since(before);
            if (quiet || round >= Policy::kPatience) return nullptr;
            platform::back_off(round);
        }
    }

    /// The group of words after this one, among the 32 of one parent.
    HEAPWOOD_INLINE Node next(const Request& r, Node at) const {
        return r.level == tree_.top ? at : (at & ~(kUnits - 1)) | ((at + kGroup) % kUnits);
    }

    /// Splits a unit above this word, or near there, of the smallest size there is.
    HEAPWOOD_FN char* climb(Request& r, Node at, const Hint& hint) const {
        r.towards = at;
        for (std::uint32_t level = r.level + 1; level <= tree_.top; ++level) {
            at = tree_.parent(at);
            if (char* p = take(r, level, at, hint)) return p;
        }
        return nullptr;
    }

    HEAPWOOD_FN void merge_group(std::uint32_t level, Node at) const {
        const Node group = at & ~(kGroup - 1);
        for (std::uint32_t i = 0; level > 0 && i < kGroup; ++i) merge_below(level, group + i);
    }

    /// Looks everywhere: from the root's level down for a unit to split, then in the level wanted
    /// for a run, once everything below has been merged. On each level from about the hint on.
    HEAPWOOD_FN char* search(Request& r, const Hint& hint) const {
        const std::uint32_t from = r.hinted - tree_.first(r.level);
        for (std::uint32_t level = tree_.top + 1; level-- > r.level;) {
            // All levels but the root's have room for a multiple of 32 words.
            const bool root = level == tree_.top;
            const std::uint32_t places = root ? 1 : platform::round_up(tree_.words(level), kUnits);
            const std::uint32_t start = (from >> (kOrders * (level - r.level))) / kUnits * kUnits;
            for (std::uint32_t i = 0; i < places; i += kGroup) {
                const std::uint32_t index = start + i < places ? start + i : start + i - places;
                const Node at = tree_.first(level) + index;
                if (!root && i % kUnits == 0 && heads(word(tree_.parent(at)).load_relaxed()) == 0) {
                    i += kUnits - kGroup;
                    continue;
                }
                if (level == r.level) merge_group(level, at);
                if (char* p = take(r, level, at, hint)) return p;
            }
        }
        return nullptr;
    }

    char* pool_;
    Word* table_;
    std::uint64_t* hints_;  ///< for callers without a cache
    Tree tree_;
    std::uint64_t largest_;  ///< bytes of the pool's largest block
    std::uint32_t hint_mask_;
    std::uint32_t callers_;
    std::uint32_t homes_0_;       ///< words of level 0, from the first one on
    std::uint32_t homes_1_;       ///< words of level 1,
    std::uint32_t first_home_1_;  ///< from this one on
};

}  // namespace buddy

}  // namespace heapwood::allocators
