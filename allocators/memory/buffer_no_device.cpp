/// @file
/// What stands in for the CUDA half of Buffer in a program built without CUDA: it refuses.
#include <string>

#include "allocators/memory/buffer.h"
#include "allocators/memory/buffer_device.h"

namespace heapwood::allocators::detail {

namespace {

[[noreturn]] void refuse(std::uint64_t bytes) {
    throw BufferError(
        "no " + std::to_string(bytes) +
        " bytes of device memory: this program was built without CUDA; use the CPU, or "
        "build it where nvcc is found");
}

}  // namespace

void* device_allocate(std::uint64_t bytes) {
    refuse(bytes);
}
void device_free(void*) noexcept {}
void device_write(void*, const void*, std::uint64_t bytes) {
    refuse(bytes);
}
void device_read(void*, const void*, std::uint64_t bytes) {
    refuse(bytes);
}
void device_fill(void*, unsigned char, std::uint64_t bytes) {
    refuse(bytes);
}
void device_write_words(std::uint32_t*, const Word*, std::size_t count) {
    refuse(count * sizeof(std::uint32_t));
}
std::uint64_t set_device_malloc_bytes(std::uint64_t bytes) {
    refuse(bytes);
}

}  // namespace heapwood::allocators::detail
