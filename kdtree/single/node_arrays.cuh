/// @file
/// Where a warp's nodes have their references: in arrays from the allocator, or, small ones, in
/// memory of the warp's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/platform/warp.cuh"
#include "kdtree/single/build_output.cuh"
#include "kdtree/single/build_state.cuh"
#include "kdtree/single/division.cuh"

namespace heapwood::kdtree {

/// What a worker is compiled for (BuildConfig::small_arrays): arrays from the allocator for every
/// node, for large ones only, or either, as the problem says. A kernel for one is faster: 2 % with
/// atomicmalloc, 8 % with hybrid (sponza, H100).
enum class Arrays { every, large, either };

/// The child with more references is gone on with first: on the longest way to a leaf nobody should
/// wait.
HEAPWOOD_INLINE unsigned goes_first(const Split& split) {
    return split.left > split.right ? 0 : 1;
}

/// One warp's requests and frees, and its arena: kArenaSize references of its own. The nodes on the
/// warp's stack whose arrays are in the arena have them in the stack's order; whatever is beyond
/// that of the newest is free.
template <platform::Warp W, class A, Arrays kArrays>
class NodeArrays {
    using AllocatorRef = typename A::Ref;
    /// Both children's arrays are taken in one request, as the papers do, where nobody minds that
    /// they are freed apart from one another.
    static constexpr bool kJoint = A::traits().splittable || !A::traits().frees_individually;

public:
    /// Whether arrays are freed at all.
    static constexpr bool kFrees = A::traits().frees_individually;
    /// Whether lanes of a warp may ask for the arrays of several nodes at the same time.
    static constexpr bool kForLanes = W::width > 1 && kArrays != Arrays::large &&
                                      (kJoint || !A::traits().slow_crowds);

    /// Refers to its arguments but the context.
    HEAPWOOD_FN NodeArrays(const W& warp, const Problem& problem, const AllocatorRef& allocator,
                           const allocators::Context& context)
        : warp_(warp), problem_(problem), allocator_(allocator), context_(context) {}

    /// The root's array. One lane calls it; nullptr if there is no memory.
    HEAPWOOD_INLINE Reference* allocate_root() const {
        return static_cast<Reference*>(allocator_.allocate(context_, bytes_of(problem_.count)));
    }

    /// Takes arrays for the children of a piece from the arena if they are small and there is room.
    HEAPWOOD_INLINE bool place_near(const Piece& piece, Reference* (&arrays)[2]) {
        const Split& split = piece.split;
        if (!has_arena() || piece.count > problem_.large_limit ||
            split.left > problem_.exact_limit || split.right > problem_.exact_limit ||
            arena_used_ + split.left + split.right > kArenaSize) {
            return false;
        }
        // The one that is gone on with first lies beyond the other.
        Reference* place = arena() + arena_used_;
        arrays[0] = goes_first(split) == 0 ? place + split.right : place;
        arrays[1] = goes_first(split) == 0 ? place : place + split.left;
        arena_used_ += split.left + split.right;
        return true;
    }

    /// Collective: arrays for both children from the allocator. False, with nothing allocated and
    /// the failure recorded, if there is no memory.
    HEAPWOOD_FN bool allocate_children(const Split& split, const BuildOutput<W>& output,
                                       Reference* (&arrays)[2]) const {
        const std::size_t bytes[2] = {bytes_of(split.left), bytes_of(split.right)};
        if constexpr (kJoint) {
            void* both = leader() ? allocator_.allocate(context_, bytes[0] + bytes[1]) : nullptr;
            arrays[0] = from_leader(both);
            if (arrays[0] != nullptr) {
                arrays[1] = arrays[0] + split.left;
                return true;
            }
        } else if constexpr (allocators::AllocatesPairs<AllocatorRef>) {
            void* blocks[2] = {nullptr, nullptr};
            if (leader()) allocator_.allocate_pair(context_, bytes, blocks);
            for (unsigned side = 0; side < 2; ++side) arrays[side] = from_leader(blocks[side]);
            if (arrays[0] != nullptr && arrays[1] != nullptr) return true;
        } else {
            std::uint64_t addresses[2];
            by_two_lanes(warp_, addresses, [&](unsigned side) {
                return reinterpret_cast<std::uintptr_t>(
                    allocator_.allocate(context_, side == 0 ? bytes[0] : bytes[1]));
            });
            arrays[0] = reinterpret_cast<Reference*>(addresses[0]);
            arrays[1] = reinterpret_cast<Reference*>(addresses[1]);
            if (arrays[0] != nullptr && arrays[1] != nullptr) return true;
        }
        warp_.sync();  // what the other lane's allocation wrote, before it is freed from here
        if (leader()) {
            const bool first_failed = arrays[0] == nullptr;
            output.record_exhausted(kJoint         ? bytes[0] + bytes[1]
                                    : first_failed ? bytes[0]
                                                   : bytes[1]);
            if constexpr (!kJoint) {  // a joint request has failed as a whole
                free_one(allocator_, context_, first_failed ? arrays[1] : arrays[0],
                         first_failed ? bytes[1] : bytes[0]);
            }
        }
        return false;
    }

    /// Collective: arrays for the children of each lane's node that `divides`; from the allocator.
    /// They stay nullptr where there is no memory, and that is recorded. False: there was none for
    /// some lane.
    HEAPWOOD_FN bool allocate_children_each(bool divides, const Split& split,
                                            const BuildOutput<W>& output,
                                            Reference* (&arrays)[2]) const {
        const std::size_t bytes[2] = {divides ? bytes_of(split.left) : 0,
                                      divides ? bytes_of(split.right) : 0};
        if constexpr (kJoint) {
            // One request for all lanes.
            const std::uint32_t mine = divides ? split.left + split.right : 0;
            const std::uint32_t end = warp_.inclusive_sum(mine);
            const std::uint32_t all = warp_.shuffle(end, W::width - 1);
            if (all == 0) return true;
            Reference* first =
                from_leader(leader() ? allocator_.allocate(context_, bytes_of(all)) : nullptr);
            if (divides) {
                arrays[0] = first != nullptr ? first + (end - mine)
                                             : static_cast<Reference*>(allocate_one(
                                                   allocator_, context_, bytes[0] + bytes[1]));
                if (arrays[0] != nullptr) arrays[1] = arrays[0] + split.left;
            }
        } else if (divides) {
            if constexpr (allocators::AllocatesPairs<AllocatorRef>) {
                void* blocks[2] = {nullptr, nullptr};
                allocator_.allocate_pair(context_, bytes, blocks);
                arrays[0] = static_cast<Reference*>(blocks[0]);
                arrays[1] = static_cast<Reference*>(blocks[1]);
            } else {
                HEAPWOOD_UNROLL(1)
                for (unsigned side = 0; side < 2; ++side) {
                    (side == 0 ? arrays[0] : arrays[1]) = static_cast<Reference*>(
                        allocator_.allocate(context_, side == 0 ? bytes[0] : bytes[1]));
                }
            }
        }
        const bool failed = divides && (arrays[0] == nullptr || arrays[1] == nullptr);
        if (failed) {
            const bool first_failed = arrays[0] == nullptr;
            output.record_exhausted(kJoint         ? bytes[0] + bytes[1]
                                    : first_failed ? bytes[0]
                                                   : bytes[1]);
            if constexpr (!kJoint) {
                free_one(allocator_, context_, first_failed ? arrays[1] : arrays[0],
                         first_failed ? bytes[1] : bytes[0]);
            }
            arrays[0] = arrays[1] = nullptr;
        }
        warp_.sync();  // what these lanes' allocations acquired, to those that write there
        return !warp_.any(failed);
    }

    /// Collective, after a sync: frees of each segment's node the arrays that are `done`, a lane
    /// one at a time: bits 0 and 1 are for those of its children, bit 2 is for its own.
    HEAPWOOD_FN void release_each(const Segment<W>& segment, Reference* references,
                                  std::uint32_t count, const Split& split,
                                  Reference* const (&arrays)[2], std::uint32_t done) const {
        if constexpr (kFrees) {
            HEAPWOOD_UNROLL(1)
            for (unsigned i = 2 - segment.rank(); warp_.any(segment.count() > 0 && i < 3);
                 i -= segment.count()) {  // past 0 it is a large number
                if (segment.count() == 0 || i >= 3 || (done >> i & 1U) == 0) continue;
                Reference* p = i == 0 ? arrays[0] : i == 1 ? arrays[1] : references;
                const std::uint32_t n = i == 0 ? split.left : i == 1 ? split.right : count;
                allocator_.deallocate(context_, p, bytes_of(n));
            }
            warp_.sync();
        }
    }

    /// Collective: makes a piece fit for another warp: its references move from the arena into an
    /// array from the allocator. False: there is no memory for that, and nothing is changed.
    HEAPWOOD_FN bool move_out(Piece& piece) const {
        if (!is_near(piece.references)) return true;
        void* p = leader() ? allocate_one(allocator_, context_, bytes_of(piece.count)) : nullptr;
        Reference* array = from_leader(p);
        if (array == nullptr) return false;
        warp_.sync();  // what lane 0's allocation acquired, to all lanes
        HEAPWOOD_UNROLL(1)
        for (std::uint32_t i = warp_.lane(); i < piece.count; i += W::width) {
            store_wide(array + i, load_wide(piece.references + i));
        }
        piece.references = array;
        return true;
    }

    /// An array that is to be freed, for each lane; nullptr: there is none.
    struct Retired {
        Reference* references = nullptr;
        std::uint32_t count = 0;
    };
    /// Collective, after a sync: the array of a piece, and those of children that are leaves, for
    /// release(). A warp of one lane frees them at once.
    HEAPWOOD_FN Retired retire(const Piece& piece, const Division& division) const {
        Retired retired;
        if constexpr (kFrees) {
            for (unsigned i = warp_.lane(); i < 3; i += W::width) {
                if (W::width == 1) release(retired);
                retired = {piece.references, piece.count};
                if (i < 2) {
                    retired.references = (division.leaves >> i & 1U) == 0 ? nullptr
                                         : i == 0                         ? division.arrays[0]
                                                                          : division.arrays[1];
                    retired.count = i == 0 ? piece.split.left : piece.split.right;
                }
                if (is_near(retired.references)) retired.references = nullptr;
            }
            if (W::width == 1) release(retired);
        }
        return retired;
    }
    /// Collective: frees the lanes' arrays.
    HEAPWOOD_FN void release(Retired& retired) const {
        if constexpr (kFrees) {
            if (retired.references != nullptr) {
                allocator_.deallocate(context_, retired.references, bytes_of(retired.count));
            }
            retired.references = nullptr;
            warp_.sync();
        }
    }

    /// Collective, after all warps have read it: frees the array of a large node, if it has one.
    HEAPWOOD_FN void release_large(const Piece& piece) const {
        if constexpr (kFrees) {
            if (leader() && piece.references != nullptr) {
                allocator_.deallocate(context_, piece.references, bytes_of(piece.count));
            }
        }
    }

    /// The warp goes on with the newest piece of its stack: what was beyond it in the arena is
    /// free.
    HEAPWOOD_INLINE void go_back_to(const Piece& piece) {
        if (is_near(piece.references)) {
            arena_used_ = static_cast<std::uint32_t>(piece.references - arena()) + piece.count;
        } else if (piece.count > problem_.exact_limit) {
            arena_used_ = 0;  // below such a node there are but siblings of its like
        }
    }
    /// The warp's stack is empty.
    HEAPWOOD_INLINE void clear_arena() { arena_used_ = 0; }

    /// One lane calls it at the end: gives back what the allocator has kept for this warp.
    HEAPWOOD_INLINE void flush() const { allocators::flush(allocator_, context_); }

    HEAPWOOD_INLINE bool has_arena() const {
        return kArrays == Arrays::large ||
               (kArrays == Arrays::either && problem_.arenas != nullptr);
    }

    HEAPWOOD_INLINE static std::uint64_t bytes_of(std::uint32_t count) {
        return std::uint64_t{count} * sizeof(Reference);
    }

private:
    HEAPWOOD_INLINE bool leader() const { return warp_.lane() == 0; }
    /// Collective: lane 0's pointer.
    HEAPWOOD_INLINE Reference* from_leader(void* p) const {
        return reinterpret_cast<Reference*>(
            warp_.shuffle(std::uint64_t{reinterpret_cast<std::uintptr_t>(p)}, 0));
    }

    HEAPWOOD_INLINE Reference* arena() const {
        return problem_.arenas + static_cast<std::size_t>(context_.warp) * kArenaSize;
    }
    HEAPWOOD_INLINE bool is_near(const Reference* p) const {
        return has_arena() && p >= arena() && p < arena() + kArenaSize;
    }

    /// Out of line, for they are rare. Static, for a call with `this` would force the whole object
    /// from registers into memory.
    HEAPWOOD_NOINLINE static void* allocate_one(const AllocatorRef& allocator,
                                                allocators::Context context, std::uint64_t bytes) {
        return allocator.allocate(context, bytes);
    }
    HEAPWOOD_NOINLINE static void free_one(const AllocatorRef& allocator,
                                           allocators::Context context, Reference* p,
                                           std::uint64_t bytes) {
        allocator.deallocate(context, p, bytes);
    }

    const W warp_;
    const Problem& problem_;
    const AllocatorRef&
        allocator_;  // where the kernel's parameters are: a copy would cost registers
    const allocators::Context context_;
    std::uint32_t arena_used_ = 0;  ///< references
};

}  // namespace heapwood::kdtree
