/// @file
/// The part of ScatterAlloc that runs in kernels: chunks of one size in bit fields.
///
/// **Structure.** The pool is a circular list (circular/ring.cuh) whose granule is a page. A
/// request of at most half a page gets a chunk, the next power of two; a larger one gets a run of
/// pages from the list. Chunks lie in fields: a field is up to 32 chunks of one size, beside one
/// another. Where 32 chunks fill a page or more, a field is a page from the list; of smaller chunks
/// it is a chunk of a page itself, one 32 times as large: so a page has two levels of bit fields,
/// and up to 32 x 32 chunks. Each field has a word in a table beside the pool: a bit for every
/// chunk, the chunks' size, and whether the field is held.
///
/// **Which field.** A caller's number chooses its home, and home and chunk size a slot, which holds
/// an open field. A request takes a chunk there. If it has none left, the request looks at the
/// region of the field, 16 fields that have their words beside one another, then opens a new field,
/// and leaves it in the slot; if there is no memory for one, it looks at more regions, which a hash
/// chooses.
///
/// **Enter, then touch.** A request takes a chunk by setting its bit, whatever the field may have
/// become since the request learned of it, and learns by the same step what it is. Then:
/// - A set bit has one owner, the thread that changed it from 0, which alone clears it.
/// - A word says {closed, size} only in a step that finds neither bits nor hold. So if it said the
///   right size when the bit was set, the field is open with that size until the bit is cleared:
///   the chunk is the request's. If not, the request clears the bit and has touched nothing.
/// - Opening a field leaves other bits as they are: they belong to requests that came too late for
///   what was there before, and will be cleared. So does everybody else.
/// - Whoever clears the last bit, or takes back the hold, of an open field closes it, by a
///   compare-and-swap of the whole word: if that fails, somebody has entered meanwhile, and will
///   clear a bit in turn, or has closed it. So exactly one thread closes a field, and owns its
///   memory; it clears a bit of the page, or returns the page to the list.
/// - A slot's field is held. A slot changes by compare-and-swap, or by a store of the one request
///   that has marked it as being refilled; whoever changes it takes back the hold of what was
///   there.
///
/// **Memory order.** Clearing a bit is a release, setting one an acquire, and all changes of a word
/// but the first are read-modify-writes, so that who sets a bit, and who closes the field, has
/// acquired what all did who have cleared bits before. Opening releases what the opener acquired
/// with the memory. Slots are relaxed: what they say of a field, its word confirms.
///
/// **Progress.** Nobody waits for another. Requests that find a slot being refilled look again,
/// kMostWaits times, and then open a field of their own. All searches are bounded. If the list has
/// no page left, slots whose fields are not in use are emptied, and it is asked again; until
/// something has been returned to it, requests for chunks do not ask it again, for its search of a
/// full pool is long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/parts/apart.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators {

template <class Policy>
class BasicScatterAlloc;

namespace scatter {

/// Log2 of the chunks that a bit field has room for (published: 32, and two levels of them).
inline constexpr std::uint32_t kFieldShift = 5;
/// Log2 of the smallest chunk's bytes; the size of a chunk is named by its log2.
inline constexpr std::uint32_t kSmallestChunk = 4;
/// Log2 of the smallest field's bytes.
inline constexpr std::uint32_t kSmallestField = kSmallestChunk + kFieldShift;
/// Fields that are looked at together (published: pages of a region). Their words fill one line of
/// an L2 cache.
inline constexpr std::uint32_t kRegion = 16;
/// The published hash of a request: of its size, the multiprocessor and the warp.
inline constexpr std::uint32_t kHashSize = 38183;
inline constexpr std::uint32_t kHashMultiprocessor = 17497;

/// How many regions a request looks at before it gives up.
inline constexpr std::uint32_t kMostRegions = 16;
/// How many bits of a field it tries to set while others are quicker.
inline constexpr std::uint32_t kMostTries = 32;
/// How often it looks whether a slot that another refills has been refilled: on a GPU, 8 us.
inline constexpr std::uint32_t kMostWaits = 12;
/// How many slots it looks at for a field that is not in use.
inline constexpr std::uint32_t kMostLooks = 1024;

/// The word of a field: a bit for every chunk, the hold, and the size of its chunks (0: closed).
using Word = std::uint64_t;
inline constexpr Word kHeld = Word{1} << 32;
inline constexpr std::uint32_t kSizeShift = 33;

HEAPWOOD_INLINE constexpr Word open_word(std::uint32_t size) {
    return Word{size} << kSizeShift;
}
HEAPWOOD_INLINE constexpr std::uint32_t size_of(Word w) {
    return static_cast<std::uint32_t>(w >> kSizeShift);
}
HEAPWOOD_INLINE constexpr std::uint32_t bits_of(Word w) {
    return static_cast<std::uint32_t>(w);
}
HEAPWOOD_INLINE constexpr bool is_unused(Word w) {
    return w << (64 - kSizeShift) == 0;
}

/// Where the fields of a pool lie, and their words.
struct Layout {
    std::uint32_t pages;
    std::uint32_t page_shift;  ///< log2 of a page's bytes

    /// Log2 of the bytes of a field of such chunks.
    HEAPWOOD_INLINE std::uint32_t field_shift(std::uint32_t size) const {
        const std::uint32_t shift = size + kFieldShift;
        return shift < page_shift ? shift : page_shift;
    }
    /// Whether a field of such chunks is a whole page.
    HEAPWOOD_INLINE bool is_page(std::uint32_t size) const {
        return size + kFieldShift >= page_shift;
    }
    /// A bit for each chunk of a field.
    HEAPWOOD_INLINE std::uint32_t chunks(std::uint32_t size) const {
        return ~0U >> (32 - (1U << (field_shift(size) - size)));
    }
    /// How many fields of such chunks there could be in the pool; each is known by its number.
    HEAPWOOD_INLINE std::uint32_t fields(std::uint32_t size) const {
        return pages << (page_shift - field_shift(size));
    }
    /// Index of a field's word: those of pages come first, the others behind them.
    HEAPWOOD_INLINE std::uint32_t word(std::uint32_t size, std::uint32_t field) const {
        return is_page(size) ? field : pages + (field << (size - kSmallestChunk));
    }
    /// The field to which a word belongs, if its chunks are of that size.
    HEAPWOOD_INLINE std::uint32_t field(std::uint32_t size, std::uint32_t word) const {
        return is_page(size) ? word : (word - pages) >> (size - kSmallestChunk);
    }
    HEAPWOOD_INLINE std::uint64_t offset(std::uint32_t size, std::uint32_t field) const {
        return std::uint64_t{field} << field_shift(size);
    }
    std::uint64_t words() const {
        return pages + (std::uint64_t{pages} << (page_shift - kSmallestField));
    }
};

/// A chunk, as a bit of a word.
struct Place {
    std::uint32_t word;
    Word bit;
};

/// The chunk of that size at a byte of the pool.
HEAPWOOD_INLINE Place place_of(const Layout& layout, std::uint64_t offset, std::uint32_t size) {
    const std::uint32_t shift = layout.field_shift(size);
    const auto chunk = static_cast<std::uint32_t>(offset >> size) & ((1U << (shift - size)) - 1);
    return {layout.word(size, static_cast<std::uint32_t>(offset >> shift)), Word{1} << chunk};
}

/// What all callers share; each word by itself in the L2 cache.
struct State {
    alignas(32) std::uint32_t returned;  ///< how often the list got something back
    alignas(32) std::uint32_t full;      ///< `returned` + 1, when it had no page; 0: never yet
    alignas(32) std::uint32_t cursor;    ///< where the next one looks for slots to be emptied
};

/// Log2 of the slots of a home: one for every size up to 8192, by its log2.
inline constexpr std::uint32_t kHomeShift = 4;

/// The handle that kernels use. Policy::pause() is called between any two steps that others may
/// come between, and does something in tests only. ListPolicy: see circular/policy.cuh.
template <class Policy, class ListPolicy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < largest_chunk_) {  // not 0
            const std::uint32_t size = size_for(bytes);
            const std::uint32_t open = slot(context, size).load_relaxed() & ~kBusy;
            if (open != 0) {
                if (void* p = enter(context, size, open - 1)) return p;
            }
        }
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes <= largest_chunk_) {
            Policy::pause();
            const Place at = place_of(layout_, offset_of(p), size_for(bytes));
            if (!leave(at.word, at.bit)) return;
        }
        deallocate_slowly(context, p, bytes);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return bytes > largest_chunk_ ? list_.granted_bytes(p, bytes)
                                      : std::uint64_t{1} << size_for(bytes);
    }

private:
    template <class>
    friend class allocators::BasicScatterAlloc;

    /// Set in a slot while one request refills it. Below it: the number of the open field, plus 1.
    static constexpr std::uint32_t kBusy = 1U << 31;

    /// Log2 of the chunk for so many bytes, which are few.
    HEAPWOOD_INLINE static std::uint32_t size_for(std::size_t bytes) {
        constexpr std::uint32_t kLeast = (1U << kSmallestChunk) - 1;
        return platform::floor_log2((static_cast<std::uint32_t>(bytes) - 1) | kLeast) + 1;
    }
    HEAPWOOD_INLINE platform::AtomicRef<Word> word(std::uint32_t i) const {
        return platform::AtomicRef<Word>(words_[i]);
    }
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> slot(const Context& context,
                                                            std::uint32_t size) const {
        return platform::AtomicRef<std::uint32_t>(
            slots_[((context.warp & home_mask_) << kHomeShift) + size]);
    }
    HEAPWOOD_INLINE std::uint64_t offset_of(const void* p) const {
        return static_cast<std::uint64_t>(static_cast<const char*>(p) - pool_);
    }
    /// Where a caller begins to look in a field: lanes that call together in different places, a
    /// lane that calls again mostly in another one.
    HEAPWOOD_INLINE static std::uint32_t beginning(const Context& context) {
#if defined(__CUDA_ARCH__)
        (void)context;
        return platform::DeviceWarp().lane() + static_cast<std::uint32_t>(clock());
#else
        return context.warp;
#endif
    }
    /// A one bit of `free`, which has some: the highest, if one turns it so that `begin` is.
    HEAPWOOD_INLINE static std::uint32_t pick(std::uint32_t free, std::uint32_t begin) {
        const std::uint32_t turned = free << (begin & 31) | free >> (-begin & 31);
        return (platform::floor_log2(turned) - begin) & 31;
    }

    /// Clears a bit, or takes back the hold, of a field. @return whether it was the last one, so
    /// that the caller must see to the field: abandon().
    HEAPWOOD_INLINE bool leave(std::uint32_t at, Word bit) const {
        // Release: whatever was done to the chunk, to its next owner and to whoever closes.
        return is_unused(word(at).and_release(~bit) & ~bit);
    }

    /// Takes a chunk of a field, if it is one of that size and has one left. What is tried first is
    /// some bit: unless the field is rather full, it is free.
    HEAPWOOD_INLINE char* enter(const Context& context, std::uint32_t size,
                                std::uint32_t field) const {
        Policy::pause();
        const std::uint32_t chunk =
            beginning(context) & ((1U << (layout_.field_shift(size) - size)) - 1);
        const Word bit = Word{1} << chunk;
        // Acquire: whatever was done to the chunk before.
        const Word found = word(layout_.word(size, field)).or_acquire(bit);
        if ((found & bit) == 0 && size_of(found) == size) return address(size, field, chunk);
        return enter_again(context, size, field, chunk, found);
    }
    HEAPWOOD_INLINE char* address(std::uint32_t size, std::uint32_t field,
                                  std::uint32_t chunk) const {
        return pool_ + layout_.offset(size, field) + (std::uint64_t{chunk} << size);
    }

    // What is rare is out of line, so that it costs callers no registers and few instructions, and
    // takes contexts by value, so that theirs need not lie in memory.

    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        if (bytes - 1 < largest_chunk_) {
            const std::uint32_t size = size_for(bytes);
            return layout_.is_page(size) ? find_in_page(context, size)
                                         : find_in_chunk(context, size);
        }
        if (bytes == 0 || bytes > std::uint64_t{layout_.pages} << layout_.page_shift) {
            return nullptr;
        }
        void* p = list_.allocate(apart(context), bytes);
        return p == nullptr && empty_slots(context, ~0U) ? list_.allocate(context, bytes) : p;
    }
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > largest_chunk_) {
            to_list(context, p);
        } else {
            abandon(context, place_of(layout_, offset_of(p), size_for(bytes)).word, true);
        }
    }
    /// Goes on where the word, when the bit of `chunk` was set, was `found`.
    HEAPWOOD_NOINLINE char* enter_again(Context context, std::uint32_t size, std::uint32_t field,
                                        std::uint32_t chunk, Word found) const {
        const std::uint32_t at = layout_.word(size, field);
        const std::uint32_t begin = chunk;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t tries = 0; (found >> chunk & 1) != 0; ++tries) {
            const std::uint32_t free = layout_.chunks(size) & ~bits_of(found);
            if (size_of(found) != size || free == 0 || tries == kMostTries) return nullptr;
            chunk = pick(free, begin);
            Policy::pause();
            found = word(at).or_acquire(Word{1} << chunk);
        }
        if (size_of(found) == size) return address(size, field, chunk);
        Policy::pause();
        if (leave(at, Word{1} << chunk)) abandon(context, at, false);
        return nullptr;
    }
    HEAPWOOD_NOINLINE char* enter_slowly(Context context, std::uint32_t size,
                                         std::uint32_t field) const {
        return enter(context, size, field);
    }

    /// A chunk of a field that is a page.
    HEAPWOOD_NOINLINE char* find_in_page(Context context, std::uint32_t size) const {
        return find(context, size, [&] { return page(context); });
    }
    /// A chunk of a field that is itself a chunk.
    HEAPWOOD_NOINLINE char* find_in_chunk(Context context, std::uint32_t size) const {
        return find(context, size, [&] { return find_in_page(context, size + kFieldShift); });
    }
    /// A chunk from wherever there is one. `memory`: makes memory for a field.
    template <class Memory>
    HEAPWOOD_INLINE char* find(const Context& context, std::uint32_t size, Memory memory) const {
        const platform::AtomicRef<std::uint32_t> own = slot(context, size);
        std::uint32_t open = own.load_relaxed();
        bool refills = false;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t wait = 0; !refills && wait < kMostWaits; ++wait) {
            if ((open & ~kBusy) != 0) {
                if (char* p = enter_slowly(context, size, (open & ~kBusy) - 1)) return p;
            }
            Policy::pause();
            if ((open & kBusy) == 0) {
                refills = own.cas_relaxed(open, open | kBusy);
            } else {
                platform::back_off(wait);
                open = own.load_relaxed();
            }
        }
        std::uint32_t next = open;
        char* chunk = nullptr;
        if (refills && open != 0) {
            // What was left behind when it was full may have got room since.
            const Found found = look_around(context, size, open - 1, false);
            chunk = found.chunk;
            if (chunk != nullptr && hold(size, found.field)) next = found.field + 1;
        }
        if (chunk == nullptr) {
            if (char* p = memory()) {
                const auto field =
                    static_cast<std::uint32_t>(offset_of(p) >> layout_.field_shift(size));
                Policy::pause();
                // Release: what was acquired with the memory.
                word(layout_.word(size, field)).or_acq_rel(open_word(size) | kHeld);
                chunk = enter_slowly(context, size, field);
                if (refills) {
                    next = field + 1;
                } else {
                    drop(context, size, field);
                }
            }
        }
        Policy::pause();
        if (refills) {
            own.store_relaxed(next);
            if (next != open && open != 0) drop(context, size, open - 1);
        }
        return chunk != nullptr ? chunk : find_anywhere(context, size);
    }

    /// Makes a field held. @return false if it was already. The caller has a chunk of it.
    HEAPWOOD_INLINE bool hold(std::uint32_t size, std::uint32_t field) const {
        return (word(layout_.word(size, field)).or_acquire(kHeld) & kHeld) == 0;
    }
    /// Takes back the hold.
    HEAPWOOD_INLINE void drop(const Context& context, std::uint32_t size,
                              std::uint32_t field) const {
        const std::uint32_t at = layout_.word(size, field);
        Policy::pause();
        if (leave(at, kHeld)) abandon(context, at, false);
    }

    struct Found {
        char* chunk;
        std::uint32_t field;
    };
    /// A chunk of one of the fields of a region, if some `field` is in, has one left; of a held one
    /// only if asked.
    HEAPWOOD_NOINLINE Found look_around(Context context, std::uint32_t size, std::uint32_t field,
                                        bool held) const {
        const std::uint32_t first = field & ~(kRegion - 1);
        const std::uint32_t end = layout_.fields(size);
        const std::uint32_t chunks = layout_.chunks(size);
        std::uint32_t candidates = 0;
        // All loads at once.
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t i = 0; i < kRegion; ++i) {
            if (first + i >= end) continue;
            const Word w = word(layout_.word(size, first + i)).load_relaxed();
            const bool suits =
                size_of(w) == size && (chunks & ~bits_of(w)) != 0 && (held || (w & kHeld) == 0);
            candidates |= suits ? 1U << i : 0;
        }
        while (candidates != 0) {
            const std::uint32_t i = platform::floor_log2(candidates);
            if (char* p = enter_slowly(context, size, first + i)) return {p, first + i};
            candidates ^= 1U << i;
        }
        return {nullptr, 0};
    }
    /// A chunk of any field, as a last resort: of regions that follow one another from where the
    /// hash says.
    HEAPWOOD_NOINLINE char* find_anywhere(Context context, std::uint32_t size) const {
        const std::uint32_t factor = 1 + ((32U << size) >> layout_.page_shift);
        const std::uint32_t hash = (kHashSize << size) +
                                   kHashMultiprocessor * context.multiprocessor +
                                   factor * context.warp;
        const std::uint32_t regions = platform::ceil_div(layout_.fields(size), kRegion);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < kMostRegions && i < regions; ++i) {
            const Found found = look_around(context, size, (hash + i) % regions * kRegion, true);
            if (found.chunk != nullptr) return found.chunk;
        }
        return nullptr;
    }

    /// Sees to a field that had neither users nor a hold a moment ago, and to the one that its
    /// memory is a chunk of. `keep`: an empty slot of the caller's, or one with a full field, may
    /// have it.
    HEAPWOOD_NOINLINE void abandon(Context context, std::uint32_t at, bool keep) const {
        for (;;) {
            Policy::pause();
            Word seen = word(at).load_relaxed();
            const std::uint32_t size = size_of(seen);
            // Somebody uses it, and will see to it in turn; or somebody has closed it.
            if (!is_unused(seen) || size == 0) return;
            const std::uint32_t field = layout_.field(size, at);
            if (keep) {
                keep = false;
                const platform::AtomicRef<std::uint32_t> own = slot(context, size);
                std::uint32_t open = own.load_relaxed();
                if (is_exhausted(size, open)) {
                    Policy::pause();
                    if (!word(at).cas_relaxed(seen, seen | kHeld)) return;
                    Policy::pause();
                    // One of the two is in the slot now, and the other one is not.
                    if (own.cas_relaxed(open, field + 1)) {
                        if (open == 0) return;
                        at = layout_.word(size, open - 1);
                    }
                    if (!leave(at, kHeld)) return;
                    continue;
                }
            }
            Policy::pause();
            // Acquire: what all did who used it, for whoever has the memory next.
            if (!word(at).cas_acquire(seen, 0)) return;
            const std::uint64_t offset = layout_.offset(size, field);
            if (layout_.is_page(size)) return to_list(context, pool_ + offset);
            const Place parent = place_of(layout_, offset, size + kFieldShift);
            Policy::pause();
            if (!leave(parent.word, parent.bit)) return;
            at = parent.word;
        }
    }
    /// Whether a slot of that content has no chunk to give.
    HEAPWOOD_INLINE bool is_exhausted(std::uint32_t size, std::uint32_t open) const {
        if (open == 0 || (open & kBusy) != 0) return open == 0;
        const Word w = word(layout_.word(size, open - 1)).load_relaxed();
        return (layout_.chunks(size) & ~bits_of(w)) == 0;
    }

    /// Memory for a field: a page of the list, or nullptr.
    HEAPWOOD_NOINLINE char* page(Context context) const {
        const platform::AtomicRef full(state_->full);
        HEAPWOOD_UNROLL(1)
        for (bool again = false;; again = true) {
            // Acquire, and release in to_list(): the search sees what was returned before.
            const std::uint32_t returned = platform::AtomicRef(state_->returned).load_acquire();
            if (full.load_relaxed() != returned + 1) {
                bool certainly;
                const std::size_t bytes = std::size_t{1} << layout_.page_shift;
                void* p = list_.allocate(context, bytes, certainly);
                if (p != nullptr) return static_cast<char*>(p);
                if (certainly) full.store_relaxed(returned + 1);
            }
            if (again || !empty_slots(context, kMostLooks)) return nullptr;
        }
    }
    HEAPWOOD_NOINLINE void to_list(Context context, void* p) const {
        list_.deallocate(context, p, 0);
        platform::AtomicRef(state_->returned).add_release(1);
    }

    /// Empties slots whose fields are not in use; looks at so many at most, each call at others.
    /// @return whether there was one.
    HEAPWOOD_NOINLINE bool empty_slots(Context context, std::uint32_t most) const {
        const std::uint32_t slots = (home_mask_ + 1) * (layout_.page_shift - kSmallestChunk);
        std::uint32_t i = 0;
        if (most >= slots) {
            most = slots;
        } else {
            i = platform::AtomicRef(state_->cursor).add_relaxed(most) % slots;
        }
        bool any = false;
        HEAPWOOD_UNROLL(1)
        for (; most > 0; --most) {
            // Small chunks first: their fields are chunks of others.
            const std::uint32_t size = kSmallestChunk + (i >> platform::popcount(home_mask_));
            const platform::AtomicRef<std::uint32_t> it(
                slots_[((i & home_mask_) << kHomeShift) + size]);
            i = i + 1 == slots ? 0 : i + 1;
            std::uint32_t open = it.load_relaxed();
            if (open == 0 || (open & kBusy) != 0 ||
                bits_of(word(layout_.word(size, open - 1)).load_relaxed()) != 0 ||
                !it.cas_relaxed(open, 0)) {
                continue;
            }
            drop(context, size, open - 1);
            any = true;
        }
        return any;
    }

    circular::Core<ListPolicy> list_;
    char* pool_;
    Word* words_;
    std::uint32_t* slots_;
    State* state_;
    Layout layout_;
    std::uint32_t home_mask_;
    std::uint64_t largest_chunk_;
};

}  // namespace scatter

}  // namespace heapwood::allocators
