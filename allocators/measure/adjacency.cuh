/// @file
/// A graph whose vertices have an array each for the edges that start there, taken from an
/// allocator: the graph tests of Winter et al. 2021, 4.4.3 and 4.4.4.
///
/// An array has the size of its edges, rounded up to a power of two. So it is exchanged for another
/// when the number of edges crosses one, and its size follows from that number alone.
#pragma once

#include <cstdint>

#include "allocators/allocator.cuh"
#include "allocators/measure/blocks.cuh"
#include "allocators/platform/atomic.cuh"
#include "allocators/platform/bits.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// Bytes of the smallest array, which a vertex without edges has, too.
inline constexpr std::uint32_t kSmallestAdjacency = 16;

/// Bytes of the array of so many edges, fewer than 2^29: a power of two.
HEAPWOOD_INLINE std::uint32_t adjacency_bytes(std::uint32_t edges) {
    const std::uint32_t bytes = edges * static_cast<std::uint32_t>(sizeof(std::uint32_t));
    if (bytes <= kSmallestAdjacency) return kSmallestAdjacency;
    return 2U << platform::floor_log2(bytes - 1);
}

/// Edges that are copied between the arrays and one piece of memory, where those of vertex v lie
/// from first[v] to first[v + 1]. Pointers point to where it runs.
struct EdgeCopy {
    bool gather;  ///< from the arrays; else to them
    std::uint32_t vertices;
    void* const* arrays;         ///< by vertex; none is nullptr
    const std::uint64_t* first;  ///< vertices + 1
    std::uint32_t* targets;      ///< in one piece
};

/// The part of thread `toucher` (below vertices * kTouchers) in an EdgeCopy.
HEAPWOOD_FN inline void copy_edges(const EdgeCopy& copy, std::uint64_t toucher) {
    const std::uint64_t vertex = toucher / kTouchers;
    auto* array = static_cast<std::uint32_t*>(copy.arrays[vertex]);
    std::uint32_t* targets = copy.targets + copy.first[vertex];
    const std::uint64_t edges = copy.first[vertex + 1] - copy.first[vertex];
    for (std::uint64_t i = toucher % kTouchers; i < edges; i += kTouchers) {
        if (copy.gather) {
            targets[i] = array[i];
        } else {
            array[i] = targets[i];
        }
    }
}

/// A batch of edges to be inserted or deleted. An edge is in the graph once at most: those that are
/// inserted are not there before, and those that are deleted are. Pointers point to where it runs.
struct EdgeBatch {
    bool insert = true;  ///< else deletes
    bool count = false;  ///< adds requests and frees to `counts`; else failed and corrupt only
    std::uint32_t sources = 0;                ///< vertices with edges in the batch
    const std::uint32_t* vertices = nullptr;  ///< by source: the vertex, each of them once
    const std::uint32_t* first = nullptr;     ///< sources + 1: where its edges begin in `targets`
    const std::uint32_t* targets = nullptr;   ///< in ascending order among those of a source
    void** arrays = nullptr;                  ///< by vertex of the graph
    std::uint32_t* degrees = nullptr;         ///< likewise: how many edges the array has
    /// A request for another array that is refused counts as failed, and the vertex keeps the array
    /// and the edges that it has. One whose edges are not those that were there counts as corrupt.
    Counts* counts = nullptr;
};

/// Whether it is among the numbers, which ascend.
HEAPWOOD_FN inline bool contains(const std::uint32_t* numbers, std::uint32_t count,
                                 std::uint32_t wanted) {
    std::uint32_t begin = 0;
    std::uint32_t end = count;
    while (begin < end) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        if (numbers[middle] == wanted) return true;
        if (numbers[middle] < wanted) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return false;
}

/// Brings one of a batch's sources, below `sources`, up to date: a thread a vertex. No thread waits
/// for another.
template <class Ref>
HEAPWOOD_FN void update_vertex(const Ref& ref, const Context& context, const EdgeBatch& batch,
                               std::uint32_t source) {
    const std::uint32_t vertex = batch.vertices[source];
    const std::uint32_t* targets = batch.targets + batch.first[source];
    const std::uint32_t changed = batch.first[source + 1] - batch.first[source];
    const std::uint32_t before = batch.degrees[vertex];
    const std::uint32_t after = batch.insert ? before + changed : before - changed;
    auto* const from = static_cast<std::uint32_t*>(batch.arrays[vertex]);
    std::uint32_t* to = from;
    const bool moves = adjacency_bytes(after) != adjacency_bytes(before);
    if (moves) {
        to = static_cast<std::uint32_t*>(ref.allocate(context, adjacency_bytes(after)));
        if (batch.count) platform::AtomicRef(batch.counts->requests).count_relaxed(1);
        if (to == nullptr) {
            platform::AtomicRef(batch.counts->failed).count_relaxed(1);
            return;
        }
    }
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < before; ++i) {
        const std::uint32_t edge = from[i];
        if (!batch.insert && contains(targets, changed, edge)) continue;
        // Where memory was handed out twice there may be other edges, and more that are to stay.
        if (kept < after && (moves || kept != i)) to[kept] = edge;
        ++kept;
    }
    if (batch.insert) {
        for (std::uint32_t i = 0; i < changed; ++i) to[kept++] = targets[i];
    }
    // To free a block of which others have a part could take the process down.
    if (kept != after) {
        platform::AtomicRef(batch.counts->corrupt).count_relaxed(1);
        return;
    }
    if (moves) {
        ref.deallocate(context, from, adjacency_bytes(before));
        if (batch.count) platform::AtomicRef(batch.counts->frees).count_relaxed(1);
        batch.arrays[vertex] = to;
    }
    batch.degrees[vertex] = after;
}

}  // namespace heapwood::allocators
