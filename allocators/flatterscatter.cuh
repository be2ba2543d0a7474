/// @file
/// FlatterScatter, the allocator of mallocMC 3 (2025), from descriptions of it alone: ScatterAlloc
/// (Steinberger, Kenzel, Kainz & Schmalstieg 2012) made flat. Pages of a fixed table, a bit field
/// for each, and requests that are counted before they touch a page.
///
/// **Structure.** The pool is cut into pages, and these are grouped in access blocks. A page has a
/// word that tells the size of its chunks and how many use it, and a bit for each chunk. A hash of
/// size and multiprocessor says where a request begins to look for a page, so that callers are
/// spread. Larger requests are runs of whole pages from the same table. No list is behind it, and
/// nothing else ever owns memory: an idle page serves whatever comes next. flatter/pages.cuh,
/// flatter/runs.cuh and flatter/core.cuh have the algorithm, and why it is sound.
///
/// **Parameters**, as published: pages of 128 KiB, access blocks of 128 MiB, chunks of at most
/// twice the size asked for, the hash's factors.
///
/// **Against the original.**
/// - A page's size and its count were words of their own. The last user of a page locked it by the
///   count, wiped the bits, took the size away and unlocked it; requests that came meanwhile were
///   turned away. Here both are in one word, and a page is of no size as soon as its count is 0:
///   the next request replaces the size by the compare-and-swap that also counts it. The same
///   comparison keeps late comers out, and no thread can be stalled with the lock.
/// - Chunks are powers of two, instead of the size of a page's first request and down to a half of
///   it: the same bound without a division.
/// - Bit fields lie beside the pool. There they took a chunk of each page: of 8 KiB 15 fit, not 16.
/// - A request that found no page by one search was refused, even if only requests on their way had
///   hidden the room; and each refused request searched all pages. That, from the descriptions, is
///   why many requests of 8 KiB fail there, and slowly. Here a search that may have been misled is
///   repeated, and one in vain is remembered by its access block: the next request for that size
///   reads three words for a block of 1024 pages, until something has been freed there. A full pool
///   is searched once, not by each request.
/// - A hint replaces the hash as soon as that leads to a full page. The hash chooses from the first
///   quarter of the pool, and multiprocessors share a home where there are fewer than 128 pages for
///   each: pages with few chunks everywhere would leave no runs.
/// - Requests of up to a page (published: half a page) are chunks; only larger ones are runs, whose
///   pages are claimed downward from the pool's end, across access blocks. They stay contiguous
///   pages, as published, because an idle page may serve anything then; with a list behind, each
///   page would have to be given back to it first. The internal waste of runs, too, is below a
///   half.
/// - Pages are smaller in small pools, so that there are 1024, down to 1 KiB. There a pool needed
///   128 MiB.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/flatter/core.cuh"
#include "allocators/flatter/pages.cuh"
#include "allocators/flatter/words.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/scatter_hash.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/crowd.cuh"

namespace heapwood::allocators {

/// The allocator's constants.
struct FlatterScatterPolicy {
    static constexpr std::uint64_t kFewestPages = 1024;
    /// Log2 of the pages of an access block.
    static constexpr std::uint32_t kBlockShift = 10;
    /// Pages of the pool for each home.
    static constexpr std::uint32_t kPagesPerHome = 128;
    /// The hash chooses from one of so many parts of the pool.
    static constexpr std::uint32_t kParts = 4;
    /// How many words of a page's bit field a request looks at, beside all of them twice.
    static constexpr std::uint32_t kTries = 32;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;

    /// Whether lanes of a warp are to act for one another.
    HEAPWOOD_INLINE static bool is_crowded() { return platform::is_crowded(); }
    /// Called between any two steps that others may come between; does something in tests only.
    HEAPWOOD_INLINE static void pause() {}
};

/// The host object: owns the pool, the page table, the bit fields and the hints.
template <class Policy>
class BasicFlatterScatter {
public:
    using Ref = flatter::Core<Policy>;

    static constexpr Traits traits() {
        return {.name = "flatterscatter",
                .title = "FlatterScatter",
                .source = "mallocMC 3, 2025",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(Word),  // per page, and as many bits as smallest chunks
                .smallest_pool = 16384};
    }

    explicit BasicFlatterScatter(const PoolConfig& config)
        : page_shift_(page_shift(config.bytes)),
          pages_(static_cast<std::uint32_t>(config.bytes >> page_shift_)),
          homes_(std::bit_floor(std::clamp(pages_ / Policy::kPagesPerHome, 1U,
                                           std::max(config.multiprocessors, 1U)))),
          pool_(config.place, pool_bytes()),
          table_(config.place, std::uint64_t{pages_} * sizeof(Word)),
          bits_(config.place, std::uint64_t{pages_} * words_each() * sizeof(Word)),
          blocks_(config.place, sizeof(flatter::Block) *
                                    ((std::uint64_t{pages_ - 1} >> Policy::kBlockShift) + 1)),
          hints_(config.place, (std::uint64_t{homes_} << flatter::kHomeShift) * sizeof(Word)),
          state_(config.place, sizeof(flatter::State)) {
        reset();
    }

    Ref ref() const {
        return Ref({pool_.template as<char>(), table_.template as<Word>(),
                    bits_.template as<Word>(), blocks_.template as<flatter::Block>(),
                    state_.template as<flatter::State>(), pages_, page_shift_},
                   hints_.template as<Word>(), homes_);
    }
    void reset() {
        for (Buffer* b : {&table_, &bits_, &blocks_, &state_}) b->zero();
        std::vector<Word> hints(hints_.size() / sizeof(Word));
        for (std::uint32_t i = 0; i < hints.size(); ++i) {
            const std::uint32_t size = flatter::kSmallestChunk + i % (1U << flatter::kHomeShift);
            const std::uint32_t hash = scatter_hash(1U << size, i >> flatter::kHomeShift);
            hints[i] = (hash >> 8) % (pages_ / Policy::kParts);
        }
        hints_.write(0, hints.data(), hints_.size());
    }
    std::uint64_t pool_bytes() const { return std::uint64_t{pages_} << page_shift_; }
    std::uint64_t overhead_bytes() const {
        return table_.size() + bits_.size() + blocks_.size() + hints_.size() + state_.size();
    }

    /// Chunks in use are allocations, and what lies between those of a page is free; idle pages
    /// next to one another are one free region.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Word> table(pages_);
        table_.read(0, table.data(), table_.size());
        std::vector<Word> bits(words_each());
        for (std::uint32_t page = 0; page < pages_;) {
            const std::uint64_t begin = std::uint64_t{page} << page_shift_;
            const Word word = table[page];
            if (const std::uint32_t size = flatter::kind_in(word);
                !flatter::is_idle(word) && size <= page_shift_) {
                bits_.read(page++ * std::uint64_t{words_each()} * sizeof(Word), bits.data(),
                           bits.size() * sizeof(Word));
                visit_chunks(bits, begin, size, visit);
                continue;
            }
            const auto end = std::find_if(
                table.begin() + page + 1, table.end(), [idle = flatter::is_idle(word)](Word w) {
                    return idle ? !flatter::is_idle(w)
                                : flatter::is_idle(w) || flatter::kind_in(w) != flatter::kRunRest;
                });
            page = static_cast<std::uint32_t>(end - table.begin());
            visit(Region{begin, (std::uint64_t{page} << page_shift_) - begin,
                         !flatter::is_idle(word)});
        }
    }

private:
    using Word = std::uint32_t;

    static constexpr std::uint32_t kSmallestPageShift = 10;

    static std::uint32_t page_shift(std::uint64_t bytes) {
        if (bytes < traits().smallest_pool ||
            bytes >> flatter::kLargestChunk > flatter::kMostPages) {
            throw std::invalid_argument(std::string(traits().name) +
                                        " needs a pool of 16 KiB or more, below 2 TiB");
        }
        return unit_shift(bytes, kSmallestPageShift, flatter::kLargestChunk, Policy::kFewestPages);
    }
    /// Words of a page's bit field.
    std::uint32_t words_each() const { return 1U << (page_shift_ - flatter::kWordShift); }

    /// The regions of a page at byte `begin` that has chunks of that size.
    template <class Visitor>
    void visit_chunks(const std::vector<Word>& bits, std::uint64_t begin, std::uint32_t size,
                      Visitor& visit) const {
        const std::uint64_t past = begin + (std::uint64_t{1} << page_shift_);
        std::uint64_t end = begin;
        for (std::uint32_t n = 0; n < 1U << (page_shift_ - size); ++n) {
            if ((bits[n / 32] >> n % 32 & 1U) == 0) continue;
            const std::uint64_t chunk = begin + (std::uint64_t{n} << size);
            if (end < chunk) visit(Region{end, chunk - end, false});
            end = chunk + (std::uint64_t{1} << size);
            visit(Region{chunk, end - chunk, true});
        }
        if (end < past) visit(Region{end, past - end, false});
    }

    std::uint32_t page_shift_;
    std::uint32_t pages_;
    std::uint32_t homes_;
    Buffer pool_;
    Buffer table_;
    Buffer bits_;
    Buffer blocks_;
    Buffer hints_;
    Buffer state_;
};

using FlatterScatter = BasicFlatterScatter<FlatterScatterPolicy>;

static_assert(Allocator<FlatterScatter>);

}  // namespace heapwood::allocators
