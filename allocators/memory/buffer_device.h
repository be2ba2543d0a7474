/// @file
/// The CUDA half of Buffer and of CudaMalloc, behind plain functions: buffer_device.cu calls the
/// CUDA runtime, buffer_no_device.cpp, linked in its stead where there is no CUDA, refuses.
///
/// Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocators/memory/buffer.h"

namespace heapwood::allocators::detail {

// What follows throws std::runtime_error where CUDA answers anything but that memory is short: an
// earlier kernel may have gone wrong.

/// Device memory of the current device.
/// @throws BufferError if it cannot be had, or if the program was built without CUDA.
void* device_allocate(std::uint64_t bytes);

/// Returns memory of device_allocate; never throws. nullptr is ignored.
void device_free(void* data) noexcept;

/// Blocking copies, fills and scattered words, after which the host and every later kernel see the
/// bytes; in a StreamScope only what comes later on its stream, and all but reads return before.
void device_write(void* to, const void* from, std::uint64_t bytes);
void device_read(void* to, const void* from, std::uint64_t bytes);
void device_fill(void* data, unsigned char value, std::uint64_t bytes);
void device_write_words(std::uint32_t* to, const Word* words, std::size_t count);

/// Sets the size of the heap behind `malloc` in kernels, which all kernels of the process share.
///
/// CUDA lets it be changed only until a kernel has used it. Once it is fixed, a heap at least as
/// large as asked for is kept as it is.
/// @return its size in bytes, which may be above `bytes`.
/// @throws BufferError if the heap is fixed at a smaller size, if the device has less memory free,
/// or if the program was built without CUDA.
std::uint64_t set_device_malloc_bytes(std::uint64_t bytes);

}  // namespace heapwood::allocators::detail
