/// @file
/// Halloc's slabs in kernels: pieces of one size, a bitmap and a state for each slab. core.cuh has
/// the heads from which requests draw tickets.
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
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/halloc/classes.cuh"
#include "allocators/halloc/words.cuh"
#include "allocators/parts/fallback.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators {
template <class>
class BasicHalloc;
}

namespace heapwood::allocators::halloc {

/// All slabs of a pool.
template <class Policy>
class Slabs {
public:
    using Pool = typename FallbackPool<Policy>::Ref;
    using State = platform::AtomicRef<std::uint32_t>;

    /// The list that slabs are taken from.
    HEAPWOOD_INLINE const Pool& pool() const { return pool_; }
    HEAPWOOD_INLINE std::uint32_t cell_count() const { return cell_count_; }
    /// Pieces of a slab of that class.
    HEAPWOOD_INLINE std::uint32_t capacity(SizeClass k) const { return capacity_[k.number()]; }
    HEAPWOOD_INLINE State state(std::uint32_t slab) const { return State(states_[slab]); }
    HEAPWOOD_INLINE char* piece(std::uint32_t slab, std::uint32_t number, SizeClass k) const {
        return memory_ + (std::uint64_t{slab} << slab_shift_) + number * k.bytes();
    }
    /// So many thousandths of a slab's pieces.
    HEAPWOOD_INLINE std::uint32_t part(SizeClass k, std::uint32_t thousandths) const {
        return capacity_[k.number()] * thousandths / 1000;
    }

    /// The bytes of the piece that begins at p, in a block that is in use; 0: none does.
    HEAPWOOD_INLINE std::uint64_t known_bytes(const void* p) const {
        const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(p) - memory_);
        // A large block may also lie where there is no room for a slab.
        const std::uint64_t slab = offset >> slab_shift_;
        if (slab >= cell_count_) return 0;
        // Relaxed: what is a slab, and of which class, stays so while the block is in use.
        const std::uint32_t seen = state(static_cast<std::uint32_t>(slab)).load_relaxed();
        if ((seen & kSlab) == 0) return 0;
        const SizeClass k((seen & ~(kOpen | kSlab)) >> kClassShift);
        const auto in_slab = static_cast<std::uint32_t>(offset - (slab << slab_shift_));
        return in_slab % k.bytes() == 0 ? k.bytes() : 0;
    }
    /// Sets the bit of a piece that its owner frees. @return its slab
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
    /// Gives more tickets to a slab that the caller has taken off its head, of which `used` pieces
    /// are in use.
    HEAPWOOD_INLINE HeadWord renewed(std::uint32_t slab, std::uint32_t used, std::uint32_t busy,
                                     SizeClass k) const {
        state(slab).add_relaxed(tickets_for(used, busy, k));
        return with_tickets(slab, used, busy, k);
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

private:
    friend class BasicHalloc<Policy>;

    HEAPWOOD_INLINE State bits(std::uint32_t slab, std::uint32_t i) const {
        return State(bitmaps_[std::uint64_t{slab} * bitmap_words(slab_shift_) + i]);
    }
    HEAPWOOD_INLINE static std::uint32_t closed(SizeClass k) {
        return kSlab | k.number() << kClassShift;
    }
    HEAPWOOD_INLINE std::uint32_t words_of(SizeClass k) const {
        return platform::ceil_div(capacity_[k.number()], 32U);
    }
    HEAPWOOD_INLINE std::uint32_t wrapped(std::uint32_t at) const {
        return at < cell_count_ ? at : at - cell_count_;
    }
    /// Returns a closed slab of which nothing is in use; nothing, if another has taken it.
    HEAPWOOD_NOINLINE void retire(Context context, std::uint32_t slab, std::uint32_t seen) const {
        Policy::pause();
        // Acquire: all that was done to the slab, to the list.
        if (!state(slab).cas_acquire(seen, 0)) return;
        clear_bits(slab, SizeClass((seen & ~kSlab) >> kClassShift));
        pool_.list().deallocate(context, piece(slab, 0, SizeClass(0)), 0);
    }
    /// Of an empty slab that is the caller's alone.
    HEAPWOOD_FN void clear_bits(std::uint32_t slab, SizeClass k) const {
        // What a loop has of its own it need not load from the handle after each store.
        std::uint32_t* const first = &bitmaps_[std::uint64_t{slab} * bitmap_words(slab_shift_)];
        const std::uint32_t words = words_of(k);
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t i = 0; i < words; ++i) State(first[i]).store_relaxed(0);
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
    /// The bits below piece `end`'s in the word before it, of pieces that there are.
    HEAPWOOD_INLINE std::uint32_t past_bits(std::uint32_t end, SizeClass k) const {
        const std::uint32_t missing = end > capacity_[k.number()] ? end - capacity_[k.number()] : 0;
        return ~0U >> missing;
    }

    /// States that are read at once, for each takes a GPU the better part of a microsecond.
    static constexpr std::uint32_t kBatch = 8;

    Pool pool_;
    char* memory_;
    std::uint32_t* states_;
    std::uint32_t* bitmaps_;
    std::uint32_t capacity_[kClasses];  // pieces of a slab
    std::uint32_t cell_count_;
    std::uint32_t slab_shift_;
};

}  // namespace heapwood::allocators::halloc
