/// @file
/// Host benchmarks of the allocators: one allocation and one deallocation, alone and contended.
///
///     build/cpu/tests/benchmarks/heapwood_benchmarks --benchmark_filter=CMalloc
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "allocators/atomicmalloc.cuh"
#include "allocators/buddy.cuh"
#include "allocators/circular.cuh"
#include "allocators/cudamalloc.cuh"
#include "allocators/hybrid.cuh"

namespace heapwood::allocators {
namespace {

constexpr std::uint64_t kPoolBytes = 64 << 20;
constexpr std::uint32_t kMostThreads = 8;

/// Allocates and frees blocks of state.range(0) bytes. Where nothing is freed individually the
/// pool is replaced when it is full, outside the timing.
template <class A>
void allocate_and_free(benchmark::State& state) {
    static std::unique_ptr<A> pool;
    const PoolConfig config{
        .place = Place::host,
        .bytes = kPoolBytes,
        // Cut beforehand: a thread that is stalled while it cuts the only chunk hides all memory.
        .largest_request = kPoolBytes / 64,
        .multiprocessors = kMostThreads,
        .callers = kMostThreads};
    if (state.thread_index() == 0) pool = std::make_unique<A>(config);
    const auto bytes = static_cast<std::size_t>(state.range(0));
    const auto thread = static_cast<std::uint32_t>(state.thread_index());
    const Context context{.multiprocessor = thread, .warp = thread};
    // While others hold what is free, a request may be refused though little is in use.
    std::int64_t refused = 0;
    for (auto _ : state) {
        void* block = pool->ref().allocate(context, bytes);
        benchmark::DoNotOptimize(block);
        if (block == nullptr) {
            if (A::traits().frees_individually) {
                ++refused;
                continue;
            }
            if (state.threads() > 1) {
                state.SkipWithError("the pool is exhausted");
                break;
            }
            state.PauseTiming();
            pool->reset();
            state.ResumeTiming();
            continue;
        }
        pool->ref().deallocate(context, block, bytes);
    }
    state.counters["refused"] = static_cast<double>(refused);
    state.SetItemsProcessed(state.iterations());
}

BENCHMARK_TEMPLATE(allocate_and_free, AtomicMalloc)->Arg(16)->Arg(4096);
BENCHMARK_TEMPLATE(allocate_and_free, CudaMalloc)->Arg(16)->Arg(4096)->ThreadRange(1, kMostThreads);
BENCHMARK_TEMPLATE(allocate_and_free, CMalloc)->Arg(16)->Arg(4096)->ThreadRange(1, kMostThreads);
BENCHMARK_TEMPLATE(allocate_and_free, CFMMalloc)->Arg(16)->Arg(4096)->ThreadRange(1, kMostThreads);
BENCHMARK_TEMPLATE(allocate_and_free, Hybrid)->Arg(16)->Arg(4096)->ThreadRange(1, kMostThreads);
BENCHMARK_TEMPLATE(allocate_and_free, Buddy)->Arg(16)->Arg(4096)->ThreadRange(1, kMostThreads);

}  // namespace
}  // namespace heapwood::allocators
