/// @file
/// What the warps of a build share: the problem, the pieces of work, and the counters.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocators/platform/atomic.cuh"
#include "kdtree/config.h"
#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/single/grid_barrier.cuh"
#include "kdtree/single/phase_profile.cuh"
#include "kdtree/single/task_queue.cuh"
#include "kdtree/single/work_list.cuh"
#include "kdtree/split/divide.cuh"
#include "kdtree/split/node_rules.cuh"
#include "kdtree/split/segment.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_exact.cuh"
#include "kdtree/split/split_exact_serial.h"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// A node that is still to be made: its references (an array from the allocator, owned by the
/// piece), its cell, and, for nodes above the exact limit, the split already chosen for it. It is
/// aligned for load_wide and store_wide.
struct alignas(16) Piece {
    Reference* references;
    std::uint32_t count;
    std::uint32_t node;  ///< its place in the node array
    Box cell;
    std::uint16_t depth;
    std::uint16_t bad_splits;  ///< on the way from the root, that of this node included
    Split split;
    Box tight;  ///< around the references; only for nodes above the exact limit
};

/// A piece of at most tiny_limit references, which has no split yet.
struct alignas(16) TinyPiece {
    Reference* references;
    std::uint32_t count;
    std::uint32_t node;
    Box cell;
    std::uint16_t depth;
    std::uint16_t bad_splits;
    std::uint32_t pad;
};

/// A large node, which many warps divide, chunk by chunk. Everything but the counters and `bins` is
/// written before that, and then only read.
struct alignas(128) LargeNode {
    Piece piece;
    Reference* child_references[2];
    std::uint32_t child_node;  ///< left child; the right one follows
    std::uint32_t chunk;       ///< references of a chunk, but for the last one
    BinFrame frames[2];
    Counter chunks;   ///< that have not been divided
    Counter used[2];  ///< references written so far to either child's array
    alignas(128) Bins bins[2];
};

/// An item of the first stage's work: a chunk of a large node's references to divide, or a child of
/// a node that has been divided to go on with.
struct LargeWork {
    std::uint32_t node;  ///< its number among the large ones
    std::uint32_t part;  ///< the chunk's number, or kChild + the side

    static constexpr std::uint32_t kChild = 0x80000000U;

    HEAPWOOD_INLINE bool is_child() const { return part >= kChild; }
    HEAPWOOD_INLINE unsigned side() const { return part - kChild; }
    /// Among the items that were entered together with it.
    HEAPWOOD_INLINE std::uint32_t number() const { return is_child() ? side() : part; }

    HEAPWOOD_INLINE std::uint64_t word() const { return (node + std::uint64_t{1}) << 32 | part; }
    HEAPWOOD_INLINE static LargeWork of(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word >> 32) - 1, static_cast<std::uint32_t>(word)};
    }
};

/// The box around some triangles, as six numbers in which a larger one is a wider box: so threads
/// widen it by maxima, in any order. All zero: empty.
struct WideningBox {
    std::uint32_t lo[3];  ///< complements of ordered bits
    std::uint32_t hi[3];  ///< ordered bits, which are 0 for no finite number
};

/// Counters of a build, all zero at its start, and a limit that only rare code asks for.
struct BuildState {
    Counter queue_head;
    Counter queue_tail;
    /// Credits: one for the first stage, one for each piece in the list or on its way through the
    /// queue, and each such piece whose descendants a warp still works on. The build is done when
    /// it falls to 0.
    Counter outstanding;
    Counter done;
    BarrierState barrier;
    /// Of the first stage: how many large nodes there are, and from bit 0 to 31 how many items of
    /// work; more than there is room for if some were left to the second stage for lack of it.
    alignas(128) std::uint64_t large;
    WorkCounters work;
    Counter open;         ///< references of large nodes, and of children not decided on
    WorkCounters pieces;  ///< of the list for the second stage
    Counter tiny_pieces;  ///< in the list for the third stage
    Counter tiny_taken;   ///< of them
    Counter status;       ///< the gravest failure, as a Status
    alignas(128) std::uint64_t nodes;  ///< pairs of nodes reserved
    alignas(128) std::uint64_t references;
    alignas(128) std::uint64_t failed_bytes;  ///< size of the largest request that was refused
    /// What is wrong with a frame in place (kdtree/single/frame.cuh), found before the build.
    std::uint32_t faults = 0;
    WideningBox box{};  ///< of a frame in place, found before its build
};

/// A build's input, rules, limits and memory, given to every warp by value.
struct Problem : TreeRules {
    const Triangle* triangles;
    std::uint32_t count;
    Box bounds;
    std::uint32_t large_limit;
    std::uint32_t chunk;  ///< most references of a large node that a warp divides at a time
    std::uint32_t warps;

    Node* nodes;
    std::uint64_t node_capacity;
    std::uint32_t* references;
    std::uint64_t reference_capacity;
    std::uint64_t most_references;  ///< a build that reserves more is surely over its budget
    LargeNode* large_nodes;
    std::uint32_t large_capacity;
    std::uint64_t* work;          ///< the list of the first stage's work
    std::uint32_t work_capacity;  ///< items; there is a place more for each warp
    Piece* pieces;                ///< for the second stage: large_capacity + 1
    std::uint64_t* piece_list;    ///< the list of them: as many places, and one more for each warp
    Piece* stacks;                ///< kStackSize pieces for each warp
    std::uint32_t tiny_limit;     ///< most references of a tiny node; 0: there is no third stage
    TinyPiece* tiny_pieces;       ///< the list for the third stage
    std::uint32_t tiny_capacity;
    std::uint32_t tiny_block;  ///< tiny nodes that a warp collects before it moves them to the list
    TinyPiece* tiny_stacks;    ///< kTinyStackSize for each warp
    Reference* arenas;  ///< kArenaSize for each warp; nullptr: all arrays come from the allocator
    TaskSlot<Piece>* slots;
    std::uint32_t slot_bits;
    BuildState* state;
    PhaseProfile* profiles;  ///< one for each warp, in a profiling build
};

/// Pieces a warp can have pending: every level of the tree leaves at most one behind; the rest is
/// reserve.
inline constexpr std::uint32_t kStackSize = kMaxDepth + 4;

/// Tiny nodes that a warp keeps for itself before it enters them in the list.
inline constexpr std::uint32_t kTinyBlock = 8;

/// Tiny nodes that a warp can have pending. With up to 128 it makes as many as 32 at a time, each
/// of which may leave two; with more it makes one at a time, below which each level leaves at most
/// one.
inline constexpr std::uint32_t kTinyStackSize = 160 + kStackSize;

/// References of small nodes that a warp can keep in memory of its own: on the way from a node of
/// kExactMax references down to a leaf, each node's two children. Seldom is it too short.
inline constexpr std::uint32_t kArenaSize = 8 * kExactMax;

/// Memory that the lanes of a warp share (shared memory on a GPU).
template <class W>
struct Scratch {
    BinFrame frames[2];
    union {
        struct {
            Bins bins[2];
            std::uint32_t crossing[kCrossing];
        } division;
        std::conditional_t<W::width == 1, SerialExactSearch, ExactSearch> exact;
    };
};

}  // namespace heapwood::kdtree
