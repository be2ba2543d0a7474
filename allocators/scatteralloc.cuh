/// @file
/// ScatterAlloc: chunks of one size in pages with bit fields, found by hashing (Steinberger,
/// Kenzel, Kainz & Schmalstieg 2012, "ScatterAlloc: Massively Parallel Dynamic Memory Allocation
/// for the GPU"), whose callers spread over the pages instead of meeting at a list.
///
/// The parameters are the published ones: pages of 4096 bytes (--page; the papers'
/// tables also have 8192 and 16384), regions of 16 pages, chunks of at most twice the size asked
/// for, 32 chunks to a bit field and two levels of them. scatteralloc/core.cuh has the algorithm,
/// and why it is sound.
///
/// **Against the original:**
/// - A page's chunk size, count and bits were words of their own, taken one after the other, and a
///   page's last user reset them one after the other: a chunk could be given twice, and a page be
///   reset under a newcomer. Here one word has them all; the step that takes a chunk also
///   tells whether the page is the expected one, and no thread touches a chunk before that; and one
///   compare-and-swap closes a page. The idea to count first is FlatterScatter's (mallocMC 3,
///   2025).
/// - Chunks are powers of two, instead of the size of a page's first request and down to a half of
///   it: the same bound, but no division, the size is known from the request when a chunk is
///   freed, and requests of similar size always share pages.
/// - The hash chose a page of a fixed table, and pages were searched from there on. Here callers
///   keep to pages of their own (a slot for every home and size), so that a chunk mostly costs two
///   steps and its return one; a full page's region is searched next, a new page opened, and the
///   hash chooses where to search when there is none.
/// - Requests above a page locked the heap and scanned for free pages, a cliff; here, all above
///   half a page are runs of pages from the circular list that all pages come from (as in Hybrid).
///   An empty page goes back to it, so that memory serves any size again.
/// - Bit fields lie beside the pool, so that chunks fill a page, and no payload covers one.
/// - A region has no counter of full pages: its 16 words are one line of the L2 cache.
/// - Pools are not limited to 4 GiB, nor requests to an access block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/circular_malloc.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/unit_shift.h"
#include "allocators/scatteralloc/core.cuh"
#include "allocators/scatteralloc/fields.cuh"
#include "allocators/scatteralloc/layout.cuh"

namespace heapwood::allocators {

/// What BasicScatterAlloc needs to be told.
struct ScatterPolicy {
    static constexpr std::uint32_t kPatience = circular::DefaultPolicy::kPatience;
    HEAPWOOD_INLINE static void pause() {}
};

/// The list that pages come from; its granule is a page.
template <class Policy>
struct ScatterListPolicy : circular::HintPerMultiprocessor {
    using Headers = circular::FusedHeaders;
    static constexpr std::uint32_t kSmallestShare = 16;
    static constexpr std::uint32_t kSmallestStretch = 4;
    static constexpr std::uint32_t kPatience = Policy::kPatience;
    static constexpr Traits traits() {
        return {.name = "scatteralloc",
                .title = "ScatterAlloc",
                .source = "Steinberger et al. 2012",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = sizeof(scatter::Word),  // for every 512 bytes, and for every page
                .smallest_pool = 32768};
    }
    HEAPWOOD_INLINE static void pause() { Policy::pause(); }
};

/// The host object: owns the pool and its tables; makes them and walks them.
template <class Policy>
class BasicScatterAlloc {
    using Word = scatter::Word;

    using ListPolicy = ScatterListPolicy<Policy>;
    using List = circular::CircularMalloc<ListPolicy>;

public:
    using Ref = scatter::Core<Policy, ListPolicy>;

    static constexpr Traits traits() { return ListPolicy::traits(); }
    static constexpr std::span<const Option> options() { return kPages; }

    /// Pages are smaller than asked for, 4096 bytes at least, where the pool has fewer than 8.
    /// @throws std::invalid_argument as every allocator, and if a page is not of 4096, 8192 or
    /// 16384 bytes, or the pool of 1 TiB or more.
    explicit BasicScatterAlloc(const PoolConfig& config)
        : page_shift_(page_shift(config)), list_(config, page_shift_) {
        const scatter::Layout layout = this->layout();
        words_ = Buffer(config.place, layout.words() * sizeof(Word));
        // Callers may hold a part of the pool in fields that are not in use.
        std::uint64_t home_bytes = 0;
        for (std::uint32_t size = scatter::kSmallestChunk; size < page_shift_; ++size) {
            home_bytes += std::uint64_t{1} << layout.field_shift(size);
        }
        homes_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(pool_bytes() / kHeldPart / home_bytes, 1,
                                      std::bit_ceil(std::max(config.callers, 1U)))));
        slots_ =
            Buffer(config.place, (std::uint64_t{homes_} << scatter::kHomeShift) * sizeof(Slot));
        state_ = Buffer(config.place, sizeof(scatter::State));
        words_.zero();
        slots_.zero();
        state_.zero();
    }

    Ref ref() const {
        return Ref({list_.ref(), layout(), words_.as<Word>(), slots_.as<Slot>(),
                    state_.as<scatter::State>(), homes_});
    }
    void reset() {
        list_.reset();
        words_.zero();
        slots_.zero();
        state_.zero();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + words_.size() + slots_.size() + state_.size();
    }

    /// Allocated regions are allocations. An open page without any is free, as a whole; in one with
    /// some, what lies between them is.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Word> words(layout().words());
        words_.read(0, words.data(), words_.size());
        std::vector<Region> chunks;
        list_.for_each_region([&](const Region& r) {
            const auto page = static_cast<std::uint32_t>(r.offset >> page_shift_);
            if (!r.allocated || words[page] == 0) return visit(r);
            chunks.clear();
            add_chunks(words, scatter::size_of(words[page]), page, chunks);
            std::uint64_t end = r.offset;
            for (const Region& chunk : chunks) {
                if (end < chunk.offset) visit(Region{end, chunk.offset - end, false});
                visit(chunk);
                end = chunk.offset + chunk.size;
            }
            if (end < r.offset + r.size) visit(Region{end, r.offset + r.size - end, false});
        });
    }

private:
    using Slot = std::uint32_t;

    static constexpr Option kPages[1]{{.key = "page_bytes",
                                       .flag = "--page",
                                       .values = "4096|8192|16384",
                                       .help = "Bytes of scatteralloc's pages"}};
    static constexpr std::uint32_t kSmallestPageShift = 12;
    static constexpr std::uint64_t kFewestPages = traits().smallest_pool >> kSmallestPageShift;
    /// The part of the pool that callers may hold in fields that are not in use: one of kHeldPart
    /// parts.
    static constexpr std::uint64_t kHeldPart = 4;

    static std::uint32_t page_shift(const PoolConfig& config) {
        const std::string name = traits().name;
        // One more than the number of the last field is to fit into a slot, below kBusy.
        if (config.bytes >= std::uint64_t{1} << 40) {
            throw std::invalid_argument(name + " needs a pool of less than 1 TiB");
        }
        return unit_shift(
            config.bytes, kSmallestPageShift,
            kSmallestPageShift + static_cast<std::uint32_t>(chosen(config.choices, kPages[0])),
            kFewestPages);
    }
    scatter::Layout layout() const {
        return {static_cast<std::uint32_t>(pool_bytes() >> page_shift_), page_shift_};
    }

    /// The chunks of a field that are allocations, in ascending order.
    void add_chunks(const std::vector<Word>& words, std::uint32_t size, std::uint32_t field,
                    std::vector<Region>& chunks) const {
        const scatter::Layout layout = this->layout();
        const std::uint64_t begin = layout.offset(size, field);
        const std::uint64_t bytes = std::uint64_t{1} << size;
        for (std::uint32_t bits = scatter::bits_of(words[layout.word(size, field)]); bits != 0;
             bits &= bits - 1) {
            const std::uint64_t at =
                begin + (static_cast<std::uint64_t>(std::countr_zero(bits)) << size);
            const std::uint32_t part = size - scatter::kFieldShift;
            const bool divides = size >= scatter::kSmallestField;
            const auto inner = static_cast<std::uint32_t>(at >> size);
            if (divides && scatter::size_of(words[layout.word(part, inner)]) == part) {
                add_chunks(words, part, inner, chunks);
            } else {
                chunks.push_back({at, bytes, true});
            }
        }
    }

    std::uint32_t page_shift_;
    List list_;
    std::uint32_t homes_ = 1;
    Buffer words_;
    Buffer slots_;
    Buffer state_;
};

using ScatterAlloc = BasicScatterAlloc<ScatterPolicy>;

static_assert(Allocator<ScatterAlloc>);

}  // namespace heapwood::allocators
