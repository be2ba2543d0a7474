/// @file
/// The examples on a GPU:
///     heapwood_examples [ROWS]
/// joins tables of ROWS rows, and adds ten batches of ROWS edges to a graph, 1,000,000 if not
/// given; checks all lists, and prints milliseconds (medians of 11) and bytes: in a heap of
/// cambium, in a heap of flatterscatter, in CUDA's, and without a heap.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "allocators/cambium.cuh"
#include "allocators/cudamalloc.cuh"
#include "allocators/flatterscatter.cuh"
#include "allocators/heap.cuh"
#include "allocators/platform/device.h"
#include "tests/examples/runs.cuh"

namespace heapwood::examples {
namespace {

using namespace allocators;

template <class Run>
void print(const char* example, const char* way, const Run& run) {
    constexpr unsigned kTimes = 11;
    std::vector<Taken> all;
    for (unsigned i = 0; i < kTimes; ++i) all.push_back(run());
    const auto median = [&all](double Taken::*ms) {
        std::nth_element(all.begin(), all.begin() + kTimes / 2, all.end(),
                         [ms](const Taken& a, const Taken& b) { return a.*ms < b.*ms; });
        return all[kTimes / 2].*ms;
    };
    const double ms = median(&Taken::ms);
    std::printf("%-6s %-16s %9.3f %9.3f %12llu\n", example, way, ms, median(&Taken::clear_ms),
                static_cast<unsigned long long>(all.front().bytes));
    std::fflush(stdout);
}

template <class Runs, class Packed>
void print_all(const char* example, const Runs& runs, std::uint64_t bytes, const Packed& packed) {
    {
        const Heap<Cambium> heap(bytes);
        print(example, "cambium", [&] { return runs.in_heap(heap.ref()); });
    }
    {
        const Heap<FlatterScatter> heap(bytes);
        print(example, "flatterscatter", [&] { return runs.in_heap(heap.ref()); });
    }
    print(example, "CUDA's malloc", [&] { return runs.in_heap(SystemHeap{}); });
    print(example, "without a heap", packed);
}

void run(std::uint32_t rows) {
    const std::uint64_t bytes = std::uint64_t{rows} * 2048 + (std::uint64_t{256} << 20);
    const CudaMalloc cuda({.place = Place::device, .bytes = bytes});
    std::printf("%u rows\n%-6s %-16s %9s %9s %12s\n", rows, "", "", "ms", "clear ms", "bytes");
    const JoinRuns<Gpu> join(rows, 1);
    print_all("join", join, bytes, [&] { return join.in_two_passes(); });
    const GraphRuns<Gpu> graph(rows / 10 + 1, 10, rows, 1);
    print_all("graph", graph, bytes, [&] { return graph.packed(); });
}

}  // namespace
}  // namespace heapwood::examples

int main(int argc, char** argv) {
    const unsigned long rows = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1'000'000;
    if (rows == 0 || rows > 100'000'000) {
        std::fprintf(stderr, "heapwood_examples [ROWS]: 1 to 100000000 rows\n");
        return 2;
    }
    if (!heapwood::platform::device_available()) {
        std::printf("skipped: %s\n", heapwood::platform::device_absence().c_str());
        return 77;
    }
    try {
        heapwood::examples::run(static_cast<std::uint32_t>(rows));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "heapwood_examples: %s\n", error.what());
        return 1;
    }
    return 0;
}
