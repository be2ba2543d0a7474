/// @file
/// HeapRef: malloc, free and their relatives for the threads of a kernel, or of a CPU.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/heap/block_header.cuh"
#include "allocators/heap/caller.cuh"
#include "allocators/heap/known_blocks.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// A group of threads that call together, as cooperative_groups::thread_block_tile and
/// coalesced_group are: number 0 calls for all.
template <class Group>
concept ThreadGroup = requires(const Group g, std::uint64_t v) {
    { g.thread_rank() == 0 } -> std::convertible_to<bool>;
    { g.shfl(v, 0) } -> std::convertible_to<std::uint64_t>;
    g.sync();
};

/// The handle of a heap: what a kernel takes by value. It is valid as long as its Heap.
///
/// Any thread may call any function at any time, also lanes of one warp that have gone separate
/// ways, in a launch of any shape. A block may be freed by any thread, in a later kernel too. What
/// a thread wrote to a block before it freed the block happens before anything that the next owner
/// does with that memory.
///
/// Blocks begin at multiples of 16 bytes and are made of whole 16 bytes. They have 16 bytes of the
/// heap before them, but for small ones of an allocator that knows these by their addresses
/// (known_blocks.cuh). A request that the heap cannot fill returns nullptr, in bounded time, and
/// the heap works afterwards. A block that overflows, or is freed twice, breaks the heap: Guarded
/// (guarded.cuh) finds who does that.
template <class A>
class HeapRef {
public:
    /// A block of at least `bytes` bytes. 0 bytes is a request like any other: the block is
    /// nobody else's and has to be freed.
    HEAPWOOD_FN void* malloc(std::size_t bytes) const { return take(kAlignment, bytes); }

    /// A block of `count` times `bytes` bytes that are all 0. nullptr also if the product is too
    /// large for a std::size_t.
    HEAPWOOD_FN void* calloc(std::size_t count, std::size_t bytes) const {
        if (bytes != 0 && count > ~std::size_t{0} / bytes) return nullptr;
        void* const block = malloc(count * bytes);
        if (block == nullptr) return nullptr;
        auto* const words = static_cast<std::uint64_t*>(block);
        const std::size_t end = usable_size(block) / sizeof(std::uint64_t);
        for (std::size_t i = 0; i < end; ++i) words[i] = 0;
        return block;
    }

    /// A block of at least `bytes` bytes whose first bytes are those of `block`. It is `block`
    /// itself if that has room; else `block` is freed. nullptr if there is no such block: then
    /// `block` is as it was. realloc(nullptr, bytes) is malloc(bytes). realloc(block, 0) frees
    /// nothing. The new block has the alignment of malloc().
    HEAPWOOD_FN void* realloc(void* block, std::size_t bytes) const {
        if (block == nullptr) return malloc(bytes);
        const std::size_t room = usable_size(block);
        if (bytes <= room) return block;
        void* const larger = malloc(bytes);
        if (larger == nullptr) return nullptr;
        const auto* const from = static_cast<const std::uint64_t*>(block);
        auto* const to = static_cast<std::uint64_t*>(larger);
        for (std::size_t i = 0; i < room / sizeof(std::uint64_t); ++i) to[i] = from[i];
        free(block);
        return larger;
    }

    /// A block that begins at a multiple of `alignment`. nullptr also if `alignment` is no power of
    /// two or above 64 KiB. free(), realloc() and usable_size() take it as any other.
    HEAPWOOD_FN void* aligned_alloc(std::size_t alignment, std::size_t bytes) const {
        const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
        if (!is_power || alignment > heap::kLargestAlignment) return nullptr;
        return take(alignment < kAlignment ? kAlignment : alignment, bytes);
    }

    /// Gives a block back. nullptr is ignored.
    HEAPWOOD_FN void free(void* block) const {
        if (block == nullptr) return;
        if (const std::uint64_t bytes = known_bytes(block); bytes != 0) {
            return ref_.deallocate(caller(), block, bytes);
        }
        const heap::BlockHeader& header = *heap::BlockHeader::of(block);
        ref_.deallocate(caller(), static_cast<char*>(block) - header.offset(), header.request());
    }

    /// How many bytes of a block may be used: at least as many as were asked for, and what the
    /// allocator rounded up. 0 for nullptr.
    HEAPWOOD_FN std::size_t usable_size(const void* block) const {
        if (block == nullptr) return 0;
        if (const std::uint64_t bytes = known_bytes(block); bytes != 0) return bytes;
        const heap::BlockHeader& header = *heap::BlockHeader::of(block);
        const auto* const start = static_cast<const char*>(block) - header.offset();
        const std::uint64_t granted = ref_.granted_bytes(start, header.request());
        return (granted != 0 ? granted : header.request()) - header.offset();
    }

    /// One block for a group. All of its threads call, with the same size, and get the same
    /// address.
    template <ThreadGroup Group>
    HEAPWOOD_FN void* malloc(const Group& group, std::size_t bytes) const {
        void* const own = group.thread_rank() == 0 ? malloc(bytes) : nullptr;
        const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(own));
        return reinterpret_cast<void*>(static_cast<std::uintptr_t>(group.shfl(address, 0)));
    }
    /// Gives a block back when all threads of the group have come. All call, with the same block.
    template <ThreadGroup Group>
    HEAPWOOD_FN void free(const Group& group, void* block) const {
        group.sync();
        if (group.thread_rank() == 0) free(block);
    }

    /// A new T, made from `arguments`, or nullptr. Any alignment that aligned_alloc() takes will
    /// do.
    template <class T, class... Arguments>
    HEAPWOOD_FN T* create(Arguments&&... arguments) const {
        static_assert(alignof(T) <= heap::kLargestAlignment);
        void* const block = take(alignof(T) < kAlignment ? kAlignment : alignof(T), sizeof(T));
        if (block == nullptr) return nullptr;
        return ::new (block) T(std::forward<Arguments>(arguments)...);
    }
    /// Ends an object of create() and gives its memory back. nullptr is ignored.
    template <class T>
    HEAPWOOD_FN void destroy(T* object) const {
        if (object == nullptr) return;
        object->~T();
        free(const_cast<std::remove_cv_t<T>*>(object));
    }

    /// The allocator's own handle.
    HEAPWOOD_FN const typename A::Ref& allocator() const { return ref_; }

private:
    template <Allocator>
    friend class Heap;

    HEAPWOOD_INLINE Context caller() const { return heap::calling_thread(multiprocessors_); }

    /// The bytes of a block that has no header before it; else 0.
    HEAPWOOD_INLINE std::uint64_t known_bytes(const void* block) const {
        if constexpr (heap::KnowsBlocks<typename A::Ref>) return ref_.known_bytes(block);
        return 0;
    }
    HEAPWOOD_FN void* take(std::size_t alignment, std::size_t bytes) const {
        if constexpr (heap::KnowsBlocks<typename A::Ref>) {
            const std::size_t wanted = bytes == 0 ? 1 : bytes;
            if (alignment == kAlignment && wanted <= ref_.largest_known()) {
                return ref_.allocate(caller(), wanted);
            }
        }
        const std::uint64_t request = heap::BlockHeader::request(alignment, bytes);
        void* const start = ref_.allocate(caller(), request);
        return start == nullptr ? nullptr : heap::BlockHeader::write(start, alignment, request);
    }

    typename A::Ref ref_;
    std::uint32_t multiprocessors_;
};

}  // namespace heapwood::allocators
