/// @file
/// The part of LLVM's libc that runs in kernels: slots that name the slabs (slabs.cuh) at which
/// requests begin. llvm_libc.cuh says what it is made of and after whom.
///
/// **Slots.** A class has slots for groups of multiprocessors. A slot holds a slab: it is not
/// closed while it is empty. A slot changes by an exchange or a compare-and-swap, and the thread
/// that takes a slab out takes back its hold; a slab is in one slot at most, for only one request
/// can make it held. What a slot says of a slab is a hint that its guard confirms.
///
/// **Which slab.** A request enters its slot's slab. If that has no room, one request marks the
/// slot as busy and opens a new slab; the others try the other slots of the class meanwhile, and
/// after kPatience pauses open one themselves. When the list has no slab left, that is remembered
/// until something returns to it, and requests look at the guards of all slabs for one of their
/// class with room, and leave it in their slot.
///
/// **Progress.** Nobody waits for long, and all searches are bounded. A request that has found
/// nothing, and a large one, takes slabs that are not in use off their slots and tries again. A
/// request is refused when the list and all guards have yielded nothing, nothing has returned to
/// the list meanwhile, and no other thread was seen that held a slab, or room in one, which it was
/// about to give; or after kRounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/llvm_libc/classes.cuh"
#include "allocators/llvm_libc/slabs.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/lanes.cuh"
#include "allocators/platform/warp.cuh"

namespace heapwood::allocators::llvm_libc {

/// Set in a slot while one request refills it. Below it: the number of its slab, plus 1; or 0.
inline constexpr std::uint32_t kBusy = 1U << 31;

/// The handle that kernels use.
template <class Policy>
class Core {
public:
    HEAPWOOD_FN void* allocate(const Context& context, std::size_t bytes) const {
        if (bytes - 1 < small_ && !Policy::is_crowded()) {  // not 0
            const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
            const Entry entry =
                enter(context, slot(context.multiprocessor, k).load_relaxed(), k, 1);
            if (entry != kNoEntry) {
                void* p = slabs_.take(slab_of(entry), count_of(entry), k);
                if (p == nullptr) p = slabs_.search(context, entry, kNowhere, k);
                if (p != nullptr) return p;
            }
        }
        return allocate_slowly(context, bytes);
    }
    HEAPWOOD_FN void deallocate(const Context& context, void* p, std::size_t bytes) const {
        if (p == nullptr) return;
        if (bytes > small_ || Policy::is_crowded()) return deallocate_slowly(context, p, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        slabs_.leave(context, slabs_.clear(p, k), 1);
    }
    HEAPWOOD_FN std::uint64_t granted_bytes(const void* p, std::size_t bytes) const {
        if (p == nullptr) return 0;
        if (bytes > small_) return slabs_.list().granted_bytes(p);
        return SizeClass::of(static_cast<std::uint32_t>(bytes)).bytes();
    }
    /// For heaps: heap/known_blocks.cuh.
    HEAPWOOD_FN std::uint64_t known_bytes(const void* p) const { return slabs_.known_bytes(p); }
    HEAPWOOD_FN std::size_t largest_known() const { return small_; }

private:
    friend class BasicLlvmLibc<Policy>;

    using Slot = platform::AtomicRef<std::uint32_t>;

    HEAPWOOD_INLINE std::uint32_t index_of(std::uint32_t number, SizeClass k) const {
        return k.number() * (slot_mask_ + 1) + (number & slot_mask_);
    }
    HEAPWOOD_INLINE Slot slot(std::uint32_t number, SizeClass k) const {
        return Slot(slots_[index_of(number, k)]);
    }
    /// Enters the slab of a slot of that content, if there is one, n times.
    HEAPWOOD_INLINE Entry enter(const Context& context, std::uint32_t slot, SizeClass k,
                                std::uint32_t n) const {
        slot &= ~kBusy;
        return slot == 0 ? kNoEntry : slabs_.enter(context, slot - 1, k, n);
    }
    /// The same, but only looks at a slab that has no room.
    HEAPWOOD_FN Entry enter_roomy(const Context& context, Slot slot, SizeClass k,
                                  std::uint32_t n) const {
        const std::uint32_t content = slot.load_relaxed() & ~kBusy;
        if (content == 0) return kNoEntry;
        const std::uint32_t guard = slabs_.guard(content - 1).load_relaxed();
        return slabs_.room_in(guard, k) == 0 ? kNoEntry : enter(context, content, k, n);
    }

    // What is rare is out of line, so that it costs callers no registers, and takes contexts by
    // value, so that theirs need not lie in memory.

    /// Of many lanes that are here with pieces of the same slab, one leaves for all.
    HEAPWOOD_NOINLINE void deallocate_slowly(Context context, void* p, std::size_t bytes) const {
        if (bytes > small_) return slabs_.list().give(context, p);
        const std::uint32_t slab =
            slabs_.clear(p, SizeClass::of(static_cast<std::uint32_t>(bytes)));
        const platform::Lanes lanes(slabs_.guard(slab));
        lanes.sync();
        if (lanes.rank() == 0) slabs_.leave(context, slab, lanes.count());
    }

    /// Of lanes that are here with the same slot, one enters a slab for all.
    HEAPWOOD_NOINLINE void* allocate_slowly(Context context, std::size_t bytes) const {
        if (bytes == 0) return nullptr;
        if (bytes > small_) return allocate_large(context, bytes);
        const SizeClass k = SizeClass::of(static_cast<std::uint32_t>(bytes));
        const Slot own = slot(context.multiprocessor, k);
        for (std::uint32_t round = 0; round < Policy::kRounds; ++round) {
            const platform::Lanes lanes(own);
            Entry entry = kNoEntry;
            if (lanes.rank() == 0) entry = supply(context, k, lanes.count());
            entry = lanes.of_leader(entry);
            lanes.sync();
            if (entry == kRefused) return nullptr;
            if (entry == kNoEntry) {
                platform::back_off(round);
                continue;
            }
            entry += lanes.rank();
            if (count_of(entry) >= slabs_.capacity(k)) continue;
            if (void* p = slabs_.search(context, entry, count_of(entry), k)) return p;
        }
        return nullptr;
    }
    HEAPWOOD_FN void* allocate_large(const Context& context, std::size_t bytes) const {
        for (bool again = false;; again = true) {
            bool full;
            void* p = slabs_.list().allocate(context, bytes, full);
            if (p != nullptr || again || !take_idle(context)) return p;
        }
    }

    /// Enters a slab with room n times, and sees to it that there is one. kNoEntry: to be tried
    /// again; kRefused: there is none to be had.
    HEAPWOOD_NOINLINE Entry supply(Context context, SizeClass k, std::uint32_t n) const {
        const Slot own = slot(context.multiprocessor, k);
        Entry entry = enter_roomy(context, own, k, n);
        for (std::uint32_t attempt = 0;
             entry == kNoEntry && !slabs_.list().is_full(slabs_.list().returned()); ++attempt) {
            std::uint32_t seen = own.load_relaxed();
            const bool locked = (seen & kBusy) == 0 && own.cas_relaxed(seen, seen | kBusy);
            if (locked || attempt == Policy::kPatience) {
                entry = refill(context, own, seen | kBusy, k, n);
                break;
            }
            entry = enter_roomy(context, own, k, n);
            if (entry != kNoEntry) break;
            entry = enter_roomy(context, slot(context.multiprocessor + 1 + attempt, k), k, n);
            platform::back_off(attempt);
        }
        return entry == kNoEntry ? find(context, own, k, n) : entry;
    }
    /// Opens a slab for a slot, which the caller has marked as busy, or has waited for long enough.
    HEAPWOOD_FN Entry refill(const Context& context, Slot own, std::uint32_t busy, SizeClass k,
                             std::uint32_t n) const {
        // Another one may have done so between this one's look and its mark.
        Entry entry = enter_roomy(context, own, k, n);
        if (entry == kNoEntry) {
            entry = slabs_.open(context, k, n);
            if (entry != kNoEntry) {
                publish(context, own, slab_of(entry));
                return entry;
            }
        }
        Policy::pause();
        own.cas_relaxed(busy, busy & ~kBusy);
        return entry;
    }
    /// Leaves a slab, which the caller has made held, in its slot.
    HEAPWOOD_FN void publish(const Context& context, Slot own, std::uint32_t slab) const {
        Policy::pause();
        const std::uint32_t old = own.exchange_acquire(slab + 1) & ~kBusy;
        if (old != 0) slabs_.drop(context, old - 1);
    }

    /// Looks at all slabs for one of the class with room. Makes others return if there is none.
    HEAPWOOD_NOINLINE Entry find(Context context, Slot own, SizeClass k, std::uint32_t n) const {
        const std::uint64_t returned = slabs_.list().returned();
        bool certain = slabs_.list().is_full(returned);
        for (std::uint32_t i = 0; i <= slot_mask_; ++i) {
            if ((slot(i, k).load_relaxed() & kBusy) != 0) certain = false;
        }
        for (std::uint32_t i = 0; i < slabs_.cell_count(); i += kBatch) {
            std::uint32_t seen[kBatch];
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t j = 0; j < kBatch; ++j) {
                seen[j] = i + j < slabs_.cell_count() ? slabs_.guard(i + j).load_relaxed() : 0;
            }
            HEAPWOOD_UNROLL_ALL
            for (std::uint32_t j = 0; j < kBatch; ++j) {
                // Those that have found no room, and the one that closes a slab, are about to
                // leave.
                const std::uint32_t number = class_in(seen[j]);
                if (number != 0 && number != k.number()) continue;
                if ((seen[j] & kCount) > (number == 0 ? 0 : slabs_.capacity(k))) certain = false;
                if (slabs_.room_in(seen[j], k) == 0) continue;
                const Entry entry = slabs_.enter(context, i + j, k, n);
                if (entry != kNoEntry) {
                    if (slabs_.hold(i + j)) publish(context, own, i + j);
                    return entry;
                }
                certain = false;
            }
        }
        if (take_idle(context)) return kNoEntry;
        return certain && slabs_.list().returned() == returned ? kRefused : kNoEntry;
    }
    /// Takes slabs that are not in use off their slots. @return whether there was one.
    HEAPWOOD_NOINLINE bool take_idle(Context context) const {
        const std::uint32_t end = index_of(0, SizeClass::of(small_)) + slot_mask_ + 1;
        bool any = false;
        for (std::uint32_t i = 0; i < end; ++i) {
            const Slot it(slots_[i]);
            std::uint32_t seen = it.load_relaxed();
            if (seen == 0 || (seen & kBusy) != 0) continue;
            if ((slabs_.guard(seen - 1).load_relaxed() & kCount) != 0) continue;
            Policy::pause();
            if (!it.cas_relaxed(seen, 0)) continue;
            slabs_.drop(context, seen - 1);
            any = true;
        }
        return any;
    }

    /// Guards that are read at once, for each takes a GPU the better part of a microsecond.
    static constexpr std::uint32_t kBatch = 8;

    Slabs<Policy> slabs_;
    std::uint32_t* slots_;
    std::uint32_t small_;  // bytes
    std::uint32_t slot_mask_;
};

}  // namespace heapwood::allocators::llvm_libc
