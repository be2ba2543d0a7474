/// @file
/// Heap: malloc and free for any kernel, over any allocator of this folder.
///
///     allocators::Heap<allocators::Cambium> heap(std::uint64_t{1} << 30);
///     kernel<<<blocks, threads>>>(heap.ref());           // any launch, any number of times
///
///     __global__ void kernel(allocators::HeapRef<allocators::Cambium> heap) {
///         auto* list = static_cast<int*>(heap.malloc(100 * sizeof(int)));
///         ...
///         heap.free(list);
///     }
///
/// A heap adds to its allocator what a program expects of malloc: no size at free(), no Context,
/// realloc(), any alignment. It costs 16 bytes a block, and nothing where
/// the allocator knows a block by its address (heap/known_blocks.cuh). Heaps are independent of one
/// another; a warp may use several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/allocator.cuh"
#include "allocators/heap/caller.cuh"
#include "allocators/heap/needed.h"
#include "allocators/heap/ref.cuh"
#include "allocators/measure/fragmentation.h"
#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"
#include "allocators/platform/device.h"
#include "allocators/platform/threads.h"

namespace heapwood::allocators {

/// What a heap is made from.
struct HeapConfig {
    /// Bytes of the allocator's pool; of `memory`, its size: the pool is what is left of it beside
    /// the allocator's own tables.
    std::uint64_t bytes = 0;
    Place place = Place::device;
    /// The heap lies there, and the caller frees it after the heap. nullptr: the heap has memory of
    /// its own. For Place::device it is device, managed or pinned memory.
    void* memory = nullptr;
    /// The heap's memory comes from there. Not together with `memory`.
    MemorySource* source = nullptr;
    /// About how many warps, or threads of a CPU, call at once. 0: all that the machine holds.
    std::uint32_t callers = 0;
};

namespace heap {

/// The PoolConfig of a heap's allocator. @throws std::runtime_error if there is no such device
PoolConfig pool_config(const HeapConfig& config);

/// The size of the largest pool that fits, with the allocator's tables, in `bytes` bytes of memory.
/// 0 if the smallest pool does not fit.
/// @param needed returns the bytes that a pool of a given size and its tables take
std::uint64_t largest_pool(std::uint64_t smallest, std::uint64_t bytes,
                           const std::function<std::uint64_t(std::uint64_t)>& needed);

}  // namespace heap

/// The owner of a heap. Movable, not copyable.
///
/// Its functions are called only while no kernel uses the heap; ref() may be called at any time.
template <Allocator A>
class Heap {
public:
    /// A heap with memory of its own. @param bytes of its pool, on the current device
    /// @throws as Heap(const HeapConfig&)
    explicit Heap(std::uint64_t bytes) : Heap(HeapConfig{.bytes = bytes}) {}
    /// @throws std::invalid_argument if the pool is smaller than the allocator's smallest, or the
    ///     allocator cannot use memory that it did not ask for (cudamalloc); BufferError if there
    ///     is no such memory; std::runtime_error if there is no such device
    explicit Heap(const HeapConfig& config);

    HeapRef<A> ref() const {
        HeapRef<A> ref;
        ref.ref_ = allocator_->ref();
        ref.multiprocessors_ = multiprocessors_;
        return ref;
    }

    /// Frees all blocks.
    void reset() { allocator_->reset(); }
    /// Bytes of the pool, and of the allocator's tables beside it.
    std::uint64_t pool_bytes() const { return allocator_->pool_bytes(); }
    std::uint64_t overhead_bytes() const { return allocator_->overhead_bytes(); }
    /// What is in use and what is free, by a walk of the pool; `known` is false if the allocator
    /// cannot be walked. Bytes in use include the heap's own and what the allocator rounds up.
    PoolUse use() const { return measure_pool(*allocator_); }
    /// Bytes of the largest free part of the pool: about the largest request that can succeed. 0 if
    /// it is unknown.
    std::uint64_t largest_free_block() const { return use().largest_free; }

    /// The allocator.
    A& allocator() { return *allocator_; }
    const A& allocator() const { return *allocator_; }

private:
    // The allocator's buffers go back to the memory given, which is declared before it.
    std::unique_ptr<GivenMemory> given_;
    std::unique_ptr<A> allocator_;
    std::uint32_t multiprocessors_;
};

template <Allocator A>
Heap<A>::Heap(const HeapConfig& config) {
    if (config.memory != nullptr && config.source != nullptr) {
        throw std::invalid_argument("a heap has memory or a source of memory, not both");
    }
    const bool elsewhere = config.memory != nullptr || config.source != nullptr;
    if (elsewhere && A::traits().one_heap) {
        throw std::invalid_argument(std::string(A::traits().name) +
                                    " cannot use memory that a program has: CUDA gives its own");
    }
    if (config.source != nullptr && config.source->place() != config.place) {
        throw std::invalid_argument("the source's memory and the heap lie on different machines");
    }
    PoolConfig pool = heap::pool_config(config);
    multiprocessors_ = pool.multiprocessors;
    if (config.memory != nullptr) {
        pool.bytes = heap::largest_pool(A::traits().smallest_pool, config.bytes,
                                        [&pool](std::uint64_t bytes) {
                                            PoolConfig tried = pool;
                                            tried.bytes = bytes;
                                            return needed_for<A>(tried);
                                        });
        if (pool.bytes == 0) {
            throw std::invalid_argument(
                "a heap of " + std::string(A::traits().name) + " does not fit in " +
                std::to_string(config.bytes) + " bytes: its smallest pool has " +
                std::to_string(A::traits().smallest_pool) + ", and its tables come on top");
        }
        given_ = std::make_unique<GivenMemory>(config.place, config.memory, config.bytes);
        const SourceScope scope(*given_);
        allocator_ = std::make_unique<A>(pool);
    } else if (config.source != nullptr) {
        const SourceScope scope(*config.source);
        allocator_ = std::make_unique<A>(pool);
    } else {
        allocator_ = std::make_unique<A>(pool);
    }
}

}  // namespace heapwood::allocators
