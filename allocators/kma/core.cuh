/// @file
/// The part of KMA that runs in kernels: a map from sizes to superblocks (superblocks.cuh), at
/// which requests begin. kma.cuh says what it is made of and after whom.
///
/// **The map.** A class has slots for groups of multiprocessors. A slot has a superblock, or none;
/// a superblock is in one slot at most, for only one thread can make it mapped. What a slot says is
/// a hint that the superblock's state confirms. Only a thread that has replaced a slot's superblock
/// by a compare-and-swap takes it off the map.
///
/// **Which superblock.** A request first tries that of its slot. If it has no room, one request
/// marks the slot as busy and puts another superblock there: a roomy one of the class, else a free
/// one of the queue, else a new one of the list. The others try the other slots of the class
/// meanwhile, and after kPatience pauses do so themselves: a superblock that finds its slot taken
/// goes to the roomy ones. Lanes that ask for the same class at the same time have one of them
/// take pages for all; a lane that is left over asks again.
///
/// **Progress.** Nobody waits for long. A request that has found nothing, and a large one, takes
/// superblocks that are not in use off the map, into the queue; a large one returns the queue to
/// the list. A request is refused when that yields nothing, the slots and roomy superblocks of its
/// class and the list neither, and no other thread hides what it is about to publish
/// (parts/moves.cuh); or after kRounds, in the last of which it looks at the states of all
/// superblocks: so a thread that is stalled hides no more than a page that it has reserved, the
/// superblock that it opens, closes, or returns, or the chunk of the list that it divides.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/kma/superblocks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::kma {

/// Set in a slot while one request replaces its superblock. Below it: the superblock's number, plus
/// 1; or 0.
inline constexpr std::uint32_t kBusy = std::uint32_t{1} << 31;

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 >= largest_page_) return allocate_large(context, bytes);  // or 0
        const std::uint32_t k = class_of(static_cast<std::uint32_t>(bytes));
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const platform::Lanes lanes(slot(context.multiprocessor, k));
            Claim claim;
            if (lanes.rank() == 0) {
                claim = take_mapped(slot(context.multiprocessor, k), k, lanes.count());
                if (claim.pages == 0) claim = supply(context, k, lanes.count());
            }
            claim = {lanes.of_leader(claim.offset), lanes.of_leader(claim.pages)};
            lanes.sync();
            if (claim.pages == 0) return nullptr;
            if (lanes.rank() < platform::popcount(claim.pages)) {
                const std::uint64_t page = platform::bit_of_rank(claim.pages, lanes.rank());
                return superblocks_.list().slab(0) + claim.offset + (page << (kPageShift + k));
            }
        }
        return nullptr;
    }
    /// Of many lanes that are here with pages of the same superblock, one leaves for all.
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > largest_page_) return superblocks_.list().give(context, p);
        const std::uint32_t i = superblocks_.number_at(superblocks_.list().offset(p));
        superblocks_.clear(p, i, class_of(static_cast<std::uint32_t>(bytes)));
        const platform::Lanes lanes(superblocks_.state(i));
        lanes.sync();
        if (lanes.rank() == 0) superblocks_.leave(i, lanes.count());
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > largest_page_) return superblocks_.list().granted_bytes(p);
        return std::uint64_t{1} << (kPageShift + class_of(static_cast<std::uint32_t>(bytes)));
    }

    /// See heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const {
        return superblocks_.known_bytes(p);
    }
    HEAPWOOD_FN std::size_t largest_known() const { return largest_page_; }

private:
    friend class BasicKma<Policy>;

    using Slot = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE Slot slot(std::uint32_t number, std::uint32_t k) const {
        return Slot(slots_[(k - 1) * (slot_mask_ + 1) + (number & slot_mask_)]);
    }
    /// Up to n pages of a slot's superblock.
    HEAPWOOD_FN Claim take_mapped(Slot slot, std::uint32_t k, std::uint32_t n) const {
        const std::uint32_t content = slot.load_relaxed() & ~kBusy;
        return content == 0 ? Claim{} : superblocks_.take(content - 1, k, n);
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory. But each call within a call costs some.

    /// Up to n pages of a superblock that this one puts into the slot, or another. None: there are
    /// none to be had.
    HEAPWOOD_NOINLINE Claim supply(Context context, std::uint32_t k, std::uint32_t n) const {
        const Slot own = slot(context.multiprocessor, k);
        Claim claim;
        std::uint32_t content = own.load_relaxed();
        for (std::uint32_t i = 0; i < Policy::kPatience && may_replace(k); ++i) {
            if ((content & kBusy) == 0 && own.cas_relaxed(content, content | kBusy)) {
                content |= kBusy;
                break;
            }
            claim = take_mapped(own, k, n);
            if (claim.pages != 0) return claim;
            claim = take_mapped(slot(context.multiprocessor + 1 + i, k), k, n);
            if (claim.pages != 0) return claim;
            platform::back_off(i);
            content = own.load_relaxed();
        }
        bool idle = false;
        insist(
            Policy::kRounds, [this] { return superblocks_.moves(); },
            [&](bool last) {
                // Another one may have replaced it between this one's look and its mark.
                claim = take_mapped(own, k, n);
                if (claim.pages == 0) claim = replace(context, own, content, k, n);
                Policy::pause();
                own.cas_relaxed(content, content & ~kBusy);
                content = own.load_relaxed();
                for (std::uint32_t i = 0; i <= slot_mask_ && claim.pages == 0; ++i) {
                    claim = take_mapped(slot(i, k), k, n);
                }
                if (claim.pages == 0 && last) claim = superblocks_.take_any(k, n);
                idle = claim.pages == 0 && unmap_idle();
                return claim.pages != 0;
            },
            [&] { return idle || may_replace(k); });
        return claim;
    }
    /// Whether replace() may find something.
    HEAPWOOD_INLINE bool may_replace(std::uint32_t k) const {
        return superblocks_.roomy(k).find(0) != kNone || superblocks_.may_open();
    }
    /// Up to n pages of a superblock of class k that is put into a slot of that content.
    HEAPWOOD_FN Claim replace(const Context& context, Slot slot, std::uint32_t content,
                              std::uint32_t k, std::uint32_t n) const {
        const BitTree roomy = superblocks_.roomy(k);
        // From the last one on, which is (content & ~kBusy) - 1.
        std::uint32_t i = roomy.find(content & ~kBusy);
        for (std::uint32_t tries = 0; tries < Policy::kTries; ++tries) {
            if (i == kNone) i = roomy.find(0);
            if (i == kNone) break;
            const Claim claim = superblocks_.take(i, k, n);
            if (claim.pages != 0) {
                superblocks_.moves().begin();
                Policy::pause();
                if (superblocks_.map(i, k)) put(slot, content, i);
                superblocks_.moves().end();
                return claim;
            }
            if (roomy.has(i)) superblocks_.unlist(i, k);
            i = roomy.find(i + 1);
        }
        if (!superblocks_.may_open()) return {};
        superblocks_.moves().begin();
        Policy::pause();
        const Claim claim = superblocks_.open(context, k, n);
        if (claim.pages == 0) {
            superblocks_.moves().end_in_vain();
        } else {
            put(slot, content, superblocks_.number_at(claim.offset));
            superblocks_.moves().end();
        }
        return claim;
    }
    /// Puts a superblock that the caller has mapped into a slot of that content, and takes the
    /// former one off the map; or itself, if the slot has another content by now.
    HEAPWOOD_NOINLINE void put(Slot slot, std::uint32_t content, std::uint32_t i) const {
        const std::uint32_t former = content & ~kBusy;
        Policy::pause();
        if (!slot.cas_relaxed(content, i + 1)) return superblocks_.unmap(i);
        if (former != 0) superblocks_.unmap(former - 1);
    }
    /// Takes superblocks that are not in use off the map. @return whether there was one.
    HEAPWOOD_NOINLINE bool unmap_idle() const {
        bool any = false;
        for (std::uint32_t i = 0; i < slot_count_; ++i) {
            const Slot it(slots_[i]);
            std::uint32_t seen = it.load_relaxed();
            const std::uint32_t former = seen & ~kBusy;
            if (former == 0 || !superblocks_.is_idle(former - 1)) continue;
            superblocks_.moves().begin();
            Policy::pause();
            if (it.cas_relaxed(seen, 0)) {
                superblocks_.unmap(former - 1);
                superblocks_.moves().end();
                any = true;
            } else {
                superblocks_.moves().end_in_vain();
            }
        }
        return any;
    }
    HEAPWOOD_NOINLINE void* allocate_large(Context context, std::size_t bytes) const {
        const auto& list = superblocks_.list();
        if (bytes == 0 || bytes >> list.slab_shift() > superblocks_.count()) return nullptr;
        bool full;
        void* p = list.allocate(context, bytes, full);
        if (p != nullptr) return p;
        bool more = false;
        insist(
            Policy::kRounds, [this] { return superblocks_.moves(); },
            [&](bool) {
                unmap_idle();
                more = superblocks_.empty_queue(context);
                p = list.allocate(context, bytes, full);
                return p != nullptr;
            },
            [&] { return more || !full; });
        return p;
    }

    Superblocks<Policy> superblocks_;
    std::uint32_t* slots_;
    std::uint32_t slot_mask_;   // of the slots of a class
    std::uint32_t slot_count_;  // of all classes
    std::uint32_t largest_page_;
};

}  // namespace heapwood::allocators::kma
