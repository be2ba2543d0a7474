/// @file
/// The CUDA half of Buffer and of CudaMalloc: every call of the CUDA runtime that they need, each
/// checked.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "allocators/memory/beside_kernels.h"
#include "allocators/memory/buffer.h"
#include "allocators/memory/buffer_device.h"
#include "allocators/memory/stream_scope.h"
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

/// Bytes to be written, in the parameters of a kernel.
struct Payload {
    unsigned char bytes[4000];
};
/// Larger writes in a stream's order are copies.
constexpr std::uint64_t kMostByParameters = 64 << 10;

cudaStream_t scope_stream() {
    return static_cast<cudaStream_t>(StreamScope::stream());
}

/// After work on the scope's stream; outside a scope on the default stream.
void wait_unless_in_scope(const char* operation, std::uint64_t bytes) {
    if (!StreamScope::active()) check(cudaStreamSynchronize(nullptr), operation, bytes);
}

__global__ void write_payload(unsigned char* to, const __grid_constant__ Payload payload,
                              unsigned bytes) {
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) to[i] = payload.bytes[i];
}

void write_by_parameters(unsigned char* to, const unsigned char* from, std::uint64_t bytes) {
    Payload payload;
    for (std::uint64_t done = 0; done < bytes; done += sizeof(payload)) {
        const std::uint64_t now = std::min<std::uint64_t>(sizeof(payload), bytes - done);
        std::copy_n(from + done, now, payload.bytes);
        write_payload<<<1, 512, 0, scope_stream()>>>(to + done, payload,
                                                     static_cast<unsigned>(now));
        check(cudaGetLastError(), "writing", now);
    }
}

/// A copy that a graph repeats would read the host's memory again when it is gone.
void refuse_capture(std::uint64_t bytes) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(scope_stream(), &capture), "writing", bytes);
    if (capture == cudaStreamCaptureStatusNone) return;
    throw std::runtime_error("writing " + std::to_string(bytes) +
                             " bytes from the host cannot be captured in a CUDA graph; at most " +
                             std::to_string(kMostByParameters) + " can");
}

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

// Copies are of the default kind: a source's device memory may be managed or pinned.
void device_write(void* to, const void* from, std::uint64_t bytes) {
    if (CopyEngine* const engine = active_copy_engine()) {
        copy_in(*engine, to, from, bytes);
    } else if (!StreamScope::active()) {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "writing", bytes);
    } else if (bytes <= kMostByParameters) {
        write_by_parameters(static_cast<unsigned char*>(to),
                            static_cast<const unsigned char*>(from), bytes);
    } else {
        refuse_capture(bytes);
        // From pageable memory: CUDA has read it when the call returns.
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, scope_stream()), "writing",
              bytes);
    }
}

void device_read(void* to, const void* from, std::uint64_t bytes) {
    if (CopyEngine* const engine = active_copy_engine()) {
        copy_out(*engine, to, from, bytes);
        return;
    }
    if (!StreamScope::active()) {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "reading", bytes);
        return;
    }
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, scope_stream()), "reading", bytes);
    check(cudaStreamSynchronize(scope_stream()), "reading", bytes);
}

void device_fill(void* data, unsigned char value, std::uint64_t bytes) {
    if (CopyEngine* const engine = active_copy_engine()) {
        copy_byte(*engine, data, value, bytes);
        return;
    }
    check(cudaMemsetAsync(data, value, bytes, scope_stream()), "filling", bytes);
    wait_unless_in_scope("filling", bytes);
}

void device_write_words(std::uint32_t* to, const Word* words, std::size_t count) {
    if (count == 0) return;
    if (CopyEngine* const engine = active_copy_engine()) {
        copy_words(*engine, to, words, count);
        return;
    }
    Batch batch;
    batch.to = to;
    for (std::size_t done = 0; done < count; done += kBatch) {
        const std::size_t now = std::min(kBatch, count - done);
        std::copy_n(words + done, now, batch.words);
        write_batch<<<1, kBatch, 0, scope_stream()>>>(batch, static_cast<unsigned>(now));
        check(cudaGetLastError(), "writing", now * sizeof(std::uint32_t));
    }
    wait_unless_in_scope("writing", count * sizeof(std::uint32_t));
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
