/// @file
/// A program that uses the installed allocators in a kernel of its own.
#include <cstdio>

#include "stamp.h"

namespace {

template <class Ref>
__global__ void stamp_kernel(Ref allocator, unsigned* wrong) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const heapwood::allocators::Context context{.multiprocessor = blockIdx.x, .warp = thread / 32};
    wrong[thread] = stamp_blocks(allocator, context, thread);
}

}  // namespace

int main() {
    using namespace heapwood::allocators;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("GPU: none here, skipped");
        return 0;
    }
    constexpr unsigned kBlocksOfThreads = 8, kBlockSize = 128;
    constexpr unsigned kThreads = kBlocksOfThreads * kBlockSize;
    CMalloc pool(PoolConfig{
        .place = Place::device, .bytes = kPoolBytes, .multiprocessors = kBlocksOfThreads});
    unsigned* wrong = nullptr;
    if (cudaMallocManaged(&wrong, kThreads * sizeof(unsigned)) != cudaSuccess) return 1;
    stamp_kernel<<<kBlocksOfThreads, kBlockSize>>>(pool.ref(), wrong);
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
        std::printf("GPU: %s\n", cudaGetErrorString(status));
        return 1;
    }
    unsigned total = 0;
    for (unsigned t = 0; t < kThreads; ++t) total += wrong[t];
    cudaFree(wrong);
    const std::uint64_t left = allocated_bytes(pool);
    std::printf("GPU: %u wrong, %llu bytes left allocated\n", total,
                static_cast<unsigned long long>(left));
    return total == 0 && left == 0 ? 0 : 1;
}
