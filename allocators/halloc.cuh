/// @file
/// Halloc (Adinetz & Pleiter, "Halloc: a high-throughput dynamic memory allocator for GPGPU
/// architectures", GTC 2014; version 0.11), from its published description alone.
///
/// **Structure.** Memory is divided into slabs, a slab into pieces of one size class
/// (halloc/classes.cuh). A bitmap beside the pool says which pieces are free, a counter how many
/// are not. Requests go to a head slab of their class: they draw a number from the counter, which
/// is hashed to the piece at which the search in the bitmap begins. A head that is too full is
/// replaced by an empty slab, else by one that is roomy, or sparse, or by any other. A slab
/// whose pieces are all free returns to the circular list (circular/ring.cuh) from which slabs
/// are taken and which answers larger requests: the whole pool is one pool. halloc/slabs.cuh and
/// halloc/heads.cuh have the algorithm, and why it is sound.
///
/// **Parameters**, as published: slabs of 4 MiB; a head is busy, and replaced, with 83.5 % of its
/// pieces in use; roomy is up to 60 %, sparse up to 2 %; hash counter * 11 + try * 64; at most 32
/// tries.
///
/// **Against the original.**
/// - Every size is rounded up to a multiple of 16 bytes: the class of 24 bytes has none.
/// - Slabs are smaller in small pools: a pool has 1024 at least, and 16 for each multiprocessor,
///   down to slabs of 1 KiB.
/// - Pieces have up to 64 KiB, but at most an eighth of a slab, instead of 3 KiB. Larger requests
///   go to the list, and take several times as long there. On an H100 most of the time that Halloc
///   adds to a build was due to nodes of 3 KiB and more. The price: a request leaves up to a third
///   of its piece unused. With CUDA's malloc as the fallback pieces are those
///   published.
/// - A class has a head slab for every few multiprocessors, at most 64, instead of one. As there,
///   the lanes of a warp raise its counter together, if there are more than a few; but which lanes
///   do so is left to chance.
/// - Slabs start at multiples of their size; the original finds a piece's slab by a table of cells.
/// - Empty slabs are preferred to roomy and sparse ones (published: the other way round), for there
///   nothing need be searched: on an H100 that saved 2 to 7 % of builds with a pool of 20x.
/// - The counter is in one word with the head, so that one atomic operation finds the slab and
///   draws from it. It holds what is left for the head to give, and is reckoned against the slab's
///   own count, which the frees lower, only when the head is replaced or given new tickets.
/// - A slab that was empty is handed out in the order of the counter, to the last piece: nothing
///   need be searched there, and no bit be set. Hashing, and the limit of 83.5 %, are for slabs in
///   which pieces are in use.
/// - The hash is taken modulo the number of pieces, not a prime; a probe looks at all pieces of its
///   bitmap word; after 32 tries all words are looked through; and when the pool is full a class
///   uses its slabs to the last piece.
/// - Whether a slab is roomy or sparse is read off its state, of a few slabs at a time, rather than
///   from sets that follow it late.
/// - Freeing needs no nibble for the length of a block: the size is passed.
/// - The original holds a spin lock while it replaces a head, and its lanes wait in lockstep. Here
///   the lock may be ignored.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/halloc/classes.cuh"
#include "allocators/halloc/heads.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/fallback.cuh"
#include "allocators/parts/unit_shift.h"
#include "allocators/platform/crowd.cuh"

namespace heapwood::allocators {

/// Halloc's constants, and those of the list behind it.
struct HallocPolicy : circular::SharesOfSlabs {
    static constexpr std::uint32_t kLargestSlabShift = 22;
    /// Bytes of the largest piece, of a slab for at least 2^kPiecesShift; with CUDA's malloc as the
    /// fallback, as published.
    static constexpr std::uint32_t kLargestPiece = 65536;
    static constexpr std::uint32_t kPublishedLargestPiece = 3072;
    static constexpr std::uint32_t kPiecesShift = 3;
    // In thousandths of a slab's pieces.
    static constexpr std::uint32_t kBusy = 835;
    static constexpr std::uint32_t kRoomy = 600;
    static constexpr std::uint32_t kSparse = 20;
    static constexpr std::uint32_t kHashFactor = 11;
    static constexpr std::uint32_t kHashStride = 64;
    static constexpr std::uint32_t kTries = 32;
    /// Whether a slab with pieces in use is preferred to an empty one (published: yes).
    static constexpr bool kRoomyFirst = false;
    /// Slabs that are looked at for one that is roomy.
    static constexpr std::uint32_t kLooks = 64;
    /// Pauses before a request replaces a head that another is replacing: some milliseconds.
    static constexpr std::uint32_t kPatience = 4096;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;
    static constexpr std::uint32_t kMostHeads = 64;
    static constexpr std::uint64_t kSlabsPerMultiprocessor = 16;
    /// Slabs of the pool for each head of a class: open slabs are at most three eighths of it.
    static constexpr std::uint64_t kSlabsPerHead = 64;

    /// Whether lanes of a warp are to act for one another.
    HEAPWOOD_INLINE static bool is_crowded() { return platform::is_crowded(); }

    static constexpr Traits traits() {
        return {.name = "halloc",
                .title = "Halloc",
                .source = "Adinetz & Pleiter 2014",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 8,  // list header and predecessor, per granule
                .smallest_pool = 16384,
                .shares_regions = true};
    }
};

/// The host object: owns the pool, the slabs' states and bitmaps, and the heads.
template <class Policy>
class BasicHalloc {
    using Head = halloc::Head;
    using HeadWord = halloc::HeadWord;

public:
    using Ref = halloc::Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }
    static constexpr std::span<const Option> options() { return {&kFallback, 1}; }

    explicit BasicHalloc(const PoolConfig& config)
        : slab_shift_(slab_shift(config)),
          small_(largest_piece(config, slab_shift_)),
          granule_shift_(std::clamp(slab_shift_ - kGranulesShift, circular::kSmallestShift,
                                    kLargestGranuleShift)),
          pool_(config, granule_shift_, std::uint64_t{1} << slab_shift_) {
        const std::uint64_t slabs = pool_.list_bytes() >> slab_shift_;
        heads_each_ = std::bit_floor(static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(slabs / Policy::kSlabsPerHead, 1,
                                      std::clamp(config.multiprocessors, 1U, Policy::kMostHeads))));
        cell_count_ = std::max(static_cast<std::uint32_t>(slabs), 1U);
        states_ = Buffer(config.place, cell_count_ * sizeof(std::uint32_t));
        heads_ = Buffer(config.place, std::uint64_t{halloc::kClasses} * heads_each_ * sizeof(Head));
        bitmaps_ =
            Buffer(config.place, std::uint64_t{cell_count_} * halloc::bitmap_words(slab_shift_) *
                                     sizeof(std::uint32_t));
        cursors_ = Buffer(config.place, halloc::kClasses * sizeof(std::uint32_t));
        reset();
    }

    Ref ref() const {
        Ref r;
        r.slabs_.pool_ = pool_.ref();
        r.slabs_.memory_ = r.slabs_.pool().list().address(0);
        r.slabs_.states_ = states_.template as<std::uint32_t>();
        r.slabs_.bitmaps_ = bitmaps_.template as<std::uint32_t>();
        for (std::uint32_t k = 0; k < halloc::kClasses; ++k) r.slabs_.capacity_[k] = capacity(k);
        r.slabs_.cell_count_ = cell_count_;
        r.slabs_.slab_shift_ = slab_shift_;
        r.heads_ = heads_.template as<Head>();
        r.cursors_ = cursors_.template as<std::uint32_t>();
        r.small_ = small_;
        r.head_mask_ = heads_each_ - 1;
        return r;
    }
    void reset() {
        pool_.reset();
        states_.zero();
        const std::vector<Head> heads(halloc::kClasses * heads_each_, Head{halloc::kNoSlab, 0});
        heads_.write(0, heads.data(), heads_.size());
        bitmaps_.zero();
        cursors_.zero();
    }
    std::uint64_t pool_bytes() const { return pool_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return pool_.overhead_bytes() + states_.size() + heads_.size() + bitmaps_.size() +
               cursors_.size();
    }

    /// A slab with pieces in use is one region; one without any, which is a head, is free. Nothing
    /// with CUDA's malloc as the fallback.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<std::uint32_t> states(cell_count_);
        states_.read(0, states.data(), states.size() * sizeof(std::uint32_t));
        std::vector<Head> heads(halloc::kClasses * heads_each_);
        heads_.read(0, heads.data(), heads_.size());
        for (std::uint32_t i = 0; i < heads.size(); ++i) {
            const std::uint32_t slab = halloc::slab_of(heads[i].word);
            if (slab == halloc::kNowhere) continue;
            states[slab] -= halloc::tickets_left(heads[i].word, capacity(i / heads_each_));
        }
        pool_.for_each_region([&](Region r) {
            const std::uint64_t slab = r.offset >> slab_shift_;
            const bool is_slab =
                slab << slab_shift_ == r.offset && slab < states.size() && states[slab] != 0;
            if (is_slab && (states[slab] & halloc::kCount) == 0) r.allocated = false;
            visit(r);
        });
    }

private:
    static constexpr std::uint32_t kSmallestSlabShift = 10;
    /// Log2 of the list's granules in a slab, and of the largest granule's bytes.
    static constexpr std::uint32_t kGranulesShift = 6;
    static constexpr std::uint32_t kLargestGranuleShift = 9;
    static constexpr std::uint64_t kFewestSlabs = 1024;

    static std::uint32_t slab_shift(const PoolConfig& config) {
        const std::uint64_t bytes = FallbackPool<Policy>::list_bytes(config);
        const std::uint64_t slabs =
            std::max(kFewestSlabs, Policy::kSlabsPerMultiprocessor * config.multiprocessors);
        return unit_shift(bytes, kSmallestSlabShift, Policy::kLargestSlabShift, slabs);
    }
    static std::uint32_t largest_piece(const PoolConfig& config, std::uint32_t slab_shift) {
        return std::min(fallback_of(config) == Fallback::cudamalloc ? Policy::kPublishedLargestPiece
                                                                    : Policy::kLargestPiece,
                        1U << (slab_shift - Policy::kPiecesShift));
    }
    /// Pieces of a slab; 0: the class has none.
    std::uint32_t capacity(std::uint32_t number) const {
        const std::uint32_t bytes = halloc::SizeClass(number).bytes();
        return bytes % kAlignment != 0 || bytes > small_ ? 0 : (1U << slab_shift_) / bytes;
    }

    std::uint32_t slab_shift_;
    std::uint32_t small_;  // bytes of the largest piece
    std::uint32_t granule_shift_;
    FallbackPool<Policy> pool_;
    std::uint32_t heads_each_;
    std::uint32_t cell_count_;
    Buffer states_;
    Buffer heads_;
    Buffer bitmaps_;
    Buffer cursors_;
};

using Halloc = BasicHalloc<HallocPolicy>;

static_assert(Allocator<Halloc>);

}  // namespace heapwood::allocators
