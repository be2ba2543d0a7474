/// @file
/// The part of Halloc that runs in kernels: slabs of pieces of one size, a bitmap for each, and
/// head slabs from which requests draw. halloc.cuh says what it is made of and after whom.
///
/// **A slab's life.** Slabs start at multiples of their size, so that a piece's address tells its
/// slab. A slab has a state: none; open, while it is a head slab; closed. And it has a count:
/// pieces in use, and while it is open, tickets of its head that nobody has drawn.
/// - Whoever takes the slab's memory from the list makes it open, with a ticket for every piece.
/// - A head is {slab, counter}, and a request adds 1 to it: so it learns the slab and draws a
///   ticket at once, and is counted before it touches the slab. Where more than a few lanes of a
///   warp are there together (platform/lanes.cuh), one of them adds for all of the same head.
///   When the tickets are used up, an exchange takes the slab off; whoever has done so is alone in
///   closing it, which takes the rest of the tickets from the count, or in giving it tickets anew.
/// - A closed slab is opened again by a compare-and-swap of its whole state that counts the new
///   tickets.
/// - A free marks the piece as free, and then counts, or one lane does for those of the same slab.
///   Whoever brings the count of a closed slab to 0, by a free or by closing, tries to take it by a
///   compare-and-swap {closed, 0} -> none, which one thread wins, unless it has been opened in
///   between. It is then alone with the slab and returns it to the list.
/// So a slab stays what it is as long as anybody holds a ticket or a piece of it, and a state that
/// is what it was when it was read is true now, whatever happened in between: there is no ABA.
///
/// **Bits.** A piece's bit is set when it is free and in the bitmap. In a slab that was empty when
/// it was opened no bit is set, and ticket t is piece t: nothing need be searched, and nobody else
/// can have it, however long its holder is stalled. A free sets the piece's bit; when such a slab
/// is closed, the bits of those pieces are set whose tickets nobody has drawn. In a slab that was
/// not empty when it was opened a ticket is the right to one of the set bits, of which there are at
/// least as many as pieces that are not counted; it is hashed to where the search begins. Whoever
/// is alone with an empty slab clears all bits.
///
/// **Memory order.** What was done to a piece, and to the slab, reaches the next owner:
/// - within a slab by its bit: set with a release, cleared with an acquire;
/// - from the opener, with all that it has acquired, by the head: exchanged with a release, drawn
///   from with an acquire;
/// - to whoever opens or returns a slab by its state: every free, and every closing, is a release
///   on it, and all that change it are read-modify-writes, so that taking it acquires them all; and
///   so the bits that were set before each of them;
/// - from the one who returns a slab to whoever next gets the memory, by the list.
/// Where one lane acts for others, a sync of the group passes on to them what it has acquired, and
/// to it what they have done before.
///
/// **The counter does not overflow.** It goes on above the last ticket as long as requests find the
/// head used up. But each of these replaces the slab, which sets it back, or has found the lock
/// taken and a piece elsewhere; so it takes 2^30 of them while one thread is between two steps.
///
/// **Progress.** Nobody waits for long. Of those who find a head used up, one replaces it, under a
/// lock that is a hint only; the others try the class's other heads meanwhile, and after kPatience
/// pauses go on without the lock, each with a slab of its own: so many that they might use up the
/// list, wherefore that takes milliseconds, as only a thread that does not run makes them. All
/// searches are bounded. When the list has nothing left, any closed slab of the class with a free
/// piece will do; else idle heads, of which no piece is in use, are closed and returned, for a new
/// slab or a large request. A request is refused when all that has yielded nothing while no other
/// thread held a slab of the class that it was about to publish or to close; or after kRounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/halloc/classes.cuh"
#include "allocators/parts/apart.cuh"
#include "allocators/parts/fallback.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {
template <class>
class BasicHalloc;
}

namespace heapwood::allocators::halloc {

/// {slab, counter}. The counter is below the class's capacity (a ticket of a slab that was empty),
/// or kSearched + that (of one that was not), or above either.
using HeadWord = std::uint64_t;

inline constexpr std::uint32_t kSearched = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
/// No slab, and no ticket either.
inline constexpr HeadWord kNoSlab = HeadWord{kNowhere} << 32 | 3U << 30;

HEAPWOOD_INLINE HeadWord make_head(std::uint32_t slab, std::uint32_t counter) {
    return HeadWord{slab} << 32 | counter;
}
HEAPWOOD_INLINE std::uint32_t slab_of(HeadWord w) {
    return static_cast<std::uint32_t>(w >> 32);
}
/// Tickets of a head that nobody has drawn.
HEAPWOOD_INLINE std::uint32_t tickets_left(HeadWord w, std::uint32_t capacity) {
    const std::uint32_t drawn = static_cast<std::uint32_t>(w) & ~kSearched;
    return drawn < capacity ? capacity - drawn : 0;
}

/// A head, alone in its sector of the L2 cache.
struct alignas(32) Head {
    HeadWord word;
    std::uint32_t locked;  ///< 1 while somebody replaces its slab
};

/// A slab's state: kSlab, kOpen, class << kClassShift, and the count; 0: there is no slab.
inline constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kSlab = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kClassShift = 24;
inline constexpr std::uint32_t kCount = (std::uint32_t{1} << kClassShift) - 1;

/// Words of the bitmap of a slab of so many bytes: a bit for each of the smallest pieces.
HEAPWOOD_INLINE std::uint32_t bitmap_words(std::uint32_t slab_shift) {
    return 1U << (slab_shift - 9);
}

/// The handle that kernels use.
template <class Policy>
class Core {
    using Pool = typename FallbackPool<Policy>::Ref;

public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        HeadWord drawn = kNoSlab;
        if (bytes - 1 < small_ && !Policy::is_crowded()) {
            const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
            drawn = word(heads_[head_of(context.multiprocessor, k)]).add_acquire(1);
            const auto ticket = static_cast<std::uint32_t>(drawn);
            if (ticket < capacity_[k.number()]) return piece(slab_of(drawn), ticket, k);
        }
        return allocate_slowly(context, bytes, drawn);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > small_ || Policy::is_crowded()) return deallocate_slowly(context, p, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        give_back(context, mark_free(p, k), 1);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > small_) return pool_.granted_bytes(p, bytes);
        return SizeClass::of(static_cast<std::uint32_t>(bytes)).bytes();
    }

private:
    friend class BasicHalloc<Policy>;

    using State = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE static platform::AtomicRef<HeadWord> word(Head& head) {
        return platform::AtomicRef<HeadWord>(head.word);
    }
    HEAPWOOD_INLINE std::uint32_t head_of(std::uint32_t number, SizeClass k) const {
        return k.number() * (head_mask_ + 1) + (number & head_mask_);
    }
    HEAPWOOD_INLINE State state(std::uint32_t slab) const { return State(states_[slab]); }
    HEAPWOOD_INLINE State bits(std::uint32_t slab, std::uint32_t i) const {
        return State(bitmaps_[std::uint64_t{slab} * bitmap_words(slab_shift_) + i]);
    }
    HEAPWOOD_INLINE char* piece(std::uint32_t slab, std::uint32_t number, SizeClass k) const {
        return memory_ + (std::uint64_t{slab} << slab_shift_) + number * k.bytes();
    }
    HEAPWOOD_INLINE static std::uint32_t closed(SizeClass k) {
        return kSlab | k.number() << kClassShift;
    }
    /// So many thousandths of a slab's pieces.
    HEAPWOOD_INLINE std::uint32_t part(SizeClass k, std::uint32_t thousandths) const {
        return capacity_[k.number()] * thousandths / 1000;
    }
    HEAPWOOD_INLINE std::uint32_t words_of(SizeClass k) const {
        return platform::ceil_div(capacity_[k.number()], 32U);
    }

    /// What the leader of a group passes, with all that it has acquired.
    HEAPWOOD_INLINE static HeadWord of_leader(const platform::Lanes& lanes, HeadWord w) {
        w = lanes.of_leader(w);
        lanes.sync();
        return w;
    }

    /// Sets the piece's bit. @return its slab
    HEAPWOOD_INLINE std::uint32_t mark_free(void* p, SizeClass k) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<char*>(p) - memory_);
        const auto slab = static_cast<std::uint32_t>(offset >> slab_shift_);
        const std::uint32_t piece =
            k.piece_at(static_cast<std::uint32_t>(offset) & ((1U << slab_shift_) - 1));
        Policy::pause();
        // Release: what was done to the piece, to whoever clears its bit.
        bits(slab, piece / 32).set_release(1U << piece % 32);
        Policy::pause();
        return slab;
    }
    /// Counts pieces, or a ticket, of which the caller has no more use.
    HEAPWOOD_INLINE void give_back(const Context& context, std::uint32_t slab,
                                   std::uint32_t n) const {
        // Release: the bits that were set, and all that went before, to whoever opens or returns
        // the slab.
        const std::uint32_t seen = state(slab).sub_release(n);
        if ((seen & (kOpen | kCount)) == n) retire(context, slab, seen - n);
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Of many lanes that are here with pieces of the same slab, one counts them all.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > small_) return pool_.deallocate(context, p, bytes);
        const std::uint32_t slab = mark_free(p, SizeClass::of(static_cast<std::uint32_t>(bytes)));
        const platform::Lanes lanes(slab);
        lanes.sync();
        if (lanes.rank() == 0) give_back(context, slab, lanes.count());
    }

    /// Returns a closed slab of which nothing is in use; nothing, if another has taken it.
    HEAPWOOD_NOINLINE void retire(Context context, std::uint32_t slab, std::uint32_t seen) const {
        Policy::pause();
        // Acquire: all that was done to the slab, to the list.
        if (!state(slab).cas_acquire(seen, 0)) return;
        clear_bits(slab, SizeClass((seen & ~kSlab) >> kClassShift));
        pool_.list().deallocate(context, piece(slab, 0, SizeClass(0)), 0);
    }

    /// `drawn`: the head when a ticket was drawn, which has not been used yet; kNoSlab: there is
    /// none, or many lanes are here, of which one draws for all that have the same head.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes,
                                            HeadWord drawn) const {
        if (bytes == 0) return nullptr;
        if (bytes > small_) return allocate_large(context, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        const std::uint32_t own = head_of(context.multiprocessor, k);
        if (drawn == kNoSlab) {
            const platform::Lanes lanes(own);
            if (lanes.rank() == 0) drawn = word(heads_[own]).add_acquire(lanes.count());
            drawn = of_leader(lanes, drawn) + lanes.rank();
        }
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            if (void* p = use(context, drawn, k)) return p;
            const platform::Lanes lanes(own);
            if (lanes.rank() == 0) drawn = supply(context, heads_[own], k, lanes.count());
            drawn = of_leader(lanes, drawn);
            if (drawn == kNoSlab) break;
            drawn += lanes.rank();
        }
        return allocate_from_rest(context, k);
    }
    HEAPWOOD_FN void* allocate_large(const Context& context, std::size_t bytes) const {
        for (bool again = false;; again = true) {
            void* p = pool_.allocate(apart(context), bytes);
            if (p != nullptr || again || !close_idle(context)) return p;
        }
    }

    /// Uses a ticket, if it is one. nullptr: it is none, or others have been quicker.
    HEAPWOOD_FN void* use(const Context& context, HeadWord drawn, SizeClass k) const {
        if (tickets_left(drawn, capacity_[k.number()]) == 0) return nullptr;
        const auto ticket = static_cast<std::uint32_t>(drawn);
        if (ticket < kSearched) return piece(slab_of(drawn), ticket, k);
        return search(context, slab_of(drawn), ticket - kSearched, k);
    }
    /// Draws n tickets, of which the first is one, or none. @return the head, or kNoSlab.
    HEAPWOOD_FN HeadWord draw(Head& from, SizeClass k, std::uint32_t n) const {
        const std::uint32_t capacity = capacity_[k.number()];
        if (tickets_left(word(from).load_relaxed(), capacity) == 0) return kNoSlab;
        Policy::pause();
        const HeadWord drawn = word(from).add_acquire(n);
        return tickets_left(drawn, capacity) > 0 ? drawn : kNoSlab;
    }

    /// Draws n tickets, of which the first is one, and sees to it that there are some. kNoSlab:
    /// there is no slab to be had.
    HEAPWOOD_NOINLINE HeadWord supply(Context context, Head& own, SizeClass k,
                                      std::uint32_t n) const {
        const State lock(own.locked);
        for (std::uint32_t attempt = 0;; ++attempt) {
            // Of the own head, and another one.
            HeadWord drawn = draw(own, k, n);
            if (drawn != kNoSlab) return drawn;
            std::uint32_t open = 0;
            const bool locked = lock.load_relaxed() == 0 && lock.cas_relaxed(open, 1);
            if (locked || attempt == Policy::kPatience) {
                drawn = replace(context, own, k, n);
                if (locked) lock.store_relaxed(0);
                return drawn;
            }
            drawn = draw(heads_[head_of(context.multiprocessor + 1 + attempt, k)], k, n);
            if (drawn != kNoSlab) return drawn;
            platform::back_off(attempt);
        }
    }

    /// Finds a piece whose bit is set for the holder of a ticket. There are as many as tickets; but
    /// others may take all that it looks at and free those that it has passed. Then the ticket is
    /// given back.
    HEAPWOOD_NOINLINE void* search(Context context, std::uint32_t slab, std::uint32_t ticket,
                                   SizeClass k) const {
        const std::uint32_t pieces = capacity_[k.number()];
        const std::uint32_t words = words_of(k);
        std::uint32_t probe = ticket * Policy::kHashFactor % pieces;
        for (std::uint32_t i = 0; i < Policy::kTries + words; ++i) {
            const std::uint32_t w = i < Policy::kTries ? probe / 32 : i - Policy::kTries;
            const State word = bits(slab, w);
            // The first probe is of one bit, which is likely to be set; then of any of its word.
            std::uint32_t free = i == 0 ? 1U << probe % 32 : word.load_relaxed();
            for (std::uint32_t n = 0; n < 32 && free != 0; ++n) {
                const std::uint32_t bit = platform::floor_log2(free);
                Policy::pause();
                // Acquire: what was done to the piece before its bit was set.
                free = word.and_acquire(~(1U << bit));
                if ((free >> bit & 1U) != 0) return piece(slab, w * 32 + bit, k);
            }
            probe = (probe + Policy::kHashStride) % pieces;
        }
        give_back(context, slab, 1);
        return nullptr;
    }
    /// Of an empty slab that is the caller's alone.
    HEAPWOOD_FN void clear_bits(std::uint32_t slab, SizeClass k) const {
        // What a loop has of its own it need not load from the handle after each store.
        std::uint32_t* const first = &bitmaps_[std::uint64_t{slab} * bitmap_words(slab_shift_)];
        const std::uint32_t words = words_of(k);
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t i = 0; i < words; ++i) State(first[i]).store_relaxed(0);
    }

    /// Gives a head a slab with tickets, and draws the first n. kNoSlab: there was none.
    HEAPWOOD_FN HeadWord replace(const Context& context, Head& own, SizeClass k,
                                 std::uint32_t n) const {
        const HeadWord drawn = draw(own, k, n);
        if (drawn != kNoSlab) return drawn;
        const HeadWord old = word(own).exchange_acq_rel(kNoSlab);
        Policy::pause();
        HeadWord next = renewed(context, old, k);
        bool full;
        if (Policy::kRoomyFirst && next == kNoSlab) next = reopened(k);
        if (next == kNoSlab) next = fresh(context, k, full);
        if (!Policy::kRoomyFirst && next == kNoSlab) next = reopened(k);
        return publish(context, own, next, k, n);
    }
    /// When the list has no slab left. nullptr: the class is full, and the pool as well.
    ///
    /// All tickets that there are are drawn, all slabs whose tickets have been used up are closed,
    /// and all closed slabs of the class are looked at. If that yields nothing while others hold a
    /// slab that they are about to open or to close, it says nothing, and is done again.
    HEAPWOOD_NOINLINE void* allocate_from_rest(Context context, SizeClass k) const {
        const std::uint32_t full = capacity_[k.number()];
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            for (std::uint32_t i = 0; i <= head_mask_; ++i) {
                Head& other = heads_[head_of(context.multiprocessor + i, k)];
                if (void* p = use(context, draw(other, k, 1), k)) return p;
                const HeadWord w = word(other).load_relaxed();
                if (slab_of(w) == kNowhere || tickets_left(w, full) > 0) continue;
                Policy::pause();
                const HeadWord old = word(other).exchange_acq_rel(kNoSlab);
                if (slab_of(old) != kNowhere) close(context, old, k);
            }
            bool certain = true;
            HeadWord next = opened_among(k, 0, cell_count_, full - 1, full, certain);
            bool no_chunk = false;
            if (next == kNoSlab && round > 0) next = fresh(context, k, no_chunk);
            Head& own = heads_[head_of(context.multiprocessor, k)];
            if (void* p = use(context, publish(context, own, next, k, 1), k)) return p;
            if (close_idle(context)) continue;
            if (next == kNoSlab && certain && no_chunk) return nullptr;
            platform::back_off(round);
        }
        return nullptr;
    }
    /// Draws the first n tickets of an own slab and leaves the others to all.
    HEAPWOOD_FN HeadWord publish(const Context& context, Head& own, HeadWord next, SizeClass k,
                                 std::uint32_t n) const {
        if (next == kNoSlab) return kNoSlab;
        Policy::pause();
        // Release: the slab, with all that its former users did to it.
        const HeadWord old = word(own).exchange_acq_rel(next + n);
        if (slab_of(old) != kNowhere) close(context, old, k);
        return next;
    }

    /// A slab that was taken off its head keeps its tickets, if any are left, or gets new ones, if
    /// it has become roomy; else it is closed.
    HEAPWOOD_FN HeadWord renewed(const Context& context, HeadWord old, SizeClass k) const {
        const std::uint32_t slab = slab_of(old);
        if (slab == kNowhere) return kNoSlab;
        if (tickets_left(old, capacity_[k.number()]) > 0) return old;
        // Acquire: the bits that were set, and what was done to the pieces before.
        const std::uint32_t used = state(slab).load_acquire() & kCount;
        if (used > (Policy::kRoomyFirst ? part(k, Policy::kRoomy) : 0)) {
            close(context, old, k);
            return kNoSlab;
        }
        state(slab).add_relaxed(tickets_for(used, part(k, Policy::kBusy), k));
        return with_tickets(slab, used, part(k, Policy::kBusy), k);
    }
    /// One of the closed slabs that are roomy, or else of the sparse ones. Looks at a few only, at
    /// others each time.
    HEAPWOOD_FN HeadWord reopened(SizeClass k) const {
        const State cursor(cursors_[k.number()]);
        const std::uint32_t begin = cursor.load_relaxed();
        const std::uint32_t most = Policy::kLooks < cell_count_ ? Policy::kLooks : cell_count_;
        cursor.store_relaxed(begin + most < cell_count_ ? begin + most : 0);
        bool certain;
        return opened_among(k, begin, most, part(k, Policy::kRoomy), part(k, Policy::kBusy),
                            certain);
    }
    /// One of so many cells' closed slabs of that class with at most `roomy` pieces in use, with
    /// tickets for `busy` in all; one with more than the sparse have, if possible. `certain`
    /// becomes false if there was one that is open, or that another was quicker to open.
    HEAPWOOD_NOINLINE HeadWord opened_among(SizeClass k, std::uint32_t begin, std::uint32_t looks,
                                            std::uint32_t roomy, std::uint32_t busy,
                                            bool& certain) const {
        std::uint32_t sparse = kNowhere;
        for (std::uint32_t i = 0; i < looks; i += kBatch) {
            std::uint32_t seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t j = 0; j < kBatch; ++j) {
                seen[j] = i + j < looks ? state(wrapped(begin + i + j)).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t j = 0; j < kBatch; ++j) {
                if ((seen[j] & ~(kCount | kOpen)) != closed(k)) continue;
                if ((seen[j] & kOpen) != 0) certain = false;
                if ((seen[j] & kOpen) != 0 || (seen[j] & kCount) > roomy) continue;
                const std::uint32_t slab = wrapped(begin + i + j);
                if ((seen[j] & kCount) <= part(k, Policy::kSparse)) {
                    sparse = slab;
                    continue;
                }
                const HeadWord w = opened(slab, seen[j], busy, k);
                if (w != kNoSlab) return w;
                certain = false;
            }
        }
        if (sparse == kNowhere) return kNoSlab;
        certain = false;
        const std::uint32_t seen = state(sparse).load_relaxed();
        const bool same = (seen & ~kCount) == closed(k) && (seen & kCount) <= roomy;
        return same ? opened(sparse, seen, busy, k) : kNoSlab;
    }
    HEAPWOOD_INLINE std::uint32_t wrapped(std::uint32_t at) const {
        return at < cell_count_ ? at : at - cell_count_;
    }
    /// Opens a closed slab, if its state is what was seen.
    HEAPWOOD_FN HeadWord opened(std::uint32_t slab, std::uint32_t seen, std::uint32_t busy,
                                SizeClass k) const {
        const std::uint32_t used = seen & kCount;
        Policy::pause();
        // Acquire: its clear bits, and what was done to the pieces before.
        if (!state(slab).cas_acquire(seen, (seen | kOpen) + tickets_for(used, busy, k))) {
            return kNoSlab;
        }
        return with_tickets(slab, used, busy, k);
    }
    /// How many tickets a slab gets when `used` of its pieces are in use: all if none, else so many
    /// that not more than `busy` will be.
    HEAPWOOD_INLINE std::uint32_t tickets_for(std::uint32_t used, std::uint32_t busy,
                                              SizeClass k) const {
        return used == 0 ? capacity_[k.number()] : busy - used;
    }
    /// The head of an open slab to which so many tickets have been given.
    HEAPWOOD_FN HeadWord with_tickets(std::uint32_t slab, std::uint32_t used, std::uint32_t busy,
                                      SizeClass k) const {
        if (used > 0) return make_head(slab, kSearched + capacity_[k.number()] - (busy - used));
        clear_bits(slab, k);
        return make_head(slab, 0);
    }
    /// A slab of new memory. `full` as the list says.
    HEAPWOOD_FN HeadWord fresh(const Context& context, SizeClass k, bool& full) const {
        void* p = pool_.list().allocate_aligned(context, std::size_t{1} << slab_shift_, full);
        if (p == nullptr) return kNoSlab;
        const auto slab = static_cast<std::uint32_t>(
            static_cast<std::uint64_t>(static_cast<char*>(p) - memory_) >> slab_shift_);
        // Relaxed: what the list has passed on goes on to others by the head.
        state(slab).store_relaxed(closed(k) | kOpen | capacity_[k.number()]);
        return make_head(slab, 0);
    }

    /// Closes a slab that the caller has taken off its head.
    HEAPWOOD_FN void close(const Context& context, HeadWord old, SizeClass k) const {
        const std::uint32_t slab = slab_of(old);
        const std::uint32_t left = tickets_left(old, capacity_[k.number()]);
        // Relaxed: whoever searches it has its ticket from one who has acquired the state. Where
        // nothing is in use, nobody will search.
        if (left > 0 && (old & kSearched) == 0 && (state(slab).load_relaxed() & kCount) != left) {
            for (std::uint32_t n = capacity_[k.number()] - left; n < capacity_[k.number()];) {
                const std::uint32_t end = platform::round_up(n + 1, 32U);
                bits(slab, n / 32).set_relaxed(~0U << n % 32 & past_bits(end, k));
                n = end;
            }
        }
        Policy::pause();
        // Release: the bits, to whoever opens it.
        const std::uint32_t now = state(slab).sub_release(kOpen + left) - (kOpen + left);
        if ((now & kCount) == 0) retire(context, slab, now);
    }
    /// The bits below piece `end`'s in the word before it, of pieces that there are.
    HEAPWOOD_INLINE std::uint32_t past_bits(std::uint32_t end, SizeClass k) const {
        const std::uint32_t missing = end > capacity_[k.number()] ? end - capacity_[k.number()] : 0;
        return ~0U >> missing;
    }
    /// Closes the slabs of heads of which no piece is in use. @return whether there was one.
    HEAPWOOD_NOINLINE bool close_idle(Context context) const {
        bool any = false;
        for (std::uint32_t i = 0; i < kClasses * (head_mask_ + 1); ++i) {
            const SizeClass k(i / (head_mask_ + 1));
            const HeadWord w = word(heads_[i]).load_relaxed();
            if (slab_of(w) == kNowhere) continue;
            const std::uint32_t left = tickets_left(w, capacity_[k.number()]);
            if ((state(slab_of(w)).load_relaxed() & kCount) != left) continue;
            Policy::pause();
            const HeadWord old = word(heads_[i]).exchange_acq_rel(kNoSlab);
            if (slab_of(old) == kNowhere) continue;
            close(context, old, k);
            any = true;
        }
        return any;
    }

    /// States that are read at once, for each takes a GPU the better part of a microsecond.
    static constexpr std::uint32_t kBatch = 8;

    Pool pool_;
    char* memory_;
    Head* heads_;
    std::uint32_t* states_;
    std::uint32_t* bitmaps_;
    std::uint32_t* cursors_;
    std::uint32_t capacity_[kClasses];  // pieces of a slab
    std::uint32_t small_;               // bytes
    std::uint32_t head_mask_;
    std::uint32_t cell_count_;
    std::uint32_t slab_shift_;
};

}  // namespace heapwood::allocators::halloc
