/// @file
/// The part of FlatterScatter that runs in kernels: which page a request enters (pages.cuh), and
/// when it is refused. flatterscatter.cuh says what the allocator is made of and after whom.
///
/// **Hints.** A caller's multiprocessor chooses its home; a home has a hint for each size: a page
/// where its requests of that size begin. At first a hash says which. A request that had to search
/// leaves its page there, and so does a free that has given room to a full page. A hint holds
/// nothing: the page may have become idle, or be of another size, which a request learns when it
/// enters.
///
/// **Which page.** If the hint's page has no room, the request searches the access blocks from
/// there on, circularly, for a page of its size with room, or an idle one; but not those whose last
/// search for that size was in vain and brought no news since.
///
/// **Progress.** Nobody waits for anybody, and all searches are bounded. A request is refused when
/// all blocks have yielded nothing, no other was seen to be quicker, and no run was being claimed
/// meanwhile that might not be completed; or after kRounds. While others are on their way in pages
/// of other sizes, a refusal may come too early by what these hide; when nothing else is going on,
/// it is exact. A caller that is stalled may keep a page from other sizes, as one that owns a chunk
/// does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/flatter/pages.cuh"
#include "allocators/flatter/runs.cuh"
#include "allocators/flatter/words.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::flatter {

/// Log2 of the hints of a home.
inline constexpr std::uint32_t kHomeShift = 4;
static_assert(Block::kSizes <= 1U << kHomeShift);

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    Core() = default;
    /// `hints`: 1 << kHomeShift for each home; `homes`: a power of two.
    Core(const Pages<Policy>& pages, std::uint32_t* hints, std::uint32_t homes)
        : pages_(pages), hints_(hints), home_mask_(homes - 1) {}

    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < page_bytes() && !Policy::is_crowded()) {  // not 0
            const std::uint32_t size = chunk_for(static_cast<std::uint32_t>(bytes));
            const Entry entry = pages_.enter(hint(context, size).load_relaxed(), size, 1);
            if (entry != kNoEntry) {
                if (void* p = pages_.take(page_of(entry), count_of(entry), size)) return p;
                if (void* p = pages_.search(context, entry, size)) return p;
            }
        }
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > page_bytes() || Policy::is_crowded()) {
            return deallocate_slowly(context, p, bytes);
        }
        const std::uint32_t size = chunk_for(static_cast<std::uint32_t>(bytes));
        const std::uint32_t page = pages_.clear(p, size);
        if (pages_.leave(page, 1)) hint(context, size).store_relaxed(page);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        return bytes > page_bytes()
                   ? std::uint64_t{pages_for(bytes)} << pages_.page_shift()
                   : std::uint64_t{1} << chunk_for(static_cast<std::uint32_t>(bytes));
    }

    /// See heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const {
        const std::uint64_t offset = pages_.offset_of(p);
        const auto page = static_cast<std::uint32_t>(offset >> pages_.page_shift());
        // Relaxed: the kind stays as it is while the page is in use.
        const std::uint32_t kind = kind_in(pages_.word(page).load_relaxed());
        if (kind >= kRunHead) return 0;
        const std::uint64_t chunk = std::uint64_t{1} << kind;
        return (offset & (chunk - 1)) == 0 ? chunk : 0;
    }
    HEAPWOOD_FN std::size_t largest_known() const { return page_bytes(); }

private:
    using Hint = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE std::size_t page_bytes() const { return std::size_t{1} << pages_.page_shift(); }
    HEAPWOOD_INLINE std::uint32_t pages_for(std::size_t bytes) const {
        return static_cast<std::uint32_t>((bytes - 1) >> pages_.page_shift()) + 1;
    }
    HEAPWOOD_INLINE Hint hint(const Context& context, std::uint32_t size) const {
        return Hint(
            hints_[((context.multiprocessor & home_mask_) << kHomeShift) + size - kSmallestChunk]);
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Of many lanes that are here with chunks of the same page, one leaves for all.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > page_bytes()) return Runs<Policy>(pages_).deallocate(p, pages_for(bytes));
        const std::uint32_t size = chunk_for(static_cast<std::uint32_t>(bytes));
        const std::uint32_t page = pages_.clear(p, size);
        const platform::Lanes lanes(pages_.word(page));
        lanes.sync();
        if (lanes.rank() == 0 && pages_.leave(page, lanes.count())) {
            hint(context, size).store_relaxed(page);
        }
    }

    /// Of lanes that are here with the same size, one enters a page for all.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        if (bytes > page_bytes()) return allocate_run(context, bytes);
        if (bytes == 0) return nullptr;
        const std::uint32_t size = chunk_for(static_cast<std::uint32_t>(bytes));
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const platform::Lanes lanes(hint(context, size));
            Entry entry = kNoEntry;
            if (lanes.rank() == 0) entry = find_page(context, size, lanes.count());
            entry = lanes.of_leader(entry);
            lanes.sync();
            if (entry == kRefused) return nullptr;
            if (entry == kNoEntry) {
                platform::back_off(round);
                continue;
            }
            entry += lanes.rank();
            if (count_of(entry) >= pages_.capacity(size)) continue;
            if (void* p = pages_.take(page_of(entry), count_of(entry), size)) return p;
            if (void* p = pages_.search(context, entry, size)) return p;
        }
        return nullptr;
    }
    HEAPWOOD_NOINLINE void* allocate_run(Context context, std::size_t bytes) const {
        if (bytes > std::uint64_t{pages_.count()} << pages_.page_shift()) return nullptr;
        const Moves claims(pages_.state().claims);
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const Moves::Word look = claims.look();
            bool certain = true;
            void* p = Runs<Policy>(pages_).allocate(pages_for(bytes), certain);
            if (p != nullptr || (certain && claims.none_since(look))) return p;
            platform::back_off(round + context.warp % 4);
        }
        return nullptr;
    }

    /// Enters a page with room n times. kNoEntry: to be tried again; kRefused: there is none.
    HEAPWOOD_NOINLINE Entry find_page(Context context, std::uint32_t size, std::uint32_t n) const {
        const Hint own = hint(context, size);
        const std::uint32_t start = own.load_relaxed();
        if (pages_.room_in(pages_.word(start).load_relaxed(), size) != 0) {
            const Entry entry = pages_.enter(start, size, n);
            if (entry != kNoEntry) return entry;
        }
        const Moves claims(pages_.state().claims);
        const Moves::Word look = claims.look();
        const std::uint32_t blocks = pages_.blocks();
        std::uint32_t block = start >> Policy::kBlockShift;
        bool certain = true;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = 0; i < blocks; ++i) {
            const std::uint64_t news = pages_.news(block, size);
            if (pages_.none(block, size).load_relaxed() != news + 1) {
                const Entry entry = search_block(block, i == 0 ? start : 0, size, n, certain);
                if (entry != kNoEntry) {
                    own.store_relaxed(page_of(entry));
                    return entry;
                }
                pages_.none(block, size).store_relaxed(news + 1);
            }
            block = block + 1 == blocks ? 0 : block + 1;
        }
        return certain && claims.none_since(look) ? kRefused : kNoEntry;
    }
    /// Enters some page of an access block n times; looks from page `start` of the pool on,
    /// circularly. `certain` becomes false if others were quicker.
    HEAPWOOD_FN Entry search_block(std::uint32_t block, std::uint32_t start, std::uint32_t size,
                                   std::uint32_t n, bool& certain) const {
        const std::uint32_t first = block << Policy::kBlockShift;
        const std::uint32_t rest = pages_.count() - first;
        const std::uint32_t pages =
            rest >> Policy::kBlockShift == 0 ? rest : 1U << Policy::kBlockShift;
        const std::uint32_t groups = platform::ceil_div(pages, kGroup);
        // The first group is looked at from `start` on, or homes would meet in it; and in the end.
        std::uint32_t begin = start < first ? 0 : start - first;
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t looks = groups + (begin % kGroup == 0 ? 0 : 1); looks > 0; --looks) {
            const std::uint32_t at = first + begin / kGroup * kGroup;
            const std::uint32_t end = first + pages - at;
            std::uint32_t roomy = 0;
            std::uint32_t idle = 0;
            // All loads at once.
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t j = 0; j < kGroup; ++j) {
                if (j < begin % kGroup || j >= end) continue;
                const std::uint32_t word = pages_.word(at + j).load_relaxed();
                if (pages_.room_in(word, size) != 0) {
                    roomy |= 1U << j;
                } else if (is_idle(word)) {
                    idle |= 1U << j;
                }
            }
            // Those with room first, and of both the lower ones: so pages stay idle for runs.
            for (; (roomy | idle) != 0; certain = false) {
                const std::uint32_t among = roomy != 0 ? roomy : idle;
                const std::uint32_t bit = among & (0U - among);
                const std::uint32_t page = at + platform::lowest_bit(bit);
                Policy::pause();
                const Entry entry =
                    pages_.enter_or_claim(page, pages_.word(page).load_relaxed(), size, n);
                if (entry != kNoEntry) return entry;
                roomy &= ~bit;
                idle &= ~bit;
            }
            begin = begin / kGroup + 1 == groups ? 0 : (begin / kGroup + 1) * kGroup;
        }
        return kNoEntry;
    }

    /// Pages whose words are read at once, for each takes a GPU the better part of a microsecond.
    static constexpr std::uint32_t kGroup = 16;

    Pages<Policy> pages_;
    std::uint32_t* hints_;
    std::uint32_t home_mask_;
};

}  // namespace heapwood::allocators::flatter
