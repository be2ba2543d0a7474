/// @file
/// A KMA-style allocator, after the description of KMA (Spliet, Howes, Gaster & Varbanescu, "KMA: A
/// Dynamic Memory Manager for OpenCL", GPGPU-7, 2014).
///
/// **Structure.** Superblocks are divided into pages of one power of two of bytes. A map leads from
/// a size to the superblock where requests begin. A request first reserves a page in the
/// superblock's state word, by an atomic operation, and then searches its bitmap. Superblocks that
/// are free wait in a queue after Michael & Scott, for requests of any size. kma/superblocks.cuh,
/// kma/core.cuh and kma/queue.cuh have the algorithms, and why they are sound.
///
/// **What the description leaves open**, and what is chosen here:
/// - How large superblocks are, and pages. 256 KiB; in a pool of less than 256 MiB smaller, so that
///   there are 1024, but not below 1 KiB. Pages have 16 bytes to a quarter of a superblock, so that
///   a superblock has four at least.
/// - What is done with larger requests. They go to a circular list (circular/ring.cuh), from which
///   superblocks come as well when the queue has none, and to which the queue is emptied when a
///   large request finds nothing. So the whole pool is one pool.
/// - How the map hashes. Sizes are rounded to powers of two first, so there are few keys: the map
///   has slots for each, up to 64 of which multiprocessors choose by their number. So no two sizes
///   collide, and those who ask for the same size do not all meet at one state word.
/// - What becomes of a superblock that is full, and gets room again outside of the map. A tree of
///   bits for each size lists it (segments/bit_tree.cuh), and requests take such a one before they
///   open another.
/// - When a superblock is free. At once with its last page, unless the map has it; the map gives it
///   up when a request finds nothing else.
/// - How the bitmap is searched. From the bit whose number is the count of reserved pages: in a
///   superblock of which nothing has been freed the search ends there.
/// - Who reclaims the queue's nodes, and how they are told apart when they come back. They belong
///   to the superblocks, and are tagged: there is nothing to reclaim.
///
/// **Against the original.** Its upper layer, of data structures, is not here. All state lies
/// beside the pool, where no user overwrites it, and free is told the size. Lanes of a warp that
/// ask for the same size together make one reservation. Orders of memory are those of C++.
///
/// **What remains open.** A search of the list is no snapshot (circular/ring.cuh). While others
/// allocate and free, a large request may be refused although a chunk for it comes to be free, and
/// so may one for pages that needs a superblock from there.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/kma/core.cuh"
#include "allocators/kma/queue.cuh"
#include "allocators/kma/superblocks.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/moves.cuh"
#include "allocators/parts/slab_list.cuh"
#include "allocators/segments/bit_tree.cuh"

namespace heapwood::allocators {

/// The allocator's constants, and those of the list behind it.
struct KmaPolicy : circular::SharesOfSlabs {
    static constexpr std::uint32_t kLargestSlabShift = 18;  ///< a superblock's
    static constexpr std::uint64_t kFewestSlabs = 1024;
    /// A superblock has at least 2^kPagesShift pages.
    static constexpr std::uint32_t kPagesShift = 2;
    /// How often a request that has reserved a page looks at all words of a bitmap.
    static constexpr std::uint32_t kPasses = 4;
    /// Roomy superblocks that a request tries before it opens one.
    static constexpr std::uint32_t kTries = 32;
    /// Pauses before a request replaces what another is replacing: some milliseconds.
    static constexpr std::uint32_t kPatience = 4096;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;
    static constexpr std::uint32_t kMostSlots = 64;
    /// Superblocks of the pool for each slot of a class: slots hold at most an eighth of it.
    static constexpr std::uint64_t kSuperblocksPerSlot = 128;

    static constexpr Traits traits() {
        return {.name = "kma",
                .title = "KMA-style",
                .source = "Spliet et al. 2014",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 8,  // list header and predecessor, per granule
                .smallest_pool = 16384,
                .slow_crowds = true};
    }
};

/// The host object: owns the pool, the superblocks' states and bitmaps, the trees, the queue and
/// the map.
template <class Policy>
class BasicKma {
public:
    using Ref = kma::Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }

    explicit BasicKma(const PoolConfig& config)
        : list_(config),
          count_(list_.slab_count()),
          classes_(list_.slab_shift() - Policy::kPagesShift - kma::kPageShift),
          slots_each_(std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
              count_ / Policy::kSuperblocksPerSlot, 1,
              std::clamp(config.multiprocessors, 1U, Policy::kMostSlots))))),
          shape_(segments::TreeShape::of(count_)),
          states_(config.place, count_ * sizeof(kma::State)),
          bits_(config.place, std::uint64_t{count_} * words_each() * sizeof(std::uint64_t)),
          trees_(config.place, std::uint64_t{shape_.words()} * classes_ * sizeof(std::uint64_t)),
          slots_(config.place, std::uint64_t{classes_} * slots_each_ * sizeof(std::uint32_t)),
          nodes_(config.place, (std::uint64_t{count_} + 1) * sizeof(kma::Node)),
          ends_(config.place, sizeof(kma::QueueEnds)),
          moves_(config.place, sizeof(Moves::Word)) {
        clear_tables();
    }

    Ref ref() const {
        Ref r;
        r.superblocks_.list_ = list_.ref();
        r.superblocks_.states_ = states_.template as<kma::State>();
        r.superblocks_.bits_ = bits_.template as<std::uint64_t>();
        r.superblocks_.trees_ = trees_.template as<std::uint64_t>();
        r.superblocks_.ends_ = ends_.template as<kma::QueueEnds>();
        r.superblocks_.nodes_ = nodes_.template as<kma::Node>();
        r.superblocks_.moves_ = moves_.template as<Moves::Word>();
        r.superblocks_.shape_ = shape_;
        r.superblocks_.count_ = count_;
        r.slots_ = slots_.template as<std::uint32_t>();
        r.slot_mask_ = slots_each_ - 1;
        r.slot_count_ = classes_ * slots_each_;
        r.largest_page_ = 1U << (list_.slab_shift() - Policy::kPagesShift);
        return r;
    }
    void reset() {
        list_.reset();
        clear_tables();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + states_.size() + bits_.size() + trees_.size() +
               slots_.size() + nodes_.size() + ends_.size() + moves_.size();
    }

    /// Pages in use are allocations. What lies between those of a superblock is free, and so is a
    /// superblock in the queue.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<kma::State> states(count_);
        states_.read(0, states.data(), states_.size());
        std::vector<std::uint64_t> bits(words_each());
        list_.for_each_region(visit, [&](const Region& r, std::uint32_t i) {
            if (states[i] == 0) return false;
            if (states[i] == kma::kQueued) {
                visit(Region{r.offset, r.size, false});
                return true;
            }
            const std::uint32_t shift = kma::kPageShift + kma::class_in(states[i]);
            bits_.read(std::uint64_t{i} * words_each() * sizeof(std::uint64_t), bits.data(),
                       bits.size() * sizeof(std::uint64_t));
            list_.for_each_piece(
                r, std::uint64_t{1} << shift, (1U << list_.slab_shift()) >> shift,
                [&](std::uint32_t n) { return (bits[n / 64] >> n % 64 & 1U) != 0; }, visit);
            return true;
        });
    }

private:
    /// Words of a superblock's bitmap, which has a bit for each of the smallest pages.
    std::uint32_t words_each() const { return 1U << (list_.slab_shift() - 10); }
    void clear_tables() {
        for (Buffer* b : {&states_, &bits_, &trees_, &slots_, &moves_}) b->zero();
        std::vector<kma::Node> nodes(count_ + 1);
        for (std::uint32_t i = 0; i <= count_; ++i) nodes[i] = Queue::first_node(i);
        nodes_.write(0, nodes.data(), nodes_.size());
        const kma::QueueEnds ends{count_, count_};
        ends_.write(0, &ends, sizeof(ends));
    }

    using Queue = kma::Queue<Policy>;

    SlabListPool<Policy> list_;
    std::uint32_t count_;
    std::uint32_t classes_;
    std::uint32_t slots_each_;  // of a class
    segments::TreeShape shape_;
    Buffer states_;
    Buffer bits_;
    Buffer trees_;
    Buffer slots_;
    Buffer nodes_;
    Buffer ends_;
    Buffer moves_;
};

using Kma = BasicKma<KmaPolicy>;

static_assert(Allocator<Kma>);

}  // namespace heapwood::allocators
