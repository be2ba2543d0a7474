/// @file
/// The part of ScatterAlloc that runs in kernels.
///
/// **Structure.** A request of at most half a page gets a chunk, the next power of two; a larger
/// one gets a run of pages from the list. Chunks lie in fields (layout.cuh), which are opened, held
/// in slots, and closed (fields.cuh).
///
/// **Which field.** A request takes a chunk of its slot's field. If that has none left, the request
/// looks at the region of the field, 16 fields that have their words beside one another. Then it
/// opens a new field, and leaves it in the slot. If there is no memory for one, it looks at more
/// regions, which a hash chooses, and then at all.
///
/// **Enter, then touch.** A request takes a chunk by setting its bit, whatever the field may have
/// become since the request learned of it, and learns by the same step what it is. If the word said
/// the right size when the bit was set, the field is open with that size until the bit is cleared:
/// the chunk is the request's. If not, the request clears the bit and has touched nothing.
///
/// **Progress.** No thread waits for another. Requests that find a slot being refilled look again,
/// kMostWaits times, and then open a field of their own. All searches are bounded. If the list has
/// no page left, slots whose fields are not in use are emptied, and it is asked again. Until
/// something has been returned to it, requests for chunks do not ask it again, for its search of a
/// full pool is long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/parts/apart.cuh"
#include "allocators/parts/scatter_hash.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/warp.cuh"
#include "allocators/scatteralloc/fields.cuh"
#include "allocators/scatteralloc/layout.cuh"

namespace heapwood::allocators::scatter {

/// How many regions that the hash chooses a request looks at.
inline constexpr std::uint32_t kMostRegions = 16;
/// After how many regions a search of all looks whether another thread's was in vain.
inline constexpr std::uint32_t kRegionsAtOnce = 64;
/// How many bits of a field it tries to set while other threads are quicker.
inline constexpr std::uint32_t kMostTries = 32;
/// How often it looks whether a slot that another request refills has been refilled: on a GPU, 8
/// us.
inline constexpr std::uint32_t kMostWaits = 12;

/// The handle that kernels use. Policy, ListPolicy: fields.cuh.
template <class Policy, class ListPolicy>
class Core {
public:
    Core() = default;
    explicit Core(const Fields<Policy, ListPolicy>& fields)
        : fields_(fields), largest_chunk_(std::uint64_t{1} << (fields.layout().page_shift - 1)) {}

    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < largest_chunk_) {  // not 0
            const std::uint32_t size = size_for(bytes);
            const std::uint32_t open = fields_.slot(context, size).load_relaxed() & ~kBusy;
            if (open != 0) {
                if (void* p = enter(context, size, open - 1)) return p;
            }
        }
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        Word before = 0;
        if (bytes <= largest_chunk_) {
            Policy::pause();
            const std::uint32_t size = size_for(bytes);
            const Place at = place_of(layout(), fields_.offset_of(p), size);
            before = fields_.clear(at.word, at.bit);
            if (!is_unused(before & ~at.bit) && !layout().is_full(size, before)) return;
        }
        deallocate_slowly(context, p, bytes, before);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return bytes > largest_chunk_ ? fields_.list().granted_bytes(p, bytes)
                                      : std::uint64_t{1} << size_for(bytes);
    }

    /// See heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const {
        const std::uint64_t offset = fields_.offset_of(p);
        const auto page = static_cast<std::uint32_t>(offset >> layout().page_shift);
        // Relaxed, both: a field that has a chunk in use stays open with its size.
        std::uint32_t size = size_of(fields_.word(page).load_relaxed());
        if (size == 0) return 0;
        // The chunk may be a field itself.
        const std::uint32_t inner = size - kFieldShift;
        if (size >= kSmallestField && !layout().is_page(inner)) {
            const auto field = static_cast<std::uint32_t>(offset >> size);
            if (size_of(fields_.word(layout().word(inner, field)).load_relaxed()) == inner) {
                size = inner;
            }
        }
        const std::uint64_t chunk = std::uint64_t{1} << size;
        return (offset & (chunk - 1)) == 0 ? chunk : 0;
    }
    HEAPWOOD_FN std::size_t largest_known() const { return largest_chunk_; }

private:
    HEAPWOOD_INLINE const Layout& layout() const { return fields_.layout(); }

    /// Log2 of the bytes of the chunk for a request of at most half a page.
    HEAPWOOD_INLINE static std::uint32_t size_for(std::size_t bytes) {
        constexpr std::uint32_t kLeast = (1U << kSmallestChunk) - 1;
        return platform::floor_log2((static_cast<std::uint32_t>(bytes) - 1) | kLeast) + 1;
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

    /// Takes a chunk of a field, if it is one of that size and has one left. What is tried first is
    /// some bit: unless the field is rather full, it is free.
    HEAPWOOD_INLINE char* enter(const Context& context, std::uint32_t size,
                                std::uint32_t field) const {
        Policy::pause();
        const std::uint32_t chunk =
            beginning(context) & ((1U << (layout().field_shift(size) - size)) - 1);
        const Word bit = Word{1} << chunk;
        // Acquire: whatever was done to the chunk before.
        const Word found = fields_.word(layout().word(size, field)).or_acquire(bit);
        if ((found & bit) == 0 && size_of(found) == size)
            return fields_.address(size, field, chunk);
        return enter_again(context, size, field, chunk, found);
    }
    // What is rare is out of line, so that it costs callers no registers and few instructions, and
    // takes contexts by value, so that theirs need not lie in memory.

    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        if (bytes - 1 < largest_chunk_) {
            const std::uint32_t size = size_for(bytes);
            return layout().is_page(size) ? find_in_page(context, size)
                                          : find_in_chunk(context, size);
        }
        if (bytes == 0 || bytes > std::uint64_t{layout().pages} << layout().page_shift) {
            return nullptr;
        }
        void* p = fields_.list().allocate(apart(context), bytes);
        return p == nullptr && fields_.empty_slots(context, ~0U)
                   ? fields_.list().allocate(context, bytes)
                   : p;
    }
    /// `before`: what the word of the chunk's field was before the chunk's bit was cleared.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes,
                                             Word before) const {
        if (bytes > largest_chunk_) return fields_.to_list(context, p);
        const std::uint32_t size = size_for(bytes);
        const Place at = place_of(layout(), fields_.offset_of(p), size);
        if (layout().is_full(size, before)) fields_.make_room(size, layout().field(size, at.word));
        if (is_unused(before & ~at.bit)) fields_.abandon(context, at.word, true);
    }
    /// Goes on where the word, when the bit of `chunk` was set, was `found`.
    HEAPWOOD_NOINLINE char* enter_again(Context context, std::uint32_t size, std::uint32_t field,
                                        std::uint32_t chunk, Word found) const {
        const std::uint32_t at = layout().word(size, field);
        const std::uint32_t begin = chunk;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t tries = 0; (found >> chunk & 1) != 0; ++tries) {
            const std::uint32_t free = layout().chunks(size) & ~bits_of(found);
            if (size_of(found) != size || free == 0 || tries == kMostTries) return nullptr;
            chunk = pick(free, begin);
            Policy::pause();
            found = fields_.word(at).or_acquire(Word{1} << chunk);
        }
        if (size_of(found) == size) return fields_.address(size, field, chunk);
        Policy::pause();
        if (fields_.leave(at, Word{1} << chunk)) fields_.abandon(context, at, false);
        return nullptr;
    }
    HEAPWOOD_NOINLINE char* enter_slowly(Context context, std::uint32_t size,
                                         std::uint32_t field) const {
        return enter(context, size, field);
    }

    /// A chunk of a field that is a page.
    HEAPWOOD_NOINLINE char* find_in_page(Context context, std::uint32_t size) const {
        return find(context, size, [&] { return fields_.page(context); });
    }
    /// A chunk of a field that is itself a chunk.
    HEAPWOOD_NOINLINE char* find_in_chunk(Context context, std::uint32_t size) const {
        return find(context, size, [&] { return find_in_page(context, size + kFieldShift); });
    }
    /// A chunk from wherever there is one. `memory`: makes memory for a field.
    template <class Memory>
    HEAPWOOD_INLINE char* find(const Context& context, std::uint32_t size, Memory memory) const {
        const platform::AtomicRef<std::uint32_t> own = fields_.slot(context, size);
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
            if (chunk != nullptr && fields_.hold(size, found.field)) next = found.field + 1;
        }
        if (chunk == nullptr) {
            if (char* p = memory()) {
                const std::uint32_t field = fields_.open(size, p);
                chunk = enter_slowly(context, size, field);
                if (refills) {
                    next = field + 1;
                } else {
                    fields_.drop(context, size, field);
                }
            }
        }
        Policy::pause();
        if (refills) {
            own.store_relaxed(next);
            if (next != open && open != 0) fields_.drop(context, size, open - 1);
        }
        return chunk != nullptr ? chunk : find_anywhere(context, size);
    }

    struct Found {
        char* chunk;
        std::uint32_t field;
        bool none;  ///< there was no field with room
    };
    /// A chunk of one of the fields of a region, if some `field` is in, has one left; of a held one
    /// only if asked.
    HEAPWOOD_NOINLINE Found look_around(Context context, std::uint32_t size, std::uint32_t field,
                                        bool held) const {
        const std::uint32_t first = field & ~(kRegion - 1);
        const std::uint32_t end = layout().fields(size);
        std::uint32_t candidates = 0;
        Policy::pause();
        // All loads at once.
        HEAPWOOD_UNROLL(8)
        for (std::uint32_t i = 0; i < kRegion; ++i) {
            if (first + i >= end) continue;
            const Word w = fields_.word(layout().word(size, first + i)).load_relaxed();
            const bool suits =
                size_of(w) == size && !layout().is_full(size, w) && (held || (w & kHeld) == 0);
            candidates |= suits ? 1U << i : 0;
        }
        const bool none = candidates == 0;
        while (candidates != 0) {
            const std::uint32_t i = platform::floor_log2(candidates);
            if (char* p = enter_slowly(context, size, first + i)) return {p, first + i, false};
            candidates ^= 1U << i;
        }
        return {nullptr, 0, none};
    }
    /// A chunk of any field, as a last resort: of regions that follow one another from where the
    /// hash says, then of all.
    HEAPWOOD_NOINLINE char* find_anywhere(Context context, std::uint32_t size) const {
        if (fields_.has_no_room(size)) return nullptr;
        const std::uint32_t factor = 1 + ((32U << size) >> layout().page_shift);
        const std::uint32_t hash =
            scatter_hash(1U << size, context.multiprocessor) + factor * context.warp;
        const std::uint32_t regions = platform::ceil_div(layout().fields(size), kRegion);
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < kMostRegions && i < regions; ++i) {
            const Found found = look_around(context, size, (hash + i) % regions * kRegion, true);
            if (found.chunk != nullptr) return found.chunk;
        }
        return search_all(context, size, regions);
    }
    /// A chunk of any field: of all regions, from where room has been made on. One search in vain
    /// serves all requests until room is made again.
    HEAPWOOD_NOINLINE char* search_all(Context context, std::uint32_t size,
                                       std::uint32_t regions) const {
        const std::uint64_t made = fields_.room_made(size);
        const platform::AtomicRef<std::uint32_t> likely = fields_.likely_field(size);
        std::uint32_t region = likely.load_relaxed() / kRegion;
        bool certain = true;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 1; i <= regions; ++i) {
            const Found found = look_around(context, size, region * kRegion, true);
            if (found.chunk != nullptr) {
                likely.store_relaxed(found.field);
                return found.chunk;
            }
            certain &= found.none;
            if (i % kRegionsAtOnce == 0 && fields_.has_no_room(size)) return nullptr;
            region = region + 1 == regions ? 0 : region + 1;
        }
        if (certain) fields_.found_no_room(size, made);
        return nullptr;
    }

    Fields<Policy, ListPolicy> fields_;
    std::uint64_t largest_chunk_;
};

}  // namespace heapwood::allocators::scatter
