/// @file
/// FlatterScatter's pages in kernels: a word in the page table for each, and a bit for each chunk.
///
/// **Enter, then touch.** A request enters a page: it adds 1 to the count in the page's word, and
/// the answer tells what the page is. Only if it has chunks of the right size, and fewer than all
/// are counted, the request may touch its bits; otherwise it leaves. Whatever enters leaves, so the
/// count is never below the number of those that use the page.
/// - The kind of a page changes only by a compare-and-swap of the whole word, from a count of 0. So
///   as long as anybody is counted, the page stays what it is, and a request that comes too late
///   for what the page was holds it for a moment, and touches nothing.
/// - A page of count 0 has all its bits clear: bits are set by those that have entered, one each,
///   and cleared before these leave. So there is nothing to wipe, nor to lock, when the last user
///   leaves: the page is idle by that same step, and the next request of any size may claim it.
///   If the word is {kind, 0} when it is replaced, nobody uses the page now: there is no ABA.
/// - At most as many requests as there are chunks have entered with room. So there is a clear bit
///   for each; but others may be quicker. The bit whose number is the count is tried first, which
///   is clear in a page of which nothing has been freed.
///
/// **News.** A thread that makes a page idle counts that in the page's access block afterwards; and
/// so does one that gives room to a full page, for the size of its chunks. A search that has found
/// nothing writes down what the counts were when it began. As long as they are that, no other need
/// search the block for that size. A request that hid room from the search, because it has entered
/// in vain, brings news when it leaves.
///
/// **Memory order.** What was done to a chunk reaches its next owner
/// - by its bit, if the page has not been idle since: cleared with a release, set with an acquire;
/// - by the page's word otherwise: leaving is a release, entering and claiming are acquires, and
///   all changes of it are read-modify-writes.
/// News are releases, and reading them is an acquire: a search that begins sees all the room that
/// they tell of.
/// Where one lane acts for others, a sync of the group passes on to them what it has acquired, and
/// to it what they have done before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/flatter/words.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"

namespace heapwood::allocators::flatter {

/// All pages of a pool, of which this is a handle. Policy::pause() is called between any two steps
/// that other threads may come between, and does something in tests only.
template <class Policy>
class Pages {
public:
    using Word = platform::AtomicRef<std::uint32_t>;
    using Count = platform::AtomicRef<std::uint64_t>;

    Pages() = default;
    /// `bits`: 2^(page_shift - kWordShift) words for each page.
    Pages(char* pool, std::uint32_t* table, std::uint32_t* bits, Block* blocks, State* state,
          std::uint32_t count, std::uint32_t page_shift)
        : pool_(pool),
          table_(table),
          bits_(bits),
          blocks_(blocks),
          state_(state),
          count_(count),
          page_shift_(page_shift) {}

    HEAPWOOD_INLINE std::uint32_t count() const { return count_; }
    HEAPWOOD_INLINE std::uint32_t page_shift() const { return page_shift_; }
    HEAPWOOD_INLINE std::uint32_t blocks() const {
        return platform::ceil_div(count_, 1U << Policy::kBlockShift);
    }
    HEAPWOOD_INLINE State& state() const { return *state_; }
    HEAPWOOD_INLINE Word word(std::uint32_t page) const { return Word(table_[page]); }
    HEAPWOOD_INLINE char* address(std::uint32_t page) const {
        return pool_ + (std::uint64_t{page} << page_shift_);
    }
    /// Bytes from the pool's start.
    HEAPWOOD_INLINE std::uint64_t offset_of(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_);
    }
    /// Chunks of a page.
    HEAPWOOD_INLINE std::uint32_t capacity(std::uint32_t size) const {
        return 1U << (page_shift_ - size);
    }
    /// What a page of that word has left for requests of a size.
    HEAPWOOD_INLINE std::uint32_t room_in(std::uint32_t word, std::uint32_t size) const {
        const std::uint32_t all = capacity(size);
        const std::uint32_t used = word & kCount;
        return kind_in(word) == size && used < all ? all - used : 0;
    }

    /// Whether a page of that word has no chunk left; one of a run never has.
    HEAPWOOD_INLINE bool is_full(std::uint32_t word) const {
        return std::uint64_t{word & kCount} << kind_in(word) >> page_shift_ != 0;
    }

    // ---------------------------------------------------------------- entering and leaving

    /// Enters a page n times, or as often as it has room. Of n lanes for which one has done so,
    /// those have entered whose number, plus the count, is below the capacity.
    HEAPWOOD_INLINE Entry enter(std::uint32_t page, std::uint32_t size, std::uint32_t n) const {
        Policy::pause();
        // Acquire: what was done to the page when it was of another size.
        const std::uint32_t before = word(page).add_acquire(n);
        const std::uint32_t room = room_in(before, size);
        if (room < n) leave(page, n - room);
        return room == 0 ? kNoEntry : make_entry(page, before);
    }
    /// Enters a page of the right size, or claims an idle one, as it was `seen`.
    HEAPWOOD_FN Entry enter_or_claim(std::uint32_t page, std::uint32_t seen, std::uint32_t size,
                                     std::uint32_t n) const {
        if (kind_in(seen) != size) {
            const std::uint32_t entered = n < capacity(size) ? n : capacity(size);
            Policy::pause();
            if (is_idle(seen) && claim(page, seen, size, entered)) return make_entry(page, 0);
            // Another may have claimed it for the same size.
            if (kind_in(seen) != size) return kNoEntry;
        }
        return enter(page, size, n);
    }
    /// Makes an idle page one of that kind, with that count. @return false: it is not as `seen`,
    /// which is then what it is.
    HEAPWOOD_INLINE bool claim(std::uint32_t page, std::uint32_t& seen, std::uint32_t kind,
                               std::uint32_t count) const {
        // Acquire: all that was done to the page.
        return word(page).cas_acquire(seen, kind << kKindShift | count);
    }
    /// Leaves a page n times. @return whether it was full before, and is not now.
    HEAPWOOD_INLINE bool leave(std::uint32_t page, std::uint32_t n) const {
        Policy::pause();
        // Release: bits that were cleared, and all that went before, to whoever claims the page.
        const std::uint32_t before = word(page).sub_release(n);
        return (is_idle(before - n) || is_full(before)) && report(page, before, before - n);
    }

    // ---------------------------------------------------------------- chunks

    /// The chunk of that number, if its bit was clear; the caller has entered.
    HEAPWOOD_INLINE void* take(std::uint32_t page, std::uint32_t number, std::uint32_t size) const {
        Policy::pause();
        // Acquire: what was done to the chunk before its bit was cleared.
        const std::uint32_t old = bits(page, number / 32).or_acquire(1U << number % 32);
        return (old >> number % 32 & 1U) == 0 ? chunk(page, number, size) : nullptr;
    }
    /// A chunk for a caller that has entered. If others are quicker all the time, the caller
    /// leaves. @return or nullptr
    HEAPWOOD_NOINLINE void* search(Context context, Entry entry, std::uint32_t size) const {
        const std::uint32_t page = page_of(entry);
        const std::uint32_t all = capacity(size);
        const std::uint32_t words = platform::ceil_div(all, 32U);
        const std::uint32_t mask = all < 32 ? (1U << all) - 1 : ~0U;
        // Callers begin in different words, and at different bits of a word.
        const std::uint32_t hash = (count_of(entry) ^ context.warp << 5) * 0x9e3779b1U;
        std::uint32_t at = hash >> 16 & (words - 1);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < Policy::kTries + 2 * words; ++i) {
            const std::uint32_t clear = ~bits(page, at).load_relaxed() & mask;
            if (clear != 0) {
                const std::uint32_t number = at * 32 + pick(clear, hash >> 27);
                if (void* p = take(page, number, size)) return p;
            } else {
                at = (at + 1) & (words - 1);
            }
        }
        leave(page, 1);
        return nullptr;
    }
    /// Clears the bit of a chunk that its owner frees, and has to leave. @return its page
    HEAPWOOD_INLINE std::uint32_t clear(const void* p, std::uint32_t size) const {
        const std::uint64_t offset = offset_of(p);
        const auto page = static_cast<std::uint32_t>(offset >> page_shift_);
        const std::uint32_t number =
            (static_cast<std::uint32_t>(offset) & ((1U << page_shift_) - 1)) >> size;
        Policy::pause();
        // Release: what was done to the chunk, to the request that sets its bit.
        bits(page, number / 32).and_release(~(1U << number % 32));
        return page;
    }

    // ---------------------------------------------------------------- news

    /// How often pages of an access block have become idle, or got room for a size. Acquire: a
    /// search that begins now sees it.
    HEAPWOOD_INLINE std::uint64_t news(std::uint32_t block, std::uint32_t size) const {
        return idled(block) + Count(blocks_[block].made[size - kSmallestChunk]).load_acquire();
    }
    HEAPWOOD_INLINE std::uint64_t idled(std::uint32_t block) const {
        return Count(blocks_[block].idled).load_acquire();
    }
    /// news() + 1 when a search of the block for that size was in vain; 0: never yet.
    HEAPWOOD_INLINE Count none(std::uint32_t block, std::uint32_t size) const {
        return Count(blocks_[block].none[size - kSmallestChunk]);
    }

private:
    HEAPWOOD_INLINE Word bits(std::uint32_t page, std::uint32_t i) const {
        return Word(bits_[(std::uint64_t{page} << (page_shift_ - kWordShift)) + i]);
    }
    HEAPWOOD_INLINE char* chunk(std::uint32_t page, std::uint32_t number,
                                std::uint32_t size) const {
        return address(page) + (std::uint64_t{number} << size);
    }
    /// A one bit of `set`, which has some: the first from bit `begin` on, circularly.
    HEAPWOOD_INLINE static std::uint32_t pick(std::uint32_t set, std::uint32_t begin) {
        const std::uint32_t turned = set >> begin | set << (-begin & 31);
        return (platform::lowest_bit(turned) + begin) & 31;
    }
    /// Brings the news of a page whose word has changed, if there is any. @return whether the page
    /// was full, and has room now.
    HEAPWOOD_NOINLINE bool report(std::uint32_t page, std::uint32_t before,
                                  std::uint32_t now) const {
        const bool has_room = is_full(before) && !is_full(now);
        if (!is_idle(now) && !has_room) return false;
        Block& block = blocks_[page >> Policy::kBlockShift];
        Policy::pause();
        // Release: the page's word, to requests that search.
        Count(is_idle(now) ? block.idled : block.made[kind_in(now) - kSmallestChunk])
            .add_release(1);
        return has_room;
    }

    char* pool_;
    std::uint32_t* table_;
    std::uint32_t* bits_;
    Block* blocks_;
    State* state_;
    std::uint32_t count_;
    std::uint32_t page_shift_;
};

}  // namespace heapwood::allocators::flatter
