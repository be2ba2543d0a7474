/// @file
/// Memory of either machine with one owner: what pools and their side tables are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace heapwood::allocators {

/// Where memory lies.
enum class Place { host, device };

/// Thrown when memory cannot be had or copied; says how many bytes and what the system answered.
class BufferError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A word of 4 bytes in a block of memory, and what is to stand there.
struct Word {
    std::uint32_t index;  ///< of the word, from the block's start
    std::uint32_t value;
};

class MemorySource;

/// A block of host or device memory, freed with its owner. Movable, not copyable. It comes from the
/// system, or in a SourceScope (source.h) from that scope's source.
///
/// The contents are not initialised. A program without CUDA has only Place::host, and asking for
/// Place::device there throws BufferError, as access outside the block does. Host memory is aligned
/// to 256 bytes, as device memory, and a large block takes pages only when they are first touched.
/// A device that fails for another reason than that memory is short throws std::runtime_error.
class Buffer {
public:
    /// An empty heap.
    Buffer() = default;
    /// @throws BufferError if `bytes` bytes cannot be had there.
    Buffer(Place place, std::uint64_t bytes);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    ~Buffer();

    Place place() const { return place_; }
    std::uint64_t size() const { return bytes_; }
    /// The first byte: to be dereferenced only where it lies.
    void* data() const { return data_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

    /// Copies `bytes` bytes from host memory to byte `offset`. Blocking.
    void write(std::uint64_t offset, const void* from, std::uint64_t bytes);
    /// Writes `count` words, here and there. Blocking. On a device it takes a few microseconds for
    /// every few hundred of them, wherever they are.
    void write_words(const Word* words, std::size_t count);
    /// Copies `bytes` bytes from byte `offset` to host memory. Blocking.
    void read(std::uint64_t offset, void* to, std::uint64_t bytes) const;
    /// Sets `bytes` bytes from byte `offset` to `value`. Blocking.
    void fill(std::uint64_t offset, unsigned char value, std::uint64_t bytes);
    /// Sets every byte to 0. Blocking; a large block on the host takes no time and no memory.
    void zero();

private:
    /// The first of `bytes` bytes from byte `offset`, once they are known to lie in the block.
    /// nullptr if there is nothing to be done: no bytes, or a block without memory (source.h).
    std::byte* range(std::uint64_t offset, std::uint64_t bytes) const;

    Place place_ = Place::host;
    std::uint64_t bytes_ = 0;
    void* data_ = nullptr;
    MemorySource* source_ = nullptr;  ///< that it goes back to; nullptr: the system
};

}  // namespace heapwood::allocators
