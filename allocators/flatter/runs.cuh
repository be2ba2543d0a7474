/// @file
/// Runs of FlatterScatter in kernels: pages next to one another, for requests of more than a page.
///
/// **Claiming.** A run's pages are claimed one by one, by compare-and-swaps from idle, the lowest
/// first. If one of them is not idle any more, the request leaves those that it has claimed and
/// looks further down; so two requests that want the same pages never wait for each other, and the
/// lowest page decides between them.
///
/// **Which pages.** Requests for runs look from high pages to low ones, those for chunks from low
/// to high. A request begins below the run that was claimed last, or at the end of one above it
/// that was freed since, and looks once more from the pool's end.
///
/// **Refusals.** A request that has found nothing writes down how many pages had become idle when
/// it began. As long as that is so, no other looks for as many pages or more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/flatter/pages.cuh"
#include "allocators/flatter/words.cuh"
#include "allocators/parts/moves.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators::flatter {

/// The runs of a pool, on top of its pages.
template <class Policy>
class Runs {
public:
    HEAPWOOD_INLINE explicit Runs(const Pages<Policy>& pages) : pages_(pages) {}

    /// A run of `length` pages. @param certain becomes false if another request was quicker, so
    /// that there may be one. @return or nullptr
    HEAPWOOD_FN void* allocate(std::uint32_t length, bool& certain) const {
        const platform::AtomicRef<std::uint64_t> none(pages_.state().no_run);
        const std::uint64_t now = no_run_of(length, idled());
        if (says(none.load_relaxed(), now)) return nullptr;
        const platform::AtomicRef<std::uint32_t> hint(pages_.state().runs_end);
        std::uint32_t first = find(hint.load_relaxed(), length, certain);
        if (first == kNone) first = find(pages_.count(), length, certain);
        if (first == kNone) {
            none.store_relaxed(now);
            return nullptr;
        }
        hint.store_relaxed(first);
        return pages_.address(first);
    }
    HEAPWOOD_FN void deallocate(const void* p, std::uint32_t length) const {
        const auto first = static_cast<std::uint32_t>(pages_.offset_of(p) >> pages_.page_shift());
        leave(first, length);
        platform::AtomicRef<std::uint32_t>(pages_.state().runs_end).max_relaxed(first + length);
    }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    /// Words that are read at once, for each takes a GPU the better part of a microsecond.
    static constexpr std::uint32_t kBatch = 16;

    /// How often pages of the pool have become idle. The counts only grow: if their sum has not
    /// changed between two looks, none has.
    HEAPWOOD_INLINE std::uint64_t idled() const {
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < pages_.blocks(); ++i) sum += pages_.idled(i);
        return sum;
    }
    /// Claims a run below page `end`. @return its first page, or kNone
    HEAPWOOD_NOINLINE std::uint32_t find(std::uint32_t end, std::uint32_t length,
                                         bool& certain) const {
        std::uint32_t idle = 0;
        while (end > 0) {
            const std::uint32_t batch = end < kBatch ? end : kBatch;
            std::uint32_t used = 0;
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t i = 0; i < kBatch; ++i) {
                if (i < batch && !is_idle(pages_.word(end - 1 - i).load_relaxed())) used |= 1U << i;
            }
            for (std::uint32_t i = 0; i < batch; ++i) {
                idle = (used >> i & 1) != 0 ? 0 : idle + 1;
                if (idle < length) continue;
                if (claim(end - 1 - i, length)) return end - 1 - i;
                certain = false;
                idle = 0;
            }
            end -= batch;
        }
        return kNone;
    }
    HEAPWOOD_NOINLINE bool claim(std::uint32_t first, std::uint32_t length) const {
        const Moves moves(pages_.state().claims);
        moves.begin();
        for (std::uint32_t i = 0; i < length; ++i) {
            Policy::pause();
            std::uint32_t seen = pages_.word(first + i).load_relaxed();
            if (is_idle(seen) && pages_.claim(first + i, seen, i == 0 ? kRunHead : kRunRest, 1)) {
                continue;
            }
            leave(first, i);
            if (i == 0) {
                moves.end_in_vain();
            } else {
                moves.end();
            }
            return false;
        }
        moves.end_in_vain();
        return true;
    }
    HEAPWOOD_FN void leave(std::uint32_t first, std::uint32_t length) const {
        for (std::uint32_t i = 0; i < length; ++i) pages_.leave(first + i, 1);
    }

    const Pages<Policy>& pages_;
};

}  // namespace heapwood::allocators::flatter
