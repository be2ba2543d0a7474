/// @file
/// AddressRange: a range of addresses that gets its memory in steps, from the front.
#pragma once

#include <cstdint>

#include "allocators/memory/beside_kernels.h"
#include "allocators/memory/buffer.h"
#include "allocators/memory/source.h"

namespace heapwood::allocators {

/// A range for one Buffer, which is as large as the range and has memory up to map_to(). On a CPU
/// all addresses have memory: the system gives a page when it is first touched.
class AddressRange final : public MemorySource {
public:
    /// @param device gives the memory of Place::device, and outlives the range; else nullptr
    /// @throws BufferError, or std::runtime_error, if the process has not as many addresses
    AddressRange(Place place, std::uint64_t bytes, const BesideKernels* device);
    ~AddressRange() override;

    /// The first `bytes` bytes have memory from now on, also while kernels run.
    /// @throws BufferError if memory is short, and then nothing has changed
    void map_to(std::uint64_t bytes);

    /// The whole range, for at most `bytes` bytes of it, once.
    /// @throws BufferError if that is more than the range has, or it has been given
    void* allocate(std::uint64_t bytes) override;
    void deallocate(void*, std::uint64_t) noexcept override {}

private:
    const std::uint64_t bytes_;
    const BesideKernels* const device_;
    Buffer on_host_;
    void* addresses_ = nullptr;
    std::uint64_t mapped_ = 0;
    bool is_given_ = false;
};

}  // namespace heapwood::allocators
