/// @file
/// What the warps of a build share: the problem, the pieces of work, and the counters.
#pragma once

#include <cstdint>
#include <type_traits>

#include "allocators/platform/atomic.cuh"
#include "kdtree/config.h"
#include "kdtree/model/node_rules.cuh"
#include "kdtree/model/reference.cuh"
#include "kdtree/model/sah.cuh"
#include "kdtree/single/phase_profile.cuh"
#include "kdtree/single/task_queue.cuh"
#include "kdtree/split/split_binned.cuh"
#include "kdtree/split/split_exact.cuh"
#include "kdtree/split/split_exact_serial.h"
#include "kdtree/tree/tree.h"

namespace heapwood::kdtree {

/// A node that is still to be made: its references (an array from the allocator, owned by the
/// piece), its cell, and, for nodes above the exact limit, the split already chosen for it.
struct Piece {
    Reference* references;
    std::uint32_t count;
    std::uint32_t node;  ///< its place in the node array
    Box cell;
    Box tight;  ///< around the references; only for nodes above the exact limit
    std::uint16_t depth;
    std::uint16_t bad_splits;  ///< on the way from the root, that of this node included
    Split split;
};

/// A large node that many warps partition together, chunk by chunk; for the root there is a job
/// before that, which makes the references from the triangles.
///
/// Everything up to `frames` is written before the job is published and then only read. The
/// counters count up or down atomically; the warp that brings `remaining` to zero has acquired what
/// all others released with their decrement, and owns the job from then on.
struct alignas(128) Job {
    Piece piece;
    Reference* child_references[2];
    std::uint32_t child_node;  ///< left child; the right one follows
    std::uint32_t chunk;       ///< references a warp takes at a time
    std::uint32_t chunks;
    bool makes_root;
    BinFrame frames[2];
    Counter next_chunk;
    Counter invited;  ///< warps told of the job
    Counter used[2];  ///< references written so far to either child's array
    Counter remaining;
    alignas(128) Bins bins[2];
};

/// What a warp may do next: help with a job, or (job == nullptr) go on with a piece.
struct Task {
    Job* job;
    Piece piece;
};

/// Counters of a build, all zero at its start, and a limit that only rare code asks for.
struct BuildState {
    Counter queue_head;
    Counter queue_tail;
    /// Credits: one for each unfinished job, each piece on its way through the queue, and each
    /// such piece, or finished job, whose descendants a warp still works on. The build is done when
    /// it falls to 0.
    Counter outstanding;
    Counter done;
    Counter root_ready;
    Counter jobs;
    Counter status;                    ///< the failure, as a Status
    alignas(128) std::uint64_t nodes;  ///< pairs of nodes reserved
    alignas(128) std::uint64_t references;
    alignas(128) std::uint64_t failed_bytes;  ///< size of the request that ended the build
    /// A build that reserves more is surely over its budget.
    std::uint64_t most_references = UINT64_MAX;
    /// What is wrong with a frame in place (kdtree/single/frame.cuh), found before the build.
    std::uint32_t faults = 0;
};

/// A build's input, rules, limits and memory, given to every warp by value.
struct Problem : TreeRules {
    const Triangle* triangles;
    std::uint32_t count;
    Box bounds;
    std::uint32_t large_limit;
    std::uint32_t chunk;  ///< most references of a large node that a warp takes at a time
    std::uint32_t warps;

    Node* nodes;
    std::uint64_t node_capacity;
    std::uint32_t* references;
    std::uint64_t reference_capacity;
    Job* jobs;
    std::uint32_t job_capacity;
    Task* stacks;       ///< kStackSize tasks for each warp
    Reference* arenas;  ///< kArenaSize for each warp; nullptr: all arrays come from the allocator
    TaskSlot<Task>* slots;
    std::uint32_t slot_bits;
    BuildState* state;
    PhaseProfile* profiles;  ///< one for each warp, in a profiling build
};

/// Tasks a warp can have pending: every level of the tree leaves at most one behind, and one is
/// being gone on with; the rest is reserve.
inline constexpr std::uint32_t kStackSize = kMaxDepth + 4;

/// References of small nodes that a warp can keep in memory of its own: on the way from a node of
/// kExactMax references down to a leaf, each node's two children. Seldom is it too short.
inline constexpr std::uint32_t kArenaSize = 8 * kExactMax;

/// Memory that the lanes of a warp share (shared memory on a GPU).
template <class W>
struct Scratch {
    BinFrame frames[2];
    union {
        Bins bins[2];
        std::conditional_t<W::width == 1, SerialExactSearch, ExactSearch> exact;
    };
};

}  // namespace heapwood::kdtree
