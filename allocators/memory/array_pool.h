/// @file
/// A host-side pool of device (or host) memory, after McCall & Smith 2024, whose programs of many
/// kernel launches ran 37 to 45 % shorter when blocks came from such a pool rather than from the
/// system one by one.
///
/// Memory is taken from the system in slabs, each a Buffer. A slab is cut in chunks of 256 bytes
/// and numbered by them; a block is a run of chunks. Free blocks are known by size, so that a
/// request takes the smallest that is large enough (best fit; of several the one in the oldest
/// slab, at the lowest index), and by index, so that a returned block is merged with its free
/// neighbours on both sides. Where no block is large enough there is a new slab of twice the last
/// one's size, or of the request's if that is more, or if the system has no more to give.
///
/// Not for several threads at once. A block may be given back, and handed out again, while kernels
/// that use it are still to run, as long as all users launch their work into one stream.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>

#include "allocators/memory/buffer.h"

namespace heapwood::allocators {

/// Hands out blocks of slabs. Neither movable nor copyable: its blocks refer to it.
class ArrayPool {
public:
    /// Alignment, in bytes, of every block, and the unit of its size.
    static constexpr std::uint64_t kChunk = 256;

    /// Whether slabs are kept for later requests; otherwise every block is a Buffer of its own,
    /// made by the request and freed with the block: what a program without a pool does.
    enum class Keep { slabs, nothing };

    /// What has been asked for so far. Bytes of blocks are rounded up to whole chunks.
    struct Statistics {
        std::uint64_t live_bytes = 0;       ///< of blocks handed out and not yet returned
        std::uint64_t peak_live_bytes = 0;  ///< most of them at once, since the last reset_peak
        std::uint64_t slab_bytes = 0;       ///< held from the system
        std::uint64_t peak_slab_bytes = 0;  ///< most of them at once, since the last reset_peak
        std::uint64_t requests = 0;         ///< for more than 0 bytes, those that failed included
        std::uint64_t grown = 0;            ///< requests that took memory from the system
    };

    /// A block of the pool, returned to it with its owner, which must not outlive the pool. The
    /// same interface as a Buffer's: contents are not initialised; access outside the block throws
    /// BufferError; a device that fails throws as a Buffer's does.
    class Block {
    public:
        /// An empty block.
        Block() = default;
        Block(Block&& other) noexcept;
        Block& operator=(Block&& other) noexcept;
        ~Block();

        /// Bytes as they were asked for.
        std::uint64_t size() const { return bytes_; }
        /// The first byte: to be dereferenced only where it lies.
        void* data() const;
        template <class T>
        T* as() const {
            return static_cast<T*>(data());
        }

        /// Copies `bytes` bytes from host memory to byte `offset`. Blocking.
        void write(std::uint64_t offset, const void* from, std::uint64_t bytes);
        /// Copies `bytes` bytes from byte `offset` to host memory. Blocking.
        void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
        /// Sets `bytes` bytes from byte `offset` to `value`. Blocking.
        void fill(std::uint64_t offset, unsigned char value, std::uint64_t bytes);

    private:
        friend class ArrayPool;
        Block(ArrayPool& pool, std::uint64_t slab, std::uint64_t index, std::uint64_t bytes)
            : pool_(&pool), slab_(slab), index_(index), bytes_(bytes) {}
        /// The slab, once the bytes are known to lie in the block.
        Buffer& heap(std::uint64_t offset, std::uint64_t bytes) const;

        ArrayPool* pool_ = nullptr;
        std::uint64_t slab_ = 0;
        std::uint64_t index_ = 0;  ///< of its first chunk in the slab
        std::uint64_t bytes_ = 0;
    };

    explicit ArrayPool(Place place, Keep keep = Keep::slabs) : place_(place), keep_(keep) {}
    ArrayPool(const ArrayPool&) = delete;
    ArrayPool& operator=(const ArrayPool&) = delete;

    Place place() const { return place_; }
    Keep keep() const { return keep_; }
    Statistics statistics() const { return statistics_; }
    /// Makes the present figures the peaks.
    void reset_peak();
    /// Number of free blocks, and the bytes of the largest: one block a slab when none is in use.
    std::uint64_t free_blocks() const { return by_size_.size(); }
    std::uint64_t largest_free_bytes() const;

    /// A block of `bytes` bytes; an empty one for 0.
    /// @throws BufferError, beginning with `what` it was for, if the system has not that many.
    Block request(std::uint64_t bytes, const char* what = "a block");
    /// Takes one slab from the system, if there is no free block of that many bytes: for callers
    /// that know how much they will ask for in all. With Keep::nothing it does nothing.
    /// @return false if the system has not that many.
    bool reserve(std::uint64_t bytes);
    /// Gives slabs of which nothing is in use back to the system.
    void trim() noexcept;

private:
    /// Sizes and indices count chunks. Slabs are numbered in the order they are made.
    struct Slab {
        Buffer heap;
        std::map<std::uint64_t, std::uint64_t> free;  ///< index of a free block: its size
    };
    /// Size, slab, index: the order in which best fit prefers them.
    using FreeBlock = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

    /// The number of a new slab.
    std::uint64_t add_slab(std::uint64_t chunks);
    /// A new slab that is one free block.
    void add_free_slab(std::uint64_t chunks);
    void grow(std::uint64_t chunks);
    void release(std::uint64_t slab, std::uint64_t index, std::uint64_t chunks) noexcept;

    Place place_;
    Keep keep_;
    std::map<std::uint64_t, Slab> slabs_;
    std::uint64_t next_slab_ = 0;
    std::uint64_t last_chunks_ = 0;  ///< of the slab made last
    std::set<FreeBlock> by_size_;
    Statistics statistics_;
};

}  // namespace heapwood::allocators
