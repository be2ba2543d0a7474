/// @file
/// What an allocator is: the contract that every header of this folder proves at its end.
///
/// An allocator has two halves. The host object owns a pool (on a GPU or on the host) and is made,
/// reset and walked while no kernel uses it. Its `Ref` is a trivially copyable handle that a
/// kernel takes by value and through which any number of threads allocate and free at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "allocators/memory/buffer.h"
#include "allocators/parts/options.h"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// Every payload starts at a multiple of this many bytes.
inline constexpr std::size_t kAlignment = 16;

/// Registers per thread that a paper gives for a kernel with one allocation and one deallocation;
/// 0: unknown.
struct PublishedRegisters {
    unsigned uncoalesced = 0;  ///< every lane calls on its own
    unsigned coalesced = 0;    ///< the lanes of a warp share one request
};

/// What is known of an allocator without running it. Strings are literals.
struct Traits {
    const char* name;             ///< on the command line
    const char* title;            ///< as published
    const char* source;           ///< paper and section it comes from
    bool frees_individually;      ///< false: `deallocate` does nothing, memory returns on reset()
    bool full;                    ///< false: carries the papers' asterisk (no full allocator)
    bool walkable;                ///< `for_each_region` visits the pool; false only for CUDA's
    std::uint64_t header_bytes;   ///< memory it keeps outside payloads, per allocation or granule
    std::uint64_t smallest_pool;  ///< bytes; the constructor throws below it
    bool splittable = false;      ///< a block may be freed in parts, in any order
    bool shares_regions = false;  ///< a region of the walk may hold several allocations
    bool sound = true;            ///< false: a specimen, known to go wrong; in no default list
    PublishedRegisters published_registers = {};  ///< Vinkler & Havran 2015, table 1
    bool one_heap = false;  ///< on a GPU: a process has one pool of this kind, which it never frees
};

/// Words that a caller lends to the allocator, so that the allocator need not look up in the pool
/// what concerns this caller alone. The header of each allocator says what it keeps there. All
/// words are 0 before the first call and after flush(). On a GPU they lie in shared memory, on a
/// CPU anywhere; the threads of one thread block use them, any number of threads at once.
struct CallerCache {
    static constexpr std::uint32_t kWords = 16;

    std::uint64_t words[kWords];
};

/// Who calls: hints for spreading the load, never needed for correctness.
struct Context {
    std::uint32_t multiprocessor;  ///< below PoolConfig::multiprocessors; a CPU's thread index
    std::uint32_t warp;            ///< number of the calling warp in the launch
    CallerCache* cache = nullptr;  ///< or none. Before it goes away: flush(ref, context)
};

/// What a host object is made from.
struct PoolConfig {
    Place place = Place::host;          ///< where the pool lies
    std::uint64_t bytes = 0;            ///< of the pool, as users count it (without side tables)
    std::uint64_t largest_request = 0;  ///< bytes a user expects to ask for at once; 0: unknown
    std::uint32_t multiprocessors = 1;  ///< how many hints Context::multiprocessor spans
    std::uint32_t callers = 1;          ///< about how many warps will call at once
    Choices choices = {};               ///< of the values of the allocator's own options
};

/// A stretch of the pool that is one allocation, or one free block.
struct Region {
    std::uint64_t offset;  ///< bytes from the pool's start
    std::uint64_t size;    ///< bytes, as the allocator rounded it
    bool allocated;
};

/// A visitor of regions, for the concept's sake.
struct RegionVisitor {
    void operator()(const Region&) const {}
};

// The versions of clang-format lay out concepts differently.
// clang-format off

/// The contract.
///
/// Host object: `A(config)` makes the pool (throws std::invalid_argument below
/// `traits().smallest_pool`, BufferError when there is no such memory); `ref()` for kernels;
/// `reset()` frees everything; `pool_bytes()` the pool's size; `overhead_bytes()` its side
/// tables; `for_each_region(visitor)` visits every region in ascending order, covering the pool
/// without gap or overlap (nothing if not `walkable`). All of them only while no kernel runs.
///
/// Ref: `allocate(context, bytes)` returns kAlignment-aligned memory of at least `bytes` bytes
/// that no other allocation overlaps, or nullptr if bytes is 0, too large, or not to be had. It
/// returns in bounded time and never traps, and the pool works afterwards. `deallocate(context,
/// p, bytes)` takes what allocate returned, with the same size, from any thread; nullptr is
/// ignored. If `splittable`, also parts of it, each of a multiple of kAlignment bytes but the last. What a thread wrote to a block before it freed it happens before anything the next
/// owner does with it. `granted_bytes(p, bytes)`: how many bytes of the pool the allocation of
/// `bytes` bytes at p occupies (0: unknown). Calls come from single lanes, any number at once,
/// also from diverged lanes of one warp.
template <class A>
concept Allocator =
    std::is_trivially_copyable_v<typename A::Ref> && std::constructible_from<A, PoolConfig> &&
    requires(A a, const A ca, const typename A::Ref ref, const Context c, void* p, std::size_t n) {
        { A::traits() } -> std::same_as<Traits>;
        { ca.ref() } -> std::same_as<typename A::Ref>;
        { a.reset() } -> std::same_as<void>;
        { ca.pool_bytes() } -> std::same_as<std::uint64_t>;
        { ca.overhead_bytes() } -> std::same_as<std::uint64_t>;
        { ca.for_each_region(RegionVisitor{}) } -> std::same_as<void>;
        { ref.allocate(c, n) } -> std::same_as<void*>;
        { ref.deallocate(c, p, n) } -> std::same_as<void>;
        { ref.granted_bytes(p, n) } -> std::same_as<std::uint64_t>;
    };
// clang-format on

/// A Ref that can answer two requests at once, faster than one by one: `allocate_pair(context,
/// bytes, blocks)` allocates bytes[i] to blocks[i], each to be freed on its own, or returns false,
/// with both nullptr, and allocates nothing.
template <class Ref>
concept AllocatesPairs = requires(const Ref ref, const Context c, const std::size_t (&bytes)[2],
                                  void* (&blocks)[2]) {
    { ref.allocate_pair(c, bytes, blocks) } -> std::same_as<bool>;
};

/// Returns to the pool what the allocator keeps in context.cache, which is empty afterwards. To be
/// called once by any thread of its block when no other uses it any more.
template <class Ref>
HEAPWOOD_INLINE void flush(const Ref& ref, const Context& context) {
    if constexpr (requires { ref.flush(context); }) ref.flush(context);
}

}  // namespace heapwood::allocators
