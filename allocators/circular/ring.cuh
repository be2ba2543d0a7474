/// @file
/// The ring of the circular allocators: chunks that tile the pool, and the only steps that change
/// them. Searches (search.cuh) decide where to take a chunk.
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
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/circular/header.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::circular {

/// Whether [at, end) has room for `need` granules. kAligned: from a multiple of `need` on, which is
/// a power of two.
template <bool kAligned>
HEAPWOOD_INLINE bool fits(std::uint32_t at, std::uint32_t end, std::uint32_t need) {
    return (kAligned ? platform::round_up(at, need) : at) + need <= end;
}
/// Where in a chunk at `at` these granules start.
template <bool kAligned>
HEAPWOOD_INLINE std::uint32_t start_in(std::uint32_t at, std::uint32_t need) {
    return kAligned ? platform::round_up(at, need) : at;
}

/// What a search asks for: `need` granules, which become two blocks if `first` is less.
struct Request {
    std::uint32_t need;
    std::uint32_t first;
};

/// A block that a search was granted: where it starts, and where what was taken ends.
struct Grant {
    std::uint32_t at;
    std::uint32_t past;
};

/// The chunks of a pool, of which this is a handle. Granules are known by their numbers.
template <class Policy>
class Ring {
public:
    HEAPWOOD_INLINE std::uint32_t granules() const { return granules_; }
    HEAPWOOD_INLINE std::uint64_t bytes(std::uint32_t granules) const {
        return static_cast<std::uint64_t>(granules) << shift_;
    }
    HEAPWOOD_INLINE std::uint32_t granules_of(std::size_t bytes) const {
        return static_cast<std::uint32_t>(((bytes - 1) >> shift_) + 1);
    }
    /// The first byte of a granule.
    HEAPWOOD_INLINE char* address(std::uint32_t at) const { return pool_ + bytes(at); }
    HEAPWOOD_INLINE std::uint32_t granule(const void* p) const {
        return static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_) >> shift_);
    }

    HEAPWOOD_INLINE Header load(std::uint32_t at) const { return headers_.load(at); }
    /// Where the chunk before the one at `at` starts, or started once.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> before(std::uint32_t at) const {
        return platform::AtomicRef<std::uint32_t>(before_[at]);
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

    /// Makes a block, or two, of the own chunk [at, end), and gives back what is not needed.
    /// cut(from, end) may give back a part of what is not needed beforehand, and says where the
    /// rest of it ends.
    template <bool kAligned, class Cut>
    HEAPWOOD_INLINE Grant grant(std::uint32_t at, std::uint32_t end, const Request& request,
                                Cut&& cut) const {
        const std::uint32_t need = request.need;
        if (const std::uint32_t start = start_in<kAligned>(at, need); start != at) {
            // The part behind is cut off first, and is this owner's; then that in front is free.
            headers_.settle(start, {kUnsettled, end});
            Policy::pause();
            give(at, start);
            at = start;
        }
        std::uint32_t tail = end;
        if (splits(end - at, need)) {
            tail = at + need;
            end = cut(tail, end);
            if constexpr (Policy::kBackward) before(tail).store_relaxed(at);
            Policy::pause();
            // First the rest, then the own header: a traversal in between passes over both, and the
            // chain is never cut.
            give(tail, end);
            Policy::pause();
        }
        const std::uint32_t past = tail;
        if (request.first < need) {
            const std::uint32_t second = at + request.first;
            if constexpr (Policy::kBackward) {
                before(tail).store_relaxed(second);
                before(second).store_relaxed(at);
            }
            headers_.settle(second, {kUsed, tail});
            Policy::pause();
            tail = second;
        }
        headers_.settle(at, {kUsed, tail});
        Policy::pause();
        return {at, past};
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

    /// Takes the free chunk that h was read of, which its new owner is about to give back.
    HEAPWOOD_INLINE bool take_to_merge(std::uint32_t at, Header& h) const {
        return headers_.take(at, h, kUnsettled);
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
            from = h.next;
        }
        return from;
    }

    /// Says that the own chunk [at, next) has grown to beyond `next`, and is about to be given
    /// back: or a traversal might see USED with the new end, and never know what it leapt over.
    HEAPWOOD_INLINE void unsettle(std::uint32_t at, std::uint32_t next) const {
        if constexpr (!Policy::Headers::kFused) headers_.settle(at, {kUnsettled, next});
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
        headers_.settle(at, {kDead, end});
        return start;
    }

private:
    template <class>
    friend class CircularMalloc;

    HEAPWOOD_INLINE static bool splits(std::uint32_t size, std::uint32_t need) {
        return size > need && size / Policy::kMaxFragmentation >= need;
    }

    char* pool_;
    std::uint32_t* before_;
    typename Policy::Headers headers_;
    std::uint32_t granules_;
    std::uint32_t shift_;
};

}  // namespace heapwood::allocators::circular
