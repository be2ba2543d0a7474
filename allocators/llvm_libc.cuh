/// @file
/// The allocator of LLVM's libc for GPUs (libc/src/__support/GPU, since 2025), from descriptions of
/// it alone: slabs of size classes with bit fields, and guards that count the users of a slab.
///
/// **Structure.** Memory is divided into slabs, a slab into pieces of one size class
/// (llvm_libc/classes.cuh). Beside the pool, a guard for each slab counts those that use it, and a
/// bit field says which pieces are in use. A request first raises the count, and searches the bits
/// only if the answer says that there is a piece for it. Lanes of a warp that ask for the same
/// class are counted together and set a run of bits by one operation. A slab whose count falls to 0
/// returns to the circular list (circular/ring.cuh) that slabs are taken from. llvm_libc/slabs.cuh
/// and llvm_libc/core.cuh have the algorithm, and why it is sound.
///
/// **Parameters**, as published: classes of powers of two times 1, 1.5 and 1.75; slabs of 2 MiB;
/// words of a bit field chosen at random (xorshift).
///
/// **Against the original.**
/// - Slabs come from the pool; there a kernel waits for the host, which hands them out.
/// - Slabs are smaller in small pools, so that there are 1024: from 2 MiB in a pool of 2 GiB to 64
///   KiB in one of 64 MiB, and below that to 1 KiB.
/// - Requests of more than a quarter of a slab go to the list itself (published: to the host). So
///   the whole pool is one pool, and a request of a byte more than a slab takes a granule of at
///   most 512 bytes more; slabs in a row would take a slab.
/// - The class is in one word with the count; the original reads it off the slab's head afterwards.
///   So one operation tells a request all. Bit fields lie beside the pool, where no user overwrites
///   them.
/// - A guard has two marks there: INVALID, that the slab is gone, and HELPED, by which a reader
///   that sees a count of 0 declares it gone, and tells the last user that it is still to release
///   the slab. INVALID is here the class 0. HELPED is needless: any thread may close an empty slab,
///   and the thread that has closed it returns it, so that no other need be told.
/// - Requests that came too late for a slab raise the count of its guard for good there. Here each
///   takes its addition back, so that the count of a dead guard does not grow.
/// - Bits are set there and cleared without ordering. Here clearing is a release and setting an
///   acquire, for a piece's next owner must see what was done to it.
/// - A search begins at the bit whose number is the count: in a slab of which nothing has been
///   freed it ends there. There all tries are random; here the random words that follow are read
///   first, and after 32 of them all words are looked through.
/// - A slab that a class is working on is held by one of up to 64 slots of that class, also while
///   it is empty. There a slab is released with its last piece, and a stack keeps a few of these.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "allocators/allocator.cuh"
#include "allocators/circular/policy.cuh"
#include "allocators/llvm_libc/classes.cuh"
#include "allocators/llvm_libc/core.cuh"
#include "allocators/llvm_libc/slabs.cuh"
#include "allocators/memory/buffer.h"
#include "allocators/parts/slab_list.cuh"
#include "allocators/platform/crowd.cuh"

namespace heapwood::allocators {

/// The allocator's constants, and those of the list behind it.
struct LlvmLibcPolicy : circular::SharesOfSlabs {
    static constexpr std::uint32_t kLargestSlabShift = 21;
    static constexpr std::uint64_t kFewestSlabs = 1024;
    /// A slab has at least 2^kPiecesShift pieces.
    static constexpr std::uint32_t kPiecesShift = 2;
    /// Words that a request looks at before it looks at all.
    static constexpr std::uint32_t kTries = 32;
    /// Pauses before a request refills a slot that another is refilling: some milliseconds.
    static constexpr std::uint32_t kPatience = 4096;
    /// How many times a request that was unlucky tries again.
    static constexpr std::uint32_t kRounds = 64;
    static constexpr std::uint32_t kMostSlots = 64;
    /// Slabs of the pool for each slot of a class: slots hold at most three eighths of it.
    static constexpr std::uint64_t kSlabsPerSlot = 128;

    /// Whether lanes of a warp are to act for one another.
    HEAPWOOD_INLINE static bool is_crowded() { return platform::is_crowded(); }

    static constexpr Traits traits() {
        return {.name = "llvm-libc",
                .title = "LLVM libc",
                .source = "LLVM libc for GPUs, 2025",
                .frees_individually = true,
                .full = true,
                .walkable = true,
                .header_bytes = 8,  // list header and predecessor, per granule
                .smallest_pool = 16384};
    }
};

/// The host object: owns the pool, the slabs' guards and bit fields, and the slots.
template <class Policy>
class BasicLlvmLibc {
public:
    using Ref = llvm_libc::Core<Policy>;

    static constexpr Traits traits() { return Policy::traits(); }

    explicit BasicLlvmLibc(const PoolConfig& config)
        : list_(config),
          cell_count_(list_.slab_count()),
          slots_each_(std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
              cell_count_ / Policy::kSlabsPerSlot, 1,
              std::clamp(config.multiprocessors, 1U, Policy::kMostSlots))))),
          guards_(config.place, std::uint64_t{cell_count_} * sizeof(Word)),
          bits_(config.place, std::uint64_t{cell_count_} * words_each() * sizeof(Word)),
          slots_(config.place, std::uint64_t{llvm_libc::kClasses} * slots_each_ * sizeof(Word)) {
        clear_tables();
    }

    Ref ref() const {
        Ref r;
        r.slabs_.list_ = list_.ref();
        r.slabs_.guards_ = guards_.template as<Word>();
        r.slabs_.bits_ = bits_.template as<Word>();
        for (Word k = 0; k < llvm_libc::kClasses; ++k) r.slabs_.capacity_[k] = capacity(k);
        r.slabs_.cell_count_ = cell_count_;
        r.slots_ = slots_.template as<Word>();
        r.small_ = 1U << (list_.slab_shift() - Policy::kPiecesShift);
        r.slot_mask_ = slots_each_ - 1;
        return r;
    }
    void reset() {
        list_.reset();
        clear_tables();
    }
    std::uint64_t pool_bytes() const { return list_.pool_bytes(); }
    std::uint64_t overhead_bytes() const {
        return list_.overhead_bytes() + guards_.size() + bits_.size() + slots_.size();
    }

    /// Pieces in use are allocations. What lies between those of a slab is free, and so is what
    /// remains behind its last piece.
    template <class Visitor>
    void for_each_region(Visitor&& visit) const {
        std::vector<Word> guards(cell_count_);
        guards_.read(0, guards.data(), guards_.size());
        std::vector<Word> bits(words_each());
        list_.for_each_region(visit, [&](const Region& r, std::uint32_t slab) {
            const Word number = llvm_libc::class_in(guards[slab]);
            if (number == 0) return false;
            bits_.read(std::uint64_t{slab} * words_each() * sizeof(Word), bits.data(),
                       bits.size() * sizeof(Word));
            list_.for_each_piece(
                r, llvm_libc::SizeClass(number).bytes(), capacity(number),
                [&](std::uint32_t n) { return (bits[n / 32] >> n % 32 & 1U) != 0; }, visit);
            return true;
        });
    }

private:
    using Word = std::uint32_t;

    /// Words of a slab's bit field.
    std::uint32_t words_each() const { return 1U << (list_.slab_shift() - llvm_libc::kWordShift); }
    /// Pieces of a slab; 0: the class has none.
    std::uint32_t capacity(Word number) const {
        const std::uint32_t bytes = llvm_libc::SizeClass(number).bytes();
        return bytes % kAlignment != 0 ? 0 : (1U << list_.slab_shift()) / bytes;
    }
    void clear_tables() {
        for (Buffer* b : {&guards_, &bits_, &slots_}) b->zero();
    }

    SlabListPool<Policy> list_;
    std::uint32_t cell_count_;
    std::uint32_t slots_each_;
    Buffer guards_;
    Buffer bits_;
    Buffer slots_;
};

using LlvmLibc = BasicLlvmLibc<LlvmLibcPolicy>;

static_assert(Allocator<LlvmLibc>);

}  // namespace heapwood::allocators
