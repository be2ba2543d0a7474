/// @file
/// The CUDA half of Buffer and of CudaMalloc: every call of the CUDA runtime that they need, each
/// checked.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "allocators/memory/buffer.h"
#include "allocators/memory/buffer_device.h"
#include "allocators/platform/cuda_runtime.h"

namespace heapwood::allocators::detail {

namespace {

/// @throws BufferError where memory is short, else std::runtime_error, for any call may have to
/// tell of an earlier kernel's end; naming the operation and what CUDA answered.
void check(cudaError_t status, const char* operation, std::uint64_t bytes) {
    if (status == cudaSuccess) return;
    const std::string why = std::string(operation) + " " + std::to_string(bytes) +
                            " bytes on the device failed: " + platform::cuda_failure(status);
    if (status == cudaErrorMemoryAllocation) throw BufferError(why);
    throw std::runtime_error(why);
}

/// As many words as a kernel's parameters have room for in 4 KiB, so that no copy is needed.
constexpr std::size_t kBatch = 500;
struct Batch {
    std::uint32_t* to;
    Word words[kBatch];
};

/// Writes a word a thread.
__global__ void write_batch(const __grid_constant__ Batch batch, unsigned count) {
    if (threadIdx.x < count)
        batch.to[batch.words[threadIdx.x].index] = batch.words[threadIdx.x].value;
}

}  // namespace

void* device_allocate(std::uint64_t bytes) {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "allocating", bytes);
    return data;
}

void device_free(void* data) noexcept {
    // A destructor cannot report: a failure here is a sticky error of an earlier kernel, which
    // the next checked call names.
    (void)cudaFree(data);
}

void device_write(void* to, const void* from, std::uint64_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "writing", bytes);
}

void device_read(void* to, const void* from, std::uint64_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "reading", bytes);
}

void device_fill(void* data, unsigned char value, std::uint64_t bytes) {
    check(cudaMemset(data, value, bytes), "filling", bytes);
    // Unlike cudaMemcpy, cudaMemset returns before it has finished.
    check(cudaStreamSynchronize(nullptr), "filling", bytes);
}

void device_write_words(std::uint32_t* to, const Word* words, std::size_t count) {
    if (count == 0) return;
    Batch batch;
    batch.to = to;
    for (std::size_t done = 0; done < count; done += kBatch) {
        const std::size_t now = std::min(kBatch, count - done);
        std::copy_n(words + done, now, batch.words);
        write_batch<<<1, kBatch>>>(batch, static_cast<unsigned>(now));
        check(cudaGetLastError(), "writing", now * sizeof(std::uint32_t));
    }
    check(cudaStreamSynchronize(nullptr), "writing", count * sizeof(std::uint32_t));
}

std::uint64_t set_device_malloc_bytes(std::uint64_t bytes) {
    std::size_t current = 0;
    check(cudaDeviceGetLimit(&current, cudaLimitMallocHeapSize), "asking for a malloc heap of",
          bytes);
    if (current == bytes) return current;
    if (bytes > current) {
        // The limit is only a number until the first kernel with a malloc is loaded, and would
        // fail there with a message that names neither the pool nor its size.
        std::size_t free = 0;
        std::size_t total = 0;
        check(cudaMemGetInfo(&free, &total), "asking for a malloc heap of", bytes);
        if (bytes > free) {
            throw BufferError("a malloc heap of " + std::to_string(bytes) +
                              " bytes does not fit in the " + std::to_string(free) +
                              " bytes that are free on the device");
        }
    }
    const cudaError_t status = cudaDeviceSetLimit(cudaLimitMallocHeapSize, bytes);
    if (status == cudaErrorInvalidValue) {
        static_cast<void>(platform::cuda_failure(status));
        if (current >= bytes) return current;
        throw BufferError("CUDA's malloc heap is fixed at " + std::to_string(current) +
                          " bytes since a kernel used it, and " + std::to_string(bytes) +
                          " bytes are asked for: a process must ask for its largest heap first");
    }
    check(status, "setting a malloc heap of", bytes);
    check(cudaDeviceGetLimit(&current, cudaLimitMallocHeapSize), "asking for a malloc heap of",
          bytes);
    return current;
}

}  // namespace heapwood::allocators::detail
