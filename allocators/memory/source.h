/// @file
/// Where Buffers get their memory, if not from the system: a pool can lie in memory that a program
/// has already, whatever the allocator, and the allocator need not know.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/memory/buffer.h"

namespace heapwood::allocators {

/// Memory of a source begins at multiples of this many bytes.
inline constexpr std::size_t kAlignmentOfSources = 256;

/// Gives memory to Buffers and takes it back. It must outlive the Buffers.
class MemorySource {
public:
    explicit MemorySource(Place place) : place_(place) {}
    MemorySource(const MemorySource&) = delete;
    MemorySource& operator=(const MemorySource&) = delete;
    virtual ~MemorySource() = default;

    /// Where its memory lies. Buffers of the other place do not ask it.
    Place place() const { return place_; }

    /// Memory aligned to kAlignmentOfSources. nullptr: the Buffer has its size and no memory. What
    /// is written to such a Buffer is lost, and what is read from it is 0.
    /// @param bytes more than 0
    /// @throws BufferError if it has not so many bytes left
    virtual void* allocate(std::uint64_t bytes) = 0;
    /// Takes back what allocate() returned for so many bytes.
    virtual void deallocate(void* data, std::uint64_t bytes) noexcept = 0;

private:
    Place place_;
};

/// While a scope lives, the Buffers that its thread makes at the source's place come from the
/// source. Scopes may be nested: the innermost counts.
class SourceScope {
public:
    explicit SourceScope(MemorySource& source) noexcept;
    ~SourceScope();
    SourceScope(const SourceScope&) = delete;
    SourceScope& operator=(const SourceScope&) = delete;

    /// What a Buffer of this thread at that place comes from; nullptr: from the system.
    static MemorySource* source(Place place) noexcept;

private:
    MemorySource& source_;
    const SourceScope* outer_;
};

/// A range of memory that somebody else owns, given away front to back. What is taken back is not
/// given again.
class GivenMemory : public MemorySource {
public:
    /// @param memory `bytes` bytes at `place`: of the host for Place::host; for Place::device also
    ///     managed memory, and pinned memory that the device sees at the same address. nullptr: it
    ///     gives no memory, as a MeasuringSource
    GivenMemory(Place place, void* memory, std::uint64_t bytes) noexcept
        : MemorySource(place), memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {}

    void* allocate(std::uint64_t bytes) override;
    void deallocate(void*, std::uint64_t) noexcept override {}

private:
    std::byte* memory_;
    std::uint64_t bytes_;
    std::uint64_t used_ = 0;
};

/// Gives no memory and counts what is asked for: how much an allocator will need.
class MeasuringSource : public MemorySource {
public:
    using MemorySource::MemorySource;

    void* allocate(std::uint64_t bytes) override;
    void deallocate(void*, std::uint64_t) noexcept override {}

    /// Bytes of a GivenMemory, at any address, that has room for all that was asked for.
    std::uint64_t needed() const;

private:
    std::uint64_t asked_ = 0;
};

}  // namespace heapwood::allocators
