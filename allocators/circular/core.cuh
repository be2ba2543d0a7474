/// @file
/// The part of the circular allocators that runs in kernels: a ring of chunks that tile the pool,
/// searched from a hint onwards, first fit.
///
/// After Vinkler & Havran 2014/2015 ("Register Efficient Dynamic Memory Allocator for GPUs"). They
/// keep a chunk's header in the pool, in front of the payload, and rely on a thread not being
/// stalled long enough for a header that it is about to touch to be merged away and overwritten
/// with payload. With independent thread scheduling and pre-emption it can be. Here all headers lie
/// in a table beside the pool, a cell for every granule, and no payload ever covers one. The rest
/// of this comment is why that suffices.
///
/// **The headers.** H[x] = {state, next}. Chunk x is [x, next). H[G], after the last granule, is
/// the sentinel: always USED, next 0. The table starts as zeroes (DEAD, next 0), except where the
/// pool is cut beforehand. A granule at which a chunk has ever started is called a header.
///
/// **Who owns what.** A chunk [x, n) comes with its cells H[x+1] ... H[n-1], none of which is FREE.
/// - H[x] = FREE: nobody owns the chunk; it lies, so to speak, in the cell. Whoever replaces the
///   state by compare-and-swap takes it out and is the owner, until it stores FREE again.
/// - The only writes ever made: (1) compare-and-swap FREE -> USED, UNSETTLED or DEAD, with next
///   unchanged; (2) an owner's stores to H[x] of its own chunk, and to H[y] strictly inside it when
///   it cuts the chunk at y. So FREE is written by owners only, and means a chunk that is there and
///   complete: FREE implies live.
/// - Splitting [x, n) at y: store H[y] = {FREE, n}, which gives [y, n) away, then H[x] = {USED, y}.
///   A pair's second block, and those of a run, are such cuts as well, with H[y] = {USED, n}. Where
///   many want the same chunk, its owner also cuts it at some z > y beforehand: H[z] = {FREE, n}.
/// - Merging forward, by the owner of [a, n): H[n] is FREE -> {DEAD, m} makes it the owner of
///   [n, m) too, that is, of [a, m). It may go on at m. With separate words H[a] is UNSETTLED then,
///   or a traversal could find USED beside the new end, and leap over what was free all the while.
/// - Merging backward (Policy::kBackward), by the owner of [a, n): `before[a]`, a word that anybody
///   may have written long ago, tells where the chunk before may start. Only if H[p] is FREE with
///   next = a, and is taken, the two are neighbours; then H[a] = DEAD, and [p, n) is the own chunk.
///   Not where a stretch of the pool begins, see below.
/// - So a header dies by the hand of the owner of the chunk right before it, who then owns both;
///   hence an owner may always trust its own `next`. Chunk 0 has none before it and never dies.
///
/// **Equal words mean equal chunks.** Take a thread that read H[x] = {FREE, n} and was stalled. If
/// its compare-and-swap succeeds, the state is FREE now, so there is a free chunk at x now,
/// whatever happened in between; and its end is in the same word (FusedHeaders), or read once it is
/// owned, and the chunk given back if it is too small (SeparateHeaders). There is no ABA.
///
/// **A stale traversal harms nobody and ends.** It reads only headers, never the pool. Every header
/// but the sentinel leads strictly forward, to a header, also when it is dead or read late; so a
/// traversal of any age arrives at the sentinel. A hint may name a granule at which no chunk has
/// ever started: there next is 0, and the search goes on elsewhere. A traversal changes nothing but
/// FREE headers, and these only if they are what it believes. It can overlook free chunks, though:
/// by a leap over dead headers that have come to life again, by losing a compare-and-swap, or in
/// the rest of a chunk that its owner has not given back yet (UNSETTLED). A traversal that met one
/// of these is inconclusive, and only one that began at chunk 0 and is not may say that the pool is
/// full. While others allocate and free, that answer may be wrong (a traversal is no snapshot);
/// when nothing else is going on, it is exact.
///
/// **Memory order.** Ownership is passed by headers becoming FREE and being taken:
/// - Every store of FREE is a release, every compare-and-swap that takes is an acquire and reads
///   the last FREE stored. So all that the former owner did to the chunk and to the cells in it,
///   the payload's writes included, happens before anything the next owner does. This holds for
///   the rest of a split chunk as well: a stale traversal may come upon it without ever having
///   read the header in front.
/// - Traversals load relaxed, and hints are relaxed: for 4000 warps an acquire at every step costs
///   more than the step. A relaxed reader may learn of a header y before it can see H[y], and finds
///   an older one there: if that is zero (never a header), next 0 ends the traversal, and it is
///   inconclusive, for it ended before the sentinel; any other older one leads forward as always.
///   What it takes, it takes by the acquire above.
/// - Of an own header the owner reads the latest value, since nobody else writes it. If another
///   thread frees a block, the program has passed it the pointer with a release and an acquire.
///
/// **Progress.** No loop waits for another thread. A step either goes forward or follows a chunk
/// that somebody else has won, and the number of steps is bounded. A full pool costs one traversal
/// to the sentinel and two from chunk 0 (four with separate words). An inconclusive search ends
/// after Policy::kPatience steps; with a single hint, if in its last traversal there was a chunk
/// that was large enough, but that another was quicker to take, or has not given the rest of back
/// yet, or dead headers behind which there may have been one, only after Policy::kPersistence: then
/// others make progress, and its turn comes.
///
/// **Crowds.** A pool of one chunk is cut by one thread after the other, and thousands may want it
/// at once. So the single hint has refuges: as many hints more, evenly spread over the pool, for
/// requests that lose a chunk to another. They turn to a random one first; where no chunk starts
/// yet, to one of half as many, and so on; and back to finer ones when they lose again. They look
/// at few headers from each, and at the whole ring only in the end. A request that has lost no
/// chunk turns to them, too, once it has looked at a thousand headers. Whoever wins a chunk at a
/// refuge cuts the rest of it in half, at another, if it is large enough. So the number of chunks
/// that can be cut at the same time doubles, until everybody finds one; and a pool that no crowd
/// asks is never cut but where it must.
///
/// **Against the original**, beside the table: chunks that are too small are never marked, not even
/// for a moment; merging goes on over more than one free successor; before the pool is called full,
/// one traversal merges adjacent free chunks, since chunks freed in ascending order find no free
/// successor when they are freed; a failure is nullptr, not the pool's start; pools above 4 GiB.
/// The original lets all who lost a chunk to another march on behind one another, a chunk a step;
/// here they move to another hint. A hint goes back to what is freed as well as on past what is
/// taken. Where every multiprocessor has hints of its own, a hint stays within a stretch of the
/// pool (cut_shares() in layout.h), over whose ends freed blocks do not merge; a request searches
/// some stretches, one for a large chunk all there is for these up to kMostLooks times, and only
/// then the whole ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/divisor.cuh"
#include "allocators/circular/header.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::circular {

/// How many times a request that lost a chunk to another moves to another stretch.
inline constexpr std::uint32_t kMostMoves = 8;
/// How many headers it looks at in a stretch, or from a refuge on.
inline constexpr std::uint32_t kMostSteps = 64;
/// At how many refuges a request looks before it turns to coarser ones: then it has made so many
/// times kMostSteps steps. One that has never lost a chunk turns to a refuge after as many.
inline constexpr std::uint32_t kMostRefuges = 16;
/// How many times a large request looks through all that there is for large ones: a traversal of
/// the whole ring takes a GPU milliseconds, and whoever is quicker soon gives back the rest.
inline constexpr std::uint32_t kMostLooks = 64;
/// A search whose traversals are all inconclusive ends after this many of them, if it has made
/// Policy::kPatience steps as well.
inline constexpr std::uint32_t kMostTraversals = 8;

/// Words between two hints, so that no two share a sector of the L2 cache.
inline constexpr std::uint32_t kHintStride = 8;

/// The handle that kernels use. What sets the circular allocators apart is their Policy: see
/// policy.cuh.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        bool full;
        return allocate(context, bytes, full);
    }
    /// `full` tells, if the answer is nullptr, whether the search was conclusive: there was no such
    /// chunk, unless one has been freed since it began.
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes, bool& full) const {
        full = true;
        if (bytes == 0 || bytes > pool_bytes()) return nullptr;
        const std::uint32_t need = granules_of(bytes);
        const std::uint32_t at = find(context, need, need);
        full = at == kNone;
        return at >= kUnsure ? nullptr : address(at);
    }

    /// A block of `bytes` bytes, a power of two of at least a granule, that starts at a multiple of
    /// them. `full` as above.
    HEAPWOOD_FN void* allocate_aligned(const Context& context, std::size_t bytes, bool& full) const
        requires(Policy::kShares) {
        full = true;
        if (bytes > pool_bytes()) return nullptr;
        const std::uint32_t need = granules_of(bytes);
        const std::uint32_t at = find<true>(context, need, need);
        full = at == kNone;
        return at >= kUnsure ? nullptr : address(at);
    }

    /// Two blocks, each to be freed on its own, for the price of one search: they are next to one
    /// another, if there is a chunk large enough for both. @return false: there is no room for
    /// both, and nothing is allocated.
    HEAPWOOD_FN bool allocate_pair(const Context& context, const std::size_t (&bytes)[2],
                                   void* (&blocks)[2]) const requires(Policy::kShares) {
        blocks[0] = blocks[1] = nullptr;
        if (bytes[0] == 0 || bytes[1] == 0 || bytes[0] > pool_bytes() || bytes[1] > pool_bytes()) {
            return false;
        }
        const std::uint32_t first = granules_of(bytes[0]);
        const std::uint32_t second = granules_of(bytes[1]);
        const std::uint32_t at = find(context, first + second, first);
        if (at < kUnsure) {
            blocks[0] = address(at);
            blocks[1] = address(at + first);
            return true;
        }
        blocks[0] = allocate(context, bytes[0]);
        if (blocks[0] != nullptr) blocks[1] = allocate(context, bytes[1]);
        if (blocks[1] != nullptr) return true;
        deallocate(context, blocks[0], bytes[0]);
        blocks[0] = nullptr;
        return false;
    }

    /// `count` blocks of `bytes` bytes, side by side, each to be freed on its own, for the price of
    /// one search. @return the first one, or nullptr: no chunk has room for all.
    HEAPWOOD_NOINLINE void* allocate_run(Context context, std::size_t bytes,
                                         std::uint32_t count) const {
        if (bytes == 0 || bytes > pool_bytes() / count) return nullptr;
        const std::uint32_t each = granules_of(bytes);
        const std::uint32_t at = find(context, each * count, each * count);
        return at >= kUnsure ? nullptr : cut_run(at, each, count);
    }

    /// The same after a short search, for at most longest_run() bytes in all. @return the first
    /// one, or nullptr: a few stretches have no room for all.
    HEAPWOOD_NOINLINE void* allocate_run_nearby(Context context, std::size_t bytes,
                                                std::uint32_t count) const
        requires(Policy::kShares) {
        const std::uint32_t each = granules_of(bytes);
        const std::uint32_t at = find_at_home(context, each * count, each * count);
        return at == kNone ? nullptr : cut_run(at, each, count);
    }

    /// Bytes of the longest run that is found nearby.
    HEAPWOOD_INLINE std::uint64_t longest_run() const requires(Policy::kShares) {
        return static_cast<std::uint64_t>(medium_) << shift_;
    }

    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t) const {
        if (p != nullptr) free(context, granule(p));
    }

    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t) const {
        if (p == nullptr) return 0;
        const std::uint32_t at = granule(p);
        return static_cast<std::uint64_t>(headers_.load(at).next - at) << shift_;
    }

    /// The first byte of a granule.
    HEAPWOOD_INLINE char* address(std::uint32_t at) const {
        return pool_ + (static_cast<std::uint64_t>(at) << shift_);
    }

private:
    template <class>
    friend class CircularMalloc;

    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> hint(std::uint32_t slot) const {
        return platform::AtomicRef<std::uint32_t>(hints_[slot * kHintStride]);
    }
    /// Where the chunk before the one at `at` starts, or started once.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> before(std::uint32_t at) const {
        return platform::AtomicRef<std::uint32_t>(before_[at]);
    }
    HEAPWOOD_INLINE std::uint32_t granule(const void* p) const {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> shift_);
    }
    /// A hint, and the stretch of the pool that it stays in.
    struct Home {
        std::uint32_t hint;
        std::uint32_t begin;
        std::uint32_t end;
    };
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    static constexpr std::uint32_t kUnsure = kNone - 1;

    HEAPWOOD_INLINE std::uint64_t pool_bytes() const {
        return static_cast<std::uint64_t>(granules_) << shift_;
    }
    HEAPWOOD_INLINE std::uint32_t granules_of(std::size_t bytes) const {
        return static_cast<std::uint32_t>(((bytes - 1) >> shift_) + 1);
    }

    // Both operations are out of line, for they are long, and with the context by value, so that
    // the caller's need not lie in memory. Policy::kDirect: they work on a copy of the handle,
    // which lies in registers. Through the pointer its words are loaded anew after every atomic
    // operation, and after each that acquires, a GPU's L1 cache is empty.

    HEAPWOOD_NOINLINE void free(Context context, std::uint32_t at) const {
        if constexpr (Policy::kDirect) {
            Core(*this).free_here(context, at);
        } else {
            free_here(context, at);
        }
    }
    HEAPWOOD_INLINE void free_here(const Context& context, std::uint32_t at) const {
        // All loads at once, as far as they can: each takes a GPU the better part of a microsecond.
        std::uint32_t start = at;
        if constexpr (Policy::kBackward) start = before(at).load_relaxed();
        const std::uint32_t next = headers_.load(at).next;
        const Header ahead = headers_.load(next);
        Header behind{};
        if (start < at) behind = headers_.load(start);
        const std::uint32_t end = merge(next, ahead, end_of_home(next - 1), Policy::kMergesPerFree);
        if constexpr (!Policy::Headers::kFused) {
            // Or a traversal might see USED with the new end, and never know what it leapt over.
            if (end != next) headers_.settle(at, {kUnsettled, next});
        }
        if (start < at && !begins_home(at)) at = join_predecessor(start, behind, at, end);
        Policy::pause();
        give(at, end);
        // What was freed last is free, and in the cache: there the next search begins.
        if constexpr (Policy::kShares) {
            const std::uint32_t share = shares_.remainder(context.multiprocessor);
            remember(small_home(share, context.warp), at);
            remember(medium_home(share), at);
        } else {
            hint(0).store_relaxed(at);
        }
    }

    /// Makes the own chunk at `at` a run of chunks of `each` granules, the last one with the rest.
    HEAPWOOD_INLINE char* cut_run(std::uint32_t at, std::uint32_t each, std::uint32_t count) const {
        // From the back: a traversal in between passes over all that is not cut off yet.
        std::uint32_t end = headers_.load(at).next;
        for (std::uint32_t i = count; i-- > 0;) {
            const std::uint32_t start = at + i * each;
            Policy::pause();
            if constexpr (Policy::kBackward) before(end).store_relaxed(start);
            headers_.settle(start, {kUsed, end});
            end = start;
        }
        return address(at);
    }

    /// Finds and takes a chunk of `need` granules, and makes it two where `first` is less.
    /// kAligned: it starts at a multiple of `need`, a power of two.
    /// @return where it starts, or kNone, or kUnsure if the search was inconclusive.
    template <bool kAligned = false>
    HEAPWOOD_NOINLINE std::uint32_t find(Context context, std::uint32_t need,
                                         std::uint32_t first) const {
        Policy::note(Event::request);
        if constexpr (Policy::kDirect) {
            const std::uint32_t at =
                Core(*this).template find_at_home<kAligned>(context, need, first);
            if (at != kNone || need > granules_) return at;
            Policy::note(Event::ring);
            return find_rarely<kAligned>(context, need, first);
        } else if constexpr (Policy::kShares) {
            const std::uint32_t at = find_at_home<kAligned>(context, need, first);
            if (at != kNone || need > granules_) return at;
            Policy::note(Event::ring);
        }
        return find_in_ring<kAligned>(context, need, first);
    }
    template <bool kAligned>
    HEAPWOOD_NOINLINE std::uint32_t find_rarely(Context context, std::uint32_t need,
                                                std::uint32_t first) const {
        return find_in_ring<kAligned>(context, need, first);
    }

    /// Whether [at, end) has room for `need` granules.
    template <bool kAligned>
    HEAPWOOD_INLINE static bool fits(std::uint32_t at, std::uint32_t end, std::uint32_t need) {
        return start_in<kAligned>(at, need) + need <= end;
    }
    /// Where in a chunk at `at` they start.
    template <bool kAligned>
    HEAPWOOD_INLINE static std::uint32_t start_in(std::uint32_t at, std::uint32_t need) {
        return kAligned ? platform::round_up(at, need) : at;
    }

    /// find() in a few stretches that others seldom look at.
    template <bool kAligned = false>
    HEAPWOOD_FN std::uint32_t find_at_home(const Context& context, std::uint32_t need,
                                           std::uint32_t first) const {
        // What is aligned is found where the smaller requests do not go.
        const std::uint32_t size = kAligned && need <= small_ && small_ < medium_ ? medium_ : need;
        const bool large = size > medium_;
        for (std::uint32_t move = 0; move < (large ? kMostLooks : kMostMoves); ++move) {
            const Home home = home_of(context, size, move);
            const std::uint32_t start = hint(home.hint).load_relaxed();
            std::uint32_t at = start;
            std::uint32_t stop = home.end;
            unsigned leg = 0;  // to the end; from the begin to the start; on behind the end
            for (std::uint32_t step = 0; large || step < kMostSteps; ++step) {
                Policy::pause();
                Policy::note(Event::step);
                Header h = headers_.load(at);
                if (h.state == kFree && fits<kAligned>(at, h.next, need)) {
                    if (take<kAligned>(at, h, need)) {
                        return grant<kAligned>(home, at, h.next, need, first, false);
                    }
                    Policy::note(Event::lost);
                    if (!large) break;
                }
                // A lost compare-and-swap has left the winner's header in h.
                at = h.next;
                if (at == 0) break;  // not yet visible
                for (; at >= stop && leg < (large ? 1 : 2); ++leg) {
                    at = leg == 0 ? home.begin : home.end;
                    stop = leg == 0 ? start : granules_;
                }
                if (at >= stop) break;
            }
            if (large) platform::back_off(move);
        }
        return kNone;
    }

    /// find() in the whole ring, from a hint on.
    template <bool kAligned>
    HEAPWOOD_FN std::uint32_t find_in_ring(const Context& context, std::uint32_t need,
                                           std::uint32_t first) const {
        Home home{0, 0, granules_};
        if constexpr (Policy::kShares) home = home_of(context, need, kMostMoves);
        std::uint32_t at = hint(home.hint).load_relaxed();
        std::uint32_t traversals = 0;     // begun at chunk 0
        std::uint32_t confirmations = 0;  // that the pool is full
        bool conclusive = false;
        bool hopeful = false;     // a large enough chunk was there, or may have been
        std::uint32_t level = 0;  // of the refuge
        for (std::uint32_t steps = 0;; ++steps) {
            Policy::pause();
            Policy::note(Event::step);
            Header h = headers_.load(at);
            if (h.state == kFree || h.state == kUnsettled) {
                const bool free = h.state == kFree;
                if (fits<kAligned>(at, h.next, need)) {
                    if (free && take<kAligned>(at, h, need)) {
                        return grant<kAligned>(home, at, h.next, need, first,
                                               !Policy::kShares && home.hint != 0);
                    }
                    if (free) Policy::note(Event::lost);
                    conclusive = false;
                    hopeful = true;
                    if constexpr (!Policy::kShares) {
                        if (steps >= Policy::kPersistence) return kUnsure;
                        platform::back_off(traversals);
                        level =
                            home.hint == 0 || level == refuge_levels_ ? refuge_levels_ : level + 1;
                        home.hint = refuge(context.warp, steps, level);
                        at = hint(home.hint).load_relaxed();
                        continue;
                    }
                } else if (!free) {
                    conclusive = false;
                } else if (traversals >= 2 && headers_.load(h.next).state == kFree) {
                    if (headers_.take(at, h, kUnsettled)) {
                        Policy::pause();
                        const std::uint32_t end =
                            merge(h.next, headers_.load(h.next),
                                  start_in<kAligned>(at, need) + need, granules_);
                        if (fits<kAligned>(at, end, need)) {
                            return grant<kAligned>(home, at, end, need, first, false);
                        }
                        give(at, end);
                        at = end;
                        continue;
                    }
                    conclusive = false;
                }
            } else if (h.state != kUsed) {
                conclusive = false;
                if (h.next - at >= need) hopeful = true;
            }
            if constexpr (!Policy::kShares) {
                constexpr std::uint32_t kLong = kMostSteps * kMostRefuges;
                const bool nothing = h.next == 0;
                if (level > 0 ? nothing || steps % kMostSteps == 0
                              : !nothing && steps == kLong && home.hint == 0) {
                    if (home.hint == 0) {
                        level = refuge_levels_;
                    } else if (nothing || steps >= kLong) {
                        --level;
                    }
                    conclusive = false;
                    home.hint = refuge(context.warp, steps, level);
                    at = hint(home.hint).load_relaxed();
                    continue;
                }
            }
            // A lost compare-and-swap has left the winner's header in h: it leads forward as well.
            if (h.next != 0) {
                at = h.next;
                continue;
            }
            // Only the sentinel ends the ring; a header that is not yet visible does not.
            if (at != granules_) {
                conclusive = false;
                hopeful = true;
            }
            confirmations = conclusive && traversals >= 2 ? confirmations + 1 : 0;
            if (confirmations == Policy::Headers::kConfirmations) return kNone;
            std::uint32_t limit = Policy::kPatience;
            if constexpr (!Policy::kShares) {
                if (hopeful) limit = Policy::kPersistence;
            }
            if (traversals >= kMostTraversals && steps >= limit) return kUnsure;
            if (traversals > 0 && (!conclusive || Policy::Headers::kConfirmations > 1)) {
                platform::back_off(traversals);
            }
            ++traversals;
            conclusive = true;
            hopeful = false;
            at = 0;
        }
    }

    /// Where find_at_home() looks, at first and after `move` moves.
    HEAPWOOD_INLINE Home home_of(const Context& context, std::uint32_t need,
                                 std::uint32_t move) const {
        if (need > medium_) return {hints_of_shares() + shares_, 0, shares_begin_};
        const std::uint32_t share = shares_.remainder(context.multiprocessor + move);
        return need > small_ ? medium_home(share) : small_home(share, context.warp);
    }
    HEAPWOOD_INLINE Home medium_home(std::uint32_t share) const {
        const std::uint32_t begin = shares_begin_ + share * share_size_;
        return {hints_of_shares() + share, begin + stretch_size_ * (stretch_mask_ + 1),
                begin + share_size_};
    }
    HEAPWOOD_INLINE Home small_home(std::uint32_t share, std::uint32_t warp) const {
        const std::uint32_t begin = shares_begin_ + share * share_size_;
        // Multiplicative hashing: the upper bits are the mixed ones.
        const std::uint32_t stretch = ((warp * 0x9e3779b1U) >> 16) & stretch_mask_;
        const std::uint32_t first = stretch - stretch % Policy::kStretchesTogether;
        return {share * (stretch_mask_ + 1) + stretch, begin + first * stretch_size_,
                begin + (first + Policy::kStretchesTogether) * stretch_size_};
    }
    HEAPWOOD_INLINE void remember(const Home& home, std::uint32_t at) const {
        if (home.begin <= at && at < home.end) hint(home.hint).store_relaxed(at);
    }
    /// Where the stretch ends in which a granule lies. When blocks are freed they merge no further,
    /// so that a stretch's first header stays one.
    HEAPWOOD_INLINE std::uint32_t end_of_home(std::uint32_t at) const {
        if constexpr (!Policy::kShares) {
            return granules_;
        } else {
            if (at < shares_begin_) return shares_begin_;
            const std::uint32_t share = share_size_.quotient(at - shares_begin_);
            if (share == shares_) return granules_;
            const std::uint32_t begin = shares_begin_ + share * share_size_;
            const std::uint32_t stretch = stretch_size_.quotient(at - begin);
            const std::uint32_t next =
                stretch - stretch % Policy::kStretchesTogether + Policy::kStretchesTogether;
            return stretch <= stretch_mask_ ? begin + next * stretch_size_ : begin + share_size_;
        }
    }
    /// Whether a stretch begins at a granule other than 0.
    HEAPWOOD_INLINE bool begins_home(std::uint32_t at) const {
        return Policy::kShares && end_of_home(at - 1) == at;
    }
    /// The first of the hints for chunks of medium size; behind them comes that for large ones.
    HEAPWOOD_INLINE std::uint32_t hints_of_shares() const { return shares_ * (stretch_mask_ + 1); }
    /// Another hint for a request that has lost a chunk, where there is but one to begin with: one
    /// of 2^level that are as far from one another as can be.
    HEAPWOOD_INLINE std::uint32_t refuge(std::uint32_t warp, std::uint32_t step,
                                         std::uint32_t level) const {
        const std::uint32_t caller = warp * 32 + platform::lane_of_caller();
        // Multiplicative hashing: the upper bits are the mixed ones.
        const std::uint32_t hash = (caller ^ (step * 0x85ebca6bU)) * 0x9e3779b1U;
        return 1 + ((hash >> 1 >> (31 - level)) << (refuge_levels_ - level));
    }
    HEAPWOOD_INLINE static bool splits(std::uint32_t size, std::uint32_t need) {
        return size > need && size / Policy::kMaxFragmentation >= need;
    }

    /// Takes the free chunk that h was read of, if it has `need` granules. @return false if it is
    /// somebody else's or too small; h is then what the header says now.
    template <bool kAligned>
    HEAPWOOD_INLINE bool take(std::uint32_t at, Header& h, std::uint32_t need) const {
        Policy::pause();
        // Not USED yet, even if it looks as if nothing will be given back: the size may be an old
        // one.
        if (!headers_.take(at, h, kUnsettled)) return false;
        if (fits<kAligned>(at, h.next, need)) return true;
        // Separate words, read at different times.
        give(at, h.next);
        return false;
    }

    /// Of the own chunk [at, end) gives back what is not needed, in two pieces if it was `crowded`,
    /// makes it two if `first` is less than `need`, and sends the hint past it. @return where it
    /// starts
    template <bool kAligned>
    HEAPWOOD_INLINE std::uint32_t grant(const Home& home, std::uint32_t at, std::uint32_t end,
                                        std::uint32_t need, std::uint32_t first,
                                        bool crowded) const {
        if (const std::uint32_t start = start_in<kAligned>(at, need); start != at) {
            // The part behind is cut off first, and is this owner's; then that in front is free.
            headers_.settle(start, {kUnsettled, end});
            Policy::pause();
            give(at, start);
            at = start;
        }
        std::uint32_t tail = end;
        if (splits(end - at, need)) {
            Policy::note(Event::split);
            tail = at + need;
            if constexpr (!Policy::kShares) {
                if (crowded && (end - tail) / Policy::kCrowd >= need) end = cut(tail, end);
            }
            if constexpr (Policy::kBackward) before(tail).store_relaxed(at);
            Policy::pause();
            // First the rest, then the own header: a traversal in between passes over both, and the
            // chain is never cut.
            give(tail, end);
            Policy::pause();
        }
        const std::uint32_t past = tail;
        if (first < need) {
            if constexpr (Policy::kBackward) {
                before(tail).store_relaxed(at + first);
                before(at + first).store_relaxed(at);
            }
            headers_.settle(at + first, {kUsed, tail});
            Policy::pause();
            tail = at + first;
        }
        headers_.settle(at, {kUsed, tail});
        Policy::pause();
        hint(home.hint).store_relaxed(home.begin < past && past < home.end ? past : home.begin);
        return at;
    }

    /// Gives back the second half of the own chunk's part [from, end), if a refuge is about there,
    /// to whoever turns to this. @return where the own chunk ends now.
    HEAPWOOD_INLINE std::uint32_t cut(std::uint32_t from, std::uint32_t end) const {
        const std::uint32_t number = (from + (end - from) / 2) / refuge_size_;
        const std::uint32_t middle = number * refuge_size_;
        if (middle <= from || number >> refuge_levels_ != 0) return end;
        Policy::pause();
        give(middle, end);
        Policy::pause();
        hint(1 + number).store_relaxed(middle);
        return middle;
    }

    /// Makes the own chunk [at, end) free. Release: passes on all that this owner and earlier ones
    /// did to it.
    HEAPWOOD_INLINE void give(std::uint32_t at, std::uint32_t end) const {
        if constexpr (Policy::kBackward) before(end).store_relaxed(at);
        headers_.give(at, end);
    }

    /// Takes the free chunks from `from` on, which follow the own chunk, until it would reach
    /// `until`, meets one that is not free, or has taken `most`. `h`: the first one's header, as
    /// read some time ago. @return the own chunk's new end.
    HEAPWOOD_INLINE std::uint32_t merge(std::uint32_t from, Header h, std::uint32_t until,
                                        std::uint32_t most) const {
        for (std::uint32_t i = 0; i < most && from < until; ++i) {
            if (i > 0) h = headers_.load(from);
            Policy::pause();
            if (h.state != kFree || !headers_.take(from, h, kDead)) break;
            Policy::note(Event::merge);
            from = h.next;
        }
        return from;
    }

    /// Takes the chunk at `start` if it is free and ends where the own one [at, end) begins. `h`:
    /// its header, as read some time ago. @return where the own chunk starts now.
    HEAPWOOD_INLINE std::uint32_t join_predecessor(std::uint32_t start, Header h, std::uint32_t at,
                                                   std::uint32_t end) const {
        Policy::pause();
        if (h.state != kFree || h.next != at || !headers_.take(start, h, kUnsettled)) return at;
        Policy::pause();
        if (h.next != at) {
            give(start, h.next);
            return at;
        }
        Policy::note(Event::merge_back);
        headers_.settle(at, {kDead, end});
        return start;
    }

    char* pool_;
    std::uint32_t* before_;
    std::uint32_t* hints_;
    typename Policy::Headers headers_;
    std::uint32_t granules_;
    std::uint32_t shift_;
    std::uint32_t small_;  // requests of at most so many granules move when they lose a chunk
    std::uint32_t refuge_levels_;  // log2 of the refuges; single hint only
    std::uint32_t refuge_size_;  // granules of a refuge's part; single hint only; the rest: shares
    std::uint32_t medium_;
    std::uint32_t shares_begin_;
    Divisor shares_;
    Divisor share_size_;
    Divisor stretch_size_;
    std::uint32_t stretch_mask_;
};

}  // namespace heapwood::allocators::circular
