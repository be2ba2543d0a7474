/// @file
/// What the examples need of a machine: arrays, a function called for many numbers at once, and
/// sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "allocators/memory/buffer.h"
#include "allocators/platform/macros.cuh"
#include "allocators/platform/threads.h"

#if defined(__CUDACC__)
#include <cub/device/device_scan.cuh>

#include "allocators/platform/cuda_runtime.h"
#endif

namespace heapwood::examples {

/// An array on a machine.
template <class T>
class Array {
public:
    Array(allocators::Place place, std::size_t size)
        : buffer_(place, (size + 1) * sizeof(T)), size_(size) {}
    Array(allocators::Place place, std::span<const T> from) : Array(place, from.size()) {
        buffer_.write(0, from.data(), from.size_bytes());
    }

    T* data() const { return buffer_.as<T>(); }
    std::size_t size() const { return size_; }
    std::uint64_t bytes() const { return buffer_.size(); }
    void zero() { buffer_.zero(); }
    std::vector<T> copy() const {
        std::vector<T> all(size_);
        buffer_.read(0, all.data(), size_ * sizeof(T));
        return all;
    }

private:
    allocators::Buffer buffer_;
    std::size_t size_;
};

/// Threads of a CPU.
struct Cpu {
    static constexpr allocators::Place place = allocators::Place::host;

    /// Calls work(i) for every i below `count`. @return milliseconds
    template <class Work>
    static double for_each(std::uint32_t count, const Work& work) {
        return platform::run_threads(4, [&](std::uint32_t thread, std::uint32_t threads) {
            for (std::uint32_t i = thread; i < count; i += threads) work(i);
        });
    }
    /// numbers[i] becomes the sum of all before it, of `count` numbers. @return milliseconds
    static double sum_up(std::uint32_t* numbers, std::uint32_t count) {
        return platform::run_timed([&] {
            std::uint32_t sum = 0;
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint32_t number = numbers[i];
                numbers[i] = sum;
                sum += number;
            }
        });
    }
};

#if defined(__CUDACC__)

template <class Work>
__global__ void for_each_kernel(std::uint32_t count, Work work) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) work(i);
}

/// The threads of a GPU, one for each number.
struct Gpu {
    static constexpr allocators::Place place = allocators::Place::device;

    template <class Work>
    static double for_each(std::uint32_t count, const Work& work) {
        constexpr unsigned kBlock = 256;
        return platform::run_timed_by_cuda("an example", [&] {
            for_each_kernel<<<(count + kBlock - 1) / kBlock, kBlock>>>(count, work);
        });
    }
    static double sum_up(std::uint32_t* numbers, std::uint32_t count) {
        std::size_t bytes = 0;
        const auto scan = [&](void* memory) {
            platform::check_cuda(
                cub::DeviceScan::ExclusiveSum(memory, bytes, numbers, numbers, count),
                "summing up");
        };
        scan(nullptr);
        const allocators::Buffer memory(place, bytes);
        return platform::run_timed_by_cuda("summing up", [&] { scan(memory.data()); });
    }
};

#endif

}  // namespace heapwood::examples
