/// @file
/// Garbage in a GPU's Buffers (garbage.h): the linker puts __wrap_cudaMalloc in the place of every
/// call of cudaMalloc.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "allocators/memory/buffer.h"
#include "tests/allocators/garbage/garbage.h"

extern "C" {

cudaError_t __real_cudaMalloc(void** data, size_t bytes);
cudaError_t __wrap_cudaMalloc(void** data, size_t bytes);
cudaError_t __wrap_cudaMalloc(void** data, size_t bytes) {
    const cudaError_t status = __real_cudaMalloc(data, bytes);
    if (status != cudaSuccess) return status;
    const cudaError_t spoiled = cudaMemset(*data, heapwood::tests::kGarbage, bytes);
    // Before anything on another stream.
    return spoiled == cudaSuccess ? cudaStreamSynchronize(nullptr) : spoiled;
}

}  // extern "C"

namespace heapwood::tests {

TEST(Garbage, IsInEveryBufferOfTheDevice) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no device";
    constexpr std::size_t kBytes = std::size_t{1} << 22;
    const allocators::Buffer buffer(allocators::Place::device, kBytes);
    std::vector<unsigned char> bytes(kBytes);
    buffer.read(0, bytes.data(), kBytes);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), kGarbage),
              static_cast<std::ptrdiff_t>(kBytes));
}

}  // namespace heapwood::tests
