/// @file
/// Times on a GPU what a heap costs over its allocator:
///     heapwood_heap_benchmark [THREADS]
/// prints for each size, from 16 bytes to 4 KiB, microseconds (medians of 21, or of those that fit
/// in two seconds) for THREADS threads, 100,000 if not given, to ask for a block each, and to free
/// it: by the allocator's own handle, by a Heap, by a heap that has grown, by the linked library,
/// and by CUDA's malloc. Ends with 1 if a request is refused.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/cudamalloc.cuh"
#include "allocators/flatterscatter.cuh"
#include "allocators/halloc.cuh"
#include "allocators/heap.cuh"
#include "allocators/heap/growing.cuh"
#include "allocators/heapwood_heap.h"
#include "allocators/llvm_libc.cuh"
#include "allocators/platform/cuda_runtime.h"

namespace heapwood::allocators::benchmarks {
namespace {

constexpr unsigned kBlockSize = 256;
constexpr unsigned kTimes = 21;
constexpr double kMostMs = 2000;  ///< of a size, after which it is not tried again
constexpr std::uint64_t kPoolBytes = std::uint64_t{2} << 30;

/// An allocator's own handle, which is given the caller and the size.
template <class A>
struct Direct {
    typename A::Ref ref;
    std::size_t bytes;

    __device__ Context caller() const {
        return {blockIdx.x, (blockIdx.x * blockDim.x + threadIdx.x) / 32};
    }
    __device__ void* malloc(std::size_t n) const { return ref.allocate(caller(), n); }
    __device__ void free(void* p) const { ref.deallocate(caller(), p, bytes); }
};

/// The linked library.
struct Linked {
    heapwood_heap* heap;

    __device__ void* malloc(std::size_t n) const { return heapwood_malloc(heap, n); }
    __device__ void free(void* p) const { heapwood_free(heap, p); }
};

/// CUDA's own.
struct Cuda {
    __device__ void* malloc(std::size_t n) const { return ::malloc(n); }
    __device__ void free(void* p) const { ::free(p); }
};

template <class Heap>
__global__ void take(Heap heap, std::size_t bytes, void** blocks, unsigned threads,
                     unsigned* refused) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= threads) return;
    blocks[thread] = heap.malloc(bytes);
    if (blocks[thread] == nullptr) atomicAdd(refused, 1U);
}

template <class Heap>
__global__ void give(Heap heap, void** blocks, unsigned threads) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread < threads) heap.free(blocks[thread]);
}

class Measurement {
public:
    explicit Measurement(unsigned threads)
        : threads_(threads),
          blocks_(Place::device, threads * sizeof(void*)),
          refused_(Place::device, sizeof(unsigned)) {
        refused_.zero();
    }

    /// Prints one line.
    template <class Heap>
    void run(const char* name, const Heap& heap, std::size_t bytes) {
        const unsigned grid = (threads_ + kBlockSize - 1) / kBlockSize;
        void** const blocks = blocks_.as<void*>();
        std::vector<double> takes;
        std::vector<double> gives;
        double all_ms = 0;
        for (unsigned i = 0; i <= kTimes; ++i) {
            const double taken = platform::run_timed_by_cuda("taking blocks", [&] {
                take<<<grid, kBlockSize>>>(heap, bytes, blocks, threads_, refused_.as<unsigned>());
            });
            const double given = platform::run_timed_by_cuda(
                "giving blocks", [&] { give<<<grid, kBlockSize>>>(heap, blocks, threads_); });
            if (i == 0) continue;  // the first touches the heap
            takes.push_back(taken * 1000);
            gives.push_back(given * 1000);
            all_ms += taken + given;
            if (all_ms > kMostMs) break;
        }
        std::printf("%6zu  %-24s %9.1f %9.1f\n", bytes, name, median(takes), median(gives));
    }
    unsigned refused() const {
        unsigned refused = 0;
        refused_.read(0, &refused, sizeof refused);
        return refused;
    }

private:
    static double median(std::vector<double> values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }

    unsigned threads_;
    Buffer blocks_;
    Buffer refused_;
};

/// An allocator by itself, and as a heap.
template <class A>
void run_all(Measurement& measurement, const char* name, std::size_t bytes) {
    const std::string text(name);
    const Heap<A> heap(kPoolBytes);
    measurement.run(name, Direct<A>{heap.allocator().ref(), bytes}, bytes);
    measurement.run((text + " heap").c_str(), heap.ref(), bytes);
    Heap<Growing<A>> grown(kPoolBytes / 2);
    grown.allocator().grow(kPoolBytes / 2);
    measurement.run((text + " heap, grown").c_str(), grown.ref(), bytes);
}

int run(unsigned threads) {
    const Heap<CudaMalloc> cuda(kPoolBytes);
    const heapwood_heap_options options{
        .bytes = kPoolBytes, .place = HEAPWOOD_ON_DEVICE, .callers = 0, .memory = nullptr};
    heapwood_heap* const linked = heapwood_heap_create(&options);
    if (linked == nullptr) {
        std::printf("%s\n", heapwood_heap_error());
        return 1;
    }
    Measurement measurement(threads);
    std::printf("%u threads, microseconds\n bytes  %-24s %9s %9s\n", threads, "", "malloc", "free");
    for (std::size_t bytes = 16; bytes <= 4096; bytes *= 4) {
        run_all<Cambium>(measurement, "cambium", bytes);
        run_all<FlatterScatter>(measurement, "flatterscatter", bytes);
        run_all<Halloc>(measurement, "halloc", bytes);
        run_all<LlvmLibc>(measurement, "llvm-libc", bytes);
        measurement.run("linked", Linked{linked}, bytes);
        measurement.run("CUDA's malloc", Cuda{}, bytes);
    }
    std::printf("linked: %s; %u requests refused\n", heapwood_heap_allocator(),
                measurement.refused());
    return heapwood_heap_destroy(linked) == 0 && measurement.refused() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heapwood::allocators::benchmarks

int main(int argc, char** argv) {
    const unsigned long threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
    if (threads == 0 || threads > 10'000'000) {
        std::fprintf(stderr, "heapwood_heap_benchmark [THREADS]: 1 to 10000000 threads\n");
        return 2;
    }
    try {
        return heapwood::allocators::benchmarks::run(static_cast<unsigned>(threads));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heapwood_heap_benchmark: %s\n", error.what());
        return 1;
    }
}
