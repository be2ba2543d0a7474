/// @file
/// What an allocator is: the contract that every header of this folder proves at its end.
///
/// An allocator has two halves. The host object owns a pool (on a GPU or on the host) and is made,
/// reset and walked while no kernel uses it. Its `Ref` is a trivially copyable handle that a
/// kernel takes by value and through which any number of threads allocate and free at once.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "allocators/memory/buffer.h"
#include "allocators/options.h"
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

/// What a user may know of an allocator before it runs. Strings are literals.
struct Traits {
    const char* name;         ///< on the command line
    const char* title;        ///< as published
    const char* source;       ///< paper and section it comes from
    bool frees_individually;  ///< false: `deallocate` does nothing, memory returns on reset()
    bool full;                ///< false: carries the papers' asterisk (no full allocator)
    bool walkable;            ///< `for_each_region` visits the pool; false only for CUDA's
    /// Memory it keeps outside payloads, per allocation or granule; nothing: unknown.
    std::optional<std::uint64_t> header_bytes = std::nullopt;
    std::uint64_t smallest_pool;  ///< bytes; the constructor throws below it
    bool splittable = false;      ///< a block may be freed in parts, in any order
    bool shares_regions = false;  ///< a region of the walk may hold several allocations
    bool sound = true;  ///< false: a specimen, known to go wrong. True is a promise: see the tests
    PublishedRegisters published_registers = {};  ///< Vinkler & Havran 2015, table 1
    bool slow_crowds = false;   ///< builds take longer if lanes of a warp call at the same time
    bool shares_cache = false;  ///< a thread block's warps should have one CallerCache
    bool one_heap = false;  ///< on a GPU: a process has one pool of this kind, which it never frees
    /// The pool is what static or `__device__` variables say: a process has at most one host object
    /// at a time, but may make one after the other, of any size.
    bool one_at_a_time = false;
};

/// Words that a caller lends to the allocator, so that the allocator need not look up in the pool
/// what concerns this caller alone. The header of each allocator says what it keeps there. All
/// words are 0 before the first call and after flush(). On a GPU they lie in shared memory, on a
/// CPU anywhere; the threads of one thread block use them, any number of threads at once. A cache
/// serves one pool: it must not be lent to another one, of the same allocator either, before
/// flush().
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
    std::uint32_t multiprocessors = 1;  ///< Context::multiprocessor is below; 0 means 1
    std::uint32_t callers = 1;          ///< about the number of warps that will call at once
    std::uint32_t cache_users = 1;      ///< warps that have the same CallerCache; 0 means 1
    Choices choices = {};               ///< of the values of the allocator's own options
};

/// A part of the pool that is one allocation, or one free block.
struct Region {
    std::uint64_t offset;  ///< bytes from the pool's start
    std::uint64_t size;    ///< bytes, as the allocator rounded it
    bool allocated;

    bool operator==(const Region&) const = default;
};

/// A visitor of regions, for the concept's sake.
struct RegionVisitor {
    void operator()(const Region&) const {}
};

// The versions of clang-format lay out concepts differently.
// clang-format off

// The requirements one by one, so that a compiler names the one that a class lacks.

template <class A>
concept HasTrivialRef = std::is_trivially_copyable_v<typename A::Ref>;
template <class A>
concept MadeFromPoolConfig = std::constructible_from<A, PoolConfig>;
template <class A>
concept HasTraits = requires { { A::traits() } -> std::same_as<Traits>; };
template <class A>
concept GivesRef = requires(const A a) { { a.ref() } -> std::same_as<typename A::Ref>; };
template <class A>
concept TellsItsBytes = requires(const A a) {
    { a.pool_bytes() } -> std::same_as<std::uint64_t>;
    { a.overhead_bytes() } -> std::same_as<std::uint64_t>;
};
template <class A>
concept VisitsRegions =
    requires(const A a) { { a.for_each_region(RegionVisitor{}) } -> std::same_as<void>; };
template <class A>
concept RefAllocates = requires(const typename A::Ref ref, const Context c, std::size_t n) {
    { ref.allocate(c, n) } -> std::same_as<void*>;
};
template <class A>
concept RefDeallocates = requires(const typename A::Ref ref, const Context c, void* p,
                                  std::size_t n) {
    { ref.deallocate(c, p, n) } -> std::same_as<void>;
};
template <class A>
concept RefGrants = requires(const typename A::Ref ref, void* p, std::size_t n) {
    { ref.granted_bytes(p, n) } -> std::same_as<std::uint64_t>;
};
template <class A>
concept Resets = requires(A a) { { a.reset() } -> std::same_as<void>; };

/// All of the contract but reset() and that the host object is movable: Remade adds these
/// (remade.cuh).
template <class A>
concept PoolOwner = HasTrivialRef<A> && MadeFromPoolConfig<A> && HasTraits<A> && GivesRef<A> &&
                    TellsItsBytes<A> && VisitsRegions<A> && RefAllocates<A> && RefDeallocates<A> &&
                    RefGrants<A>;

/// The contract.
///
/// **Host object.** All of its functions are called only while no kernel uses the pool. It is
/// movable, and a handle of before is valid after a move. A class that is not, or that has no
/// reset(), becomes an allocator by Complete<A> (remade.cuh).
/// - `A(config)` makes the pool, in the state of reset(). It throws std::invalid_argument if
///   config.bytes is below `traits().smallest_pool` or a choice is none of the option's values, and
///   BufferError if there is no such memory. Programs may call reset() directly after it.
/// - `ref()` makes the handle for kernels. A handle is valid as long as the host object, also after
///   reset(), but not after that of a Remade.
/// - `reset()` frees everything. It is forbidden while a CallerCache keeps anything of this pool:
///   flush() it first, or make it all zeroes and use it no more with blocks of before; otherwise the
///   same memory is given twice.
/// - `pool_bytes()` is the size of the pool in bytes. It may be less than config.bytes, because the
///   allocator rounds, or more, because it shares a pool that is there already (`one_heap`). Reports
///   show it, and measures of fragmentation and use refer to it.
/// - `overhead_bytes()` is the size of its side tables in bytes.
/// - `for_each_region(visitor)` visits every region in ascending order, covering the pool without
///   gap or overlap. It visits nothing if the allocator is not `walkable`.
/// - `options()`, if there is one, is a static function that returns the allocator's own options
///   (options.h) as a std::span.
///
/// **Ref.** Calls come from single lanes, any number at once, also from diverged lanes of one warp.
/// Lanes of one warp may use several pools of one allocator in the same call.
/// - `allocate(context, bytes)` returns kAlignment-aligned memory of at least `bytes` bytes that no
///   other allocation overlaps, or nullptr if bytes is 0, too large, or more than the allocator
///   finds. It returns in bounded time and never traps, and the pool works afterwards.
/// - `deallocate(context, p, bytes)` takes what allocate() returned, with the same size, from any
///   thread; it ignores nullptr. If the allocator is `splittable`, it also takes parts of a block,
///   each of a multiple of kAlignment bytes but the last. What a thread wrote to a block before it
///   freed the block happens before anything the next owner does with that memory.
/// - `granted_bytes(p, bytes)` is the number of bytes of the pool that the allocation of `bytes`
///   bytes at p occupies, from p on: its owner may use them all. 0: unknown.
/// - `flush(context)`, if there is one: see flush() below.
///
/// **Header.** Several translation units include it, some compiled by nvcc and some by a host
/// compiler alone, and they are linked into one program: all functions are inline or templates. The
/// build kernel may have 96 registers a thread and uses all of them, so what is long and rare in
/// allocate() and deallocate() should be out of line (HEAPWOOD_NOINLINE).
template <class A>
concept Allocator = PoolOwner<A> && Resets<A> && std::move_constructible<A>;
// clang-format on

/// A Ref that can answer two requests at once, faster than one by one: `allocate_pair(context,
/// bytes, blocks)` allocates bytes[i] to blocks[i], each to be freed on its own, or returns false,
/// with both nullptr, and allocates nothing.
template <class Ref>
concept AllocatesPairs = requires(const Ref ref, const Context c, const std::size_t (&bytes)[2],
                                  void* (&blocks)[2]) {
    { ref.allocate_pair(c, bytes, blocks) } -> std::same_as<bool>;
};

/// Returns to the pool what the allocator keeps in context.cache, all words of which are 0
/// afterwards. Any one thread of the cache's block may call it, whatever warp it is of, when no
/// other thread uses the cache and all earlier uses of it happen before. The cache may then end,
/// serve another pool, or be used again.
template <class Ref>
HEAPWOOD_INLINE void flush(const Ref& ref, const Context& context) {
    if constexpr (requires { ref.flush(context); }) ref.flush(context);
#if !defined(NDEBUG) && !defined(__CUDA_ARCH__)
    if (context.cache == nullptr) return;
    for (const std::uint64_t word : context.cache->words) assert(word == 0);
#endif
}

}  // namespace heapwood::allocators
