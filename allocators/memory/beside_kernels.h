/// @file
/// BesideKernels: memory that is made and written while a kernel runs, even one that fills the GPU
/// and waits for that memory.
///
/// What CUDA programs use for that would wait for the kernel: cudaMalloc() and cudaHostAlloc() may
/// synchronize, and a fill, or a kernel that writes, needs a multiprocessor with room. So here
///
/// - memory comes from CUDA's virtual memory calls, which do not synchronize. They are found by
///   cudaGetDriverEntryPointByVersion(), so a program need not link CUDA's driver;
/// - what Buffers write and fill goes by the copy engines: it is copied from pinned memory, made
///   beforehand, on a stream of its own that does not wait for the default stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"

namespace heapwood::allocators {

namespace detail {
struct CopyEngine;
}

/// Belongs to the device that is current when it is made. For one thread at a time.
class BesideKernels {
public:
    /// Bytes of pinned().
    static constexpr std::size_t kPinnedBytes = 4096;

    /// @throws std::runtime_error if the device has no virtual memory calls, or the program was
    ///     built without CUDA; BufferError if memory is short
    BesideKernels();
    /// All memory that was made has gone by then.
    ~BesideKernels();
    BesideKernels(const BesideKernels&) = delete;
    BesideKernels& operator=(const BesideKernels&) = delete;

    /// kPinnedBytes bytes of memory that the host and the device's kernels see at one address.
    void* pinned() const;
    /// Device memory of whole multiples of some MiB. It outlives this object's scopes, and must go
    /// before this object. Nothing waits for kernels when it goes: wait() does.
    MemorySource& memory() const;
    /// Waits until the device has done all its work, or has failed.
    void wait() const noexcept;

    /// Reserves addresses of device memory, which have none yet. @return the first one
    /// @throws std::runtime_error if the device has not as many
    void* reserve(std::uint64_t bytes) const;
    /// Memory for addresses of reserve(): from `from` on, where those before have some, up to `to`.
    /// @return how far they have it now: `to`, rounded up to what the device maps at once
    /// @throws BufferError if memory is short, and then nothing has changed
    std::uint64_t map(void* addresses, std::uint64_t from, std::uint64_t to) const;
    /// Gives back `bytes` addresses, and the memory that they have up to `mapped`.
    void give_up(void* addresses, std::uint64_t bytes, std::uint64_t mapped) const noexcept;

    /// While a scope lives, the device is the calling thread's current one. Device Buffers that
    /// this thread makes are of memory(), unless a scope within has another source. What it does to
    /// Buffers of a device goes by the copy engines, and has happened when the call returns.
    class Scope {
    public:
        explicit Scope(const BesideKernels& device);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        SourceScope source_;
        detail::CopyEngine* outer_;
        int device_before_ = 0;
    };

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

namespace detail {

/// The calling thread's innermost scope's; nullptr outside. For buffer_device.cu.
CopyEngine* active_copy_engine() noexcept;

void copy_in(CopyEngine& engine, void* to, const void* from, std::uint64_t bytes);
void copy_out(CopyEngine& engine, void* to, const void* from, std::uint64_t bytes);
void copy_byte(CopyEngine& engine, void* to, unsigned char value, std::uint64_t bytes);
void copy_words(CopyEngine& engine, std::uint32_t* to, const Word* words, std::size_t count);

}  // namespace detail

}  // namespace heapwood::allocators
