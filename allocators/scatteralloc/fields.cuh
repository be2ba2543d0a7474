/// @file
/// The life of ScatterAlloc's fields: they get memory, are held in slots, and give it back.
///
/// **Slots.** A caller's number chooses its home, and home and chunk size a slot, which holds an
/// open field: the next request of that size begins there.
///
/// **Open and closed.** The word of a field (layout.cuh) says {closed, size} only in a step that
/// finds neither bits nor hold.
/// - A set bit has one owner, the thread that changed it from 0, which alone clears it.
/// - Opening a field leaves other bits as they are. They belong to requests that came too late for
///   what was there before, and will be cleared. All other steps leave them as they are as well.
/// - The thread that clears the last bit, or takes back the hold, of an open field closes it, by a
///   compare-and-swap of the whole word. If that fails, another thread has entered meanwhile, and
///   will clear a bit in turn, or has closed it. So exactly one thread closes a field, and owns its
///   memory: it clears a bit of the page, or returns the page to the list.
/// - A slot's field is held. A slot changes by compare-and-swap, or by a store of the one request
///   that has marked it as being refilled. The thread that changes it takes back the hold of what
///   was there.
///
/// **Memory order.** Clearing a bit is a release, setting one an acquire, and all changes of a word
/// but the first are read-modify-writes. So a thread that sets a bit, or closes the field, has
/// acquired what all threads did that have cleared bits before. Opening releases what the opener
/// acquired with the memory. Slots are relaxed: what they say of a field, its word confirms.
///
/// **Room.** A thread that gives room to a full field of a size, or opens a field, counts that
/// afterwards. So a search of all fields of the size that found no room need not be repeated until
/// the count has changed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/scatteralloc/layout.cuh"

namespace heapwood::allocators::scatter {

/// How many slots a request looks at for a field that is not in use.
inline constexpr std::uint32_t kMostLooks = 1024;

/// Log2 of the slots of a home: one for every size up to 8192, by its log2.
inline constexpr std::uint32_t kHomeShift = 4;

/// What is known of the room in all fields of one size. No count wraps: 64 bits last for centuries.
struct alignas(32) Room {
    std::uint64_t made;   ///< how often a full field got room, or a field was opened
    std::uint64_t none;   ///< `made` + 1, before a search of all fields that found none; 0: never
    std::uint32_t field;  ///< a field that has got room: where the next search begins
};

/// What all callers share; each word by itself in the L2 cache.
struct State {
    alignas(32) std::uint64_t returned;  ///< how often the list got something back
    alignas(32) std::uint64_t full;      ///< `returned` + 1, when it had no page; 0: never yet
    alignas(32) std::uint32_t cursor;    ///< where the next request looks for slots to be emptied
    Room rooms[1U << kHomeShift];        ///< of each size, by its log2
};

/// Set in a slot while one request refills it. Below it: the number of the open field, plus 1.
inline constexpr std::uint32_t kBusy = 1U << 31;

/// The fields, as kernels see them, on top of the list of pages. Owns the fields' words and the
/// slots. Policy::pause() is called between any two steps that other threads may come between, and
/// does something in tests only. ListPolicy: see circular/policy.cuh.
template <class Policy, class ListPolicy>
class Fields {
public:
    using List = circular::Core<ListPolicy>;

    Fields() = default;
    /// `homes`: a power of two; of the slots, 1 << kHomeShift each.
    Fields(const List& list, const Layout& layout, Word* words, std::uint32_t* slots, State* state,
           std::uint32_t homes)
        : list_(list),
          pool_(list.address(0)),
          words_(words),
          slots_(slots),
          state_(state),
          layout_(layout),
          home_mask_(homes - 1) {}

    HEAPWOOD_INLINE const List& list() const { return list_; }
    HEAPWOOD_INLINE const Layout& layout() const { return layout_; }
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
    HEAPWOOD_INLINE char* address(std::uint32_t size, std::uint32_t field,
                                  std::uint32_t chunk) const {
        return pool_ + layout_.offset(size, field) + (std::uint64_t{chunk} << size);
    }

    /// Makes own memory a field of such chunks, which the caller holds. @return its number.
    HEAPWOOD_INLINE std::uint32_t open(std::uint32_t size, const char* p) const {
        const auto field = static_cast<std::uint32_t>(offset_of(p) >> layout_.field_shift(size));
        Policy::pause();
        // Release: what was acquired with the memory.
        word(layout_.word(size, field)).or_acq_rel(open_word(size) | kHeld);
        make_room(size, field);
        return field;
    }
    /// Clears a bit of a field. @return the word before.
    HEAPWOOD_INLINE Word clear(std::uint32_t at, Word bit) const {
        // Release: whatever was done to the chunk, to its next owner and to the thread that closes.
        return word(at).and_release(~bit);
    }
    /// Clears a bit, or takes back the hold, of a field. @return whether it was the last one, so
    /// that the caller must see to the field: abandon().
    HEAPWOOD_INLINE bool leave(std::uint32_t at, Word bit) const {
        const Word before = clear(at, bit);
        const std::uint32_t size = size_of(before);
        if (bit != kHeld && size != 0 && layout_.is_full(size, before)) {
            make_room(size, layout_.field(size, at));
        }
        return is_unused(before & ~bit);
    }

    // ---------------------------------------------------------------- room

    /// A field has got room that was full, or has been opened.
    HEAPWOOD_INLINE void make_room(std::uint32_t size, std::uint32_t field) const {
        Room& room = state_->rooms[size];
        platform::AtomicRef<std::uint32_t>(room.field).store_relaxed(field);
        // Release: the word of the field, to requests that search.
        platform::AtomicRef<std::uint64_t>(room.made).add_release(1);
    }
    /// How often room has been made. Acquire: a search that begins now sees it.
    HEAPWOOD_INLINE std::uint64_t room_made(std::uint32_t size) const {
        return platform::AtomicRef<std::uint64_t>(state_->rooms[size].made).load_acquire();
    }
    /// Whether a search of all fields of a size has found no room, and none has been made since.
    HEAPWOOD_INLINE bool has_no_room(std::uint32_t size) const {
        const platform::AtomicRef<std::uint64_t> none(state_->rooms[size].none);
        return none.load_relaxed() == room_made(size) + 1;
    }
    /// A search of all fields has found no room since `made` was room_made(). If some has been made
    /// meanwhile, this says nothing about now, nor does the word.
    HEAPWOOD_INLINE void found_no_room(std::uint32_t size, std::uint64_t made) const {
        platform::AtomicRef<std::uint64_t>(state_->rooms[size].none).store_relaxed(made + 1);
    }
    /// Where a search of all fields begins.
    HEAPWOOD_INLINE platform::AtomicRef<std::uint32_t> likely_field(std::uint32_t size) const {
        return platform::AtomicRef<std::uint32_t>(state_->rooms[size].field);
    }

    // ---------------------------------------------------------------- holding and closing

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

    /// Sees to a field that had neither users nor a hold a moment ago, and to the one that its
    /// memory is a chunk of. `keep`: an empty slot of the caller's, or one with a full field, may
    /// have it.
    HEAPWOOD_NOINLINE void abandon(Context context, std::uint32_t at, bool keep) const {
        for (;;) {
            Policy::pause();
            Word seen = word(at).load_relaxed();
            const std::uint32_t size = size_of(seen);
            // A thread uses it, and will see to it in turn; or a thread has closed it.
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
            // Acquire: what all threads did that used it, for the next owner of the memory.
            if (!word(at).cas_acquire(seen, 0)) return;
            const std::uint64_t offset = layout_.offset(size, field);
            if (layout_.is_page(size)) return to_list(context, pool_ + offset);
            const Place parent = place_of(layout_, offset, size + kFieldShift);
            Policy::pause();
            if (!leave(parent.word, parent.bit)) return;
            at = parent.word;
        }
    }
    /// Memory for a field: a page of the list, or nullptr.
    HEAPWOOD_NOINLINE char* page(Context context) const {
        const platform::AtomicRef full(state_->full);
        HEAPWOOD_UNROLL(1)
        for (bool again = false;; again = true) {
            // Acquire, and release in to_list(): the search sees what was returned before.
            const std::uint64_t returned = platform::AtomicRef(state_->returned).load_acquire();
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

    /// Empties slots whose fields are not in use; looks at `most` slots, each call at others.
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

private:
    /// Whether a slot of that content has no chunk to give.
    HEAPWOOD_INLINE bool is_exhausted(std::uint32_t size, std::uint32_t open) const {
        if (open == 0 || (open & kBusy) != 0) return open == 0;
        const Word w = word(layout_.word(size, open - 1)).load_relaxed();
        return layout_.is_full(size, w);
    }

    List list_;
    char* pool_;
    Word* words_;
    std::uint32_t* slots_;
    State* state_;
    Layout layout_;
    std::uint32_t home_mask_;
};

}  // namespace heapwood::allocators::scatter
