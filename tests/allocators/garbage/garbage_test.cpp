/// @file
/// Garbage in the host's Buffers (garbage.h): the linker puts __wrap_NAME in the place of every
/// call of NAME (CMakeLists.txt has the names).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "allocators/memory/buffer.h"
#include "tests/allocators/garbage/garbage.h"

namespace heapwood::tests {

namespace {

/// A larger block is there to show that it takes no memory before it is touched.
constexpr std::size_t kMost = std::size_t{64} << 20;

void spoil(void* data, std::size_t bytes) {
    std::memset(data, kGarbage, std::min(bytes, kMost));
}

}  // namespace

extern "C" {

void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
    void* data = __real_aligned_alloc(alignment, bytes);
    if (data != nullptr) spoil(data, bytes);
    return data;
}

void* __real_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset);
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset);
void* __wrap_mmap(void* at, std::size_t bytes, int access, int flags, int file, off_t offset) {
    void* data = __real_mmap(at, bytes, access, flags, file, offset);
    const bool is_fresh = (flags & MAP_ANONYMOUS) != 0 && (access & PROT_WRITE) != 0;
    if (data != MAP_FAILED && is_fresh) spoil(data, bytes);
    return data;
}

}  // extern "C"

TEST(Garbage, IsInEveryBufferOfTheHost) {
    // Small ones and large ones come from different sources.
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 10, std::size_t{1} << 22}) {
        const allocators::Buffer buffer(allocators::Place::host, bytes);
        const auto* data = buffer.as<unsigned char>();
        EXPECT_EQ(std::count(data, data + bytes, kGarbage), static_cast<std::ptrdiff_t>(bytes));
    }
}

}  // namespace heapwood::tests
