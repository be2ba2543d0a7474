/// @file
/// The part of the circular allocators that runs in kernels: a ring of chunks that tile the pool,
/// searched from a hint onwards, first fit.
///
/// After Vinkler & Havran 2014/2015 ("Register Efficient Dynamic Memory Allocator for GPUs"). They
/// keep a chunk's header in the pool, in front of the payload, and rely on a thread not being
/// stalled long enough for a header that it is about to touch to be merged away and overwritten
/// with payload. With independent thread scheduling and pre-emption it can be. Here all header
/// words lie in a table beside the pool, one word for every granule, and no payload ever covers
/// one. The rest of this comment is why that suffices.
///
/// **The words.** H[x] = {state, next}. Chunk x is [x, next). H[G], after the last granule, is the
/// sentinel: always USED, next 0. The table starts as zeroes (DEAD, next 0), except where the pool
/// is pre-split. A granule at which a chunk has ever started is called a header.
///
/// **Who owns what.** A chunk [x, n) comes with its words H[x+1] ... H[n-1], none of which is FREE.
/// - H[x] = FREE: nobody owns the chunk; it lies, so to speak, in the word. Whoever replaces the
///   word by compare-and-swap takes it out and is the owner, until it stores FREE again.
/// - The only writes ever made: (1) compare-and-swap FREE -> USED, UNSETTLED or DEAD, with next
///   unchanged; (2) an owner's stores to H[x] of its own chunk, and to H[y] strictly inside it when
///   it cuts the chunk at y. So FREE words are written by owners only, and mean a chunk that is
///   there and complete: FREE implies live.
/// - Splitting [x, n) at y: store H[y] = {FREE, n}, which gives [y, n) away, then H[x] = {USED, y}.
/// - Merging, by the owner of [a, n): H[n] is FREE -> {DEAD, m} makes it the owner of [n, m) too,
///   that is, of [a, m). It may go on at m. A header can die in this way only, by the hand of the
///   owner of the chunk right before it; hence an owner may always trust its own `next`. Chunk 0
///   has none before it and never dies.
///
/// **Equal words mean equal chunks.** Take a thread that read H[x] = {FREE, n} and was stalled. If
/// its compare-and-swap succeeds, the word is {FREE, n} now, so there is a free chunk [x, n) now,
/// whatever happened in between. Position, size and state are compared at once; there is no ABA.
///
/// **A stale traversal harms nobody and ends.** It reads only words, never the pool. Every word of
/// a header other than the sentinel leads strictly forward, to a header, also when it is dead or
/// read late; so a traversal of any age arrives at the sentinel. It changes nothing but FREE words,
/// and these only if they are what it believes. It can overlook free chunks, though: by a leap over
/// dead headers that have come to life again, by losing a compare-and-swap, or in the rest of a
/// chunk that its owner has not given back yet (UNSETTLED). A traversal that met one of these is
/// inconclusive, and only one that began at chunk 0 and is not may say that the pool is full. When
/// nothing else is going on, that answer is exact.
///
/// **Memory order.** Ownership is passed by words becoming FREE and being taken:
/// - Every store of FREE is a release, every compare-and-swap that takes is an acquire and reads
///   the last FREE stored. So all that the former owner did to the chunk and to the words in it,
///   the payload's writes included, happens before anything the next owner does. This holds for
///   the rest of a split chunk as well: a stale traversal may come upon it without ever having
///   read the word in front.
/// - Traversals load relaxed, and hints are relaxed: for 4000 warps an acquire at every step costs
///   more than the step. A relaxed reader may learn of a header y before it can see H[y], and finds
///   an older word there: if that is zero (never a header), next 0 ends the traversal, and it is
///   inconclusive, for no word but the sentinel says USED with next 0; any other older word leads
///   forward as always. What it takes, it takes by the acquire above.
/// - Of an own word the owner reads the latest value, since nobody else writes it. If another
///   thread frees a block, the program has passed it the pointer with a release and an acquire.
///
/// **Progress.** No loop waits for another thread. A step either goes forward or follows a lost
/// compare-and-swap, which somebody else has won, and is one of a bounded number. A full pool costs
/// one traversal to the sentinel and two from chunk 0; Policy::kPatience bounds the search in a
/// pool where others never let a traversal be conclusive.
///
/// **Against the original**, beside the table: chunks that are too small are never marked, not even
/// for a moment; merging goes on over more than one free successor; before the pool is called full,
/// one traversal merges adjacent free chunks, since chunks freed in ascending order find no free
/// successor when they are freed; a failure is nullptr, not the pool's start; pools above 4 GiB.
/// Also, the original lets all who lost a chunk to another march on behind one another, a chunk a
/// step; here they move to another hint (Policy::kRefuges), so that they spread over the pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/word.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::circular {

/// A chunk is split if it has at least this many times the size asked for; else it is given whole,
/// which bounds the internal waste by one half (the papers' maximum fragmentation).
inline constexpr std::uint32_t kMaxFragmentation = 2;
/// How many free successors a block merges with when it is freed.
inline constexpr std::uint32_t kMergesPerFree = 64;
/// How many times a request that lost a chunk to another moves to another hint.
inline constexpr std::uint32_t kMostMoves = 8;
/// A search whose traversals are all inconclusive ends after this many of them, if it has made
/// Policy::kPatience steps as well.
inline constexpr std::uint32_t kMostTraversals = 8;

/// Words between two hints, so that no two share a sector of the L2 cache.
inline constexpr std::uint32_t kHintStride = 8;

/// The handle that kernels use. What sets the circular allocators apart is their Policy:
/// - `traits()`;
/// - `home_hints(config)`: how many hints requests start from, at least 1;
/// - `home(context, hints)`: which of them this caller's start from;
/// - `kRefuges`: at most how many more hints there are for requests that lost a chunk;
/// - `kPatience`: how many steps a request makes, at least, before it gives up a search of which
///   nothing but what others are doing kept the outcome open;
/// - `pause()`: called between any two steps that others may come between; does nothing, except
///   in tests, which stall there.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes == 0 || bytes > static_cast<std::uint64_t>(granules_) << shift_) return nullptr;
        const auto need = static_cast<std::uint32_t>(((bytes - 1) >> shift_) + 1);

        std::uint32_t slot = Policy::home(context, homes_);
        std::uint32_t at = hint(slot).load_relaxed();
        std::uint32_t moves = 0;
        std::uint32_t traversals = 0;  // begun at chunk 0
        std::uint32_t steps = 0;
        bool conclusive = false;
        for (;; ++steps) {
            Policy::pause();
            Word w = word(at).load_relaxed();
            if (state_of(w) == kFree) {
                if (next_of(w) - at >= need) {
                    if (take(at, w, need)) return grant(slot, at, next_of(w), need);
                    conclusive = false;
                    if (moves < kMostMoves) {
                        slot = refuge(context.warp, moves++);
                        at = hint(slot).load_relaxed();
                        continue;
                    }
                } else if (traversals >= 2 && state_of(word(next_of(w)).load_relaxed()) == kFree) {
                    if (word(at).cas_acquire(w, make_word(kUnsettled, next_of(w)))) {
                        Policy::pause();
                        const std::uint32_t end = merge(next_of(w), at + need, granules_);
                        if (end - at >= need) return grant(slot, at, end, need);
                        word(at).store_release(make_word(kFree, end));
                        at = end;
                        continue;
                    }
                    conclusive = false;
                }
            } else if (state_of(w) != kUsed) {
                conclusive = false;
            }
            // A lost compare-and-swap has left the winner's word in w: it leads forward as well.
            at = next_of(w);
            if (at == 0) {
                if (conclusive && traversals >= 2) return nullptr;
                if (traversals >= kMostTraversals && steps >= Policy::kPatience) return nullptr;
                if (traversals > 0 && !conclusive) platform::back_off(traversals);
                ++traversals;
                conclusive = true;
            }
        }
    }

    HEAPWOOD_FN void deallocate(const Context&, void* p, std::size_t) const {
        if (p == nullptr) return;
        const std::uint32_t at = granule(p);
        const std::uint32_t next = next_of(word(at).load_relaxed());
        const std::uint32_t end = merge(next, granules_, kMergesPerFree);
        Policy::pause();
        // Release: pairs with the acquire of whoever takes the chunk next.
        word(at).store_release(make_word(kFree, end));
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t) const {
        if (p == nullptr) return 0;
        const std::uint32_t at = granule(p);
        return static_cast<std::uint64_t>(next_of(word(at).load_relaxed()) - at) << shift_;
    }

private:
    template <class>
    friend class CircularMalloc;

    HEAPWOOD_INLINE platform::AtomicRef<Word> word(std::uint32_t at) const {
        return platform::AtomicRef<Word>(table_[at]);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint(std::uint32_t slot) const {
        return platform::AtomicRef<std::uint32_t>(hints_[slot * kHintStride]);
    }
    HEAPWOOD_INLINE std::uint32_t granule(const void* p) const {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> shift_);
    }
    HEAPWOOD_INLINE std::uint32_t refuge(std::uint32_t warp, std::uint32_t move) const {
        // Multiplicative hashing: the upper bits are the mixed ones.
        const std::uint32_t hash = (warp * 0x9e3779b1U) ^ (move * 0x85ebca6bU);
        return homes_ + ((hash >> 16) & refuge_mask_);
    }
    HEAPWOOD_INLINE static bool splits(std::uint32_t size, std::uint32_t need) {
        return size > need && size / kMaxFragmentation >= need;
    }

    /// Takes the free chunk whose word was w. @return false if somebody changed the word; w is
    /// then what it is now.
    HEAPWOOD_INLINE bool take(std::uint32_t at, Word& w, std::uint32_t need) const {
        const State state = splits(next_of(w) - at, need) ? kUnsettled : kUsed;
        Policy::pause();
        return word(at).cas_acquire(w, make_word(state, next_of(w)));
    }

    /// Of the own chunk [at, end) gives back what is not needed, and sends the hint past it.
    HEAPWOOD_INLINE void* grant(std::uint32_t slot, std::uint32_t at, std::uint32_t end,
                                std::uint32_t need) const {
        std::uint32_t tail = end;
        if (splits(end - at, need)) {
            tail = at + need;
            Policy::pause();
            // First the rest, then the own word: a traversal in between passes over both, and the
            // chain is never cut. Release: passes on what earlier owners did to the rest.
            word(tail).store_release(make_word(kFree, end));
            Policy::pause();
        }
        word(at).store_relaxed(make_word(kUsed, tail));
        Policy::pause();
        hint(slot).store_relaxed(tail == granules_ ? 0 : tail);
        return pool_ + (static_cast<std::uint64_t>(at) << shift_);
    }

    /// Takes the free chunks from `from` on, which follow the own chunk, until it would reach
    /// `until`, meets one that is not free, or has taken `most`. @return the own chunk's new end.
    HEAPWOOD_INLINE std::uint32_t merge(std::uint32_t from, std::uint32_t until,
                                        std::uint32_t most) const {
        for (std::uint32_t i = 0; i < most && from < until; ++i) {
            Word w = word(from).load_relaxed();
            Policy::pause();
            if (state_of(w) != kFree || !word(from).cas_acquire(w, make_word(kDead, next_of(w)))) {
                break;
            }
            from = next_of(w);
        }
        return from;
    }

    char* pool_;
    Word* table_;
    std::uint32_t* hints_;
    std::uint32_t granules_;
    std::uint32_t shift_;
    std::uint32_t homes_;
    std::uint32_t refuge_mask_;
};

}  // namespace heapwood::allocators::circular
