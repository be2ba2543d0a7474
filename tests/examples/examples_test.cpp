/// @file
/// The examples on a CPU: both ways give the lists that maps of the host have.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

#include "allocators/cambium.cuh"
#include "allocators/heap.cuh"
#include "tests/examples/runs.cuh"
#include "tests/seed.h"

namespace heapwood::examples {
namespace {

using allocators::Cambium;
using allocators::Heap;
using allocators::Place;

Heap<Cambium> heap_of(std::uint64_t bytes) {
    return Heap<Cambium>({.bytes = bytes, .place = Place::host});
}

TEST(Examples, JoinsAreRight) {
    const Heap<Cambium> heap = heap_of(64 << 20);
    const JoinRuns<Cpu> runs(20000, tests::test_seed());
    EXPECT_GT(runs.in_heap(heap.ref()).bytes, 20000U);
    EXPECT_GT(runs.in_heap(SystemHeap{}).bytes, 20000U);
    EXPECT_GT(runs.in_two_passes().bytes, 20000U);
    EXPECT_EQ(heap.use().allocated_bytes, 0U);
    const Heap<Cambium> small = heap_of(1 << 14);
    EXPECT_THROW(runs.in_heap(small.ref()), std::runtime_error);
}

TEST(Examples, GraphsAreRight) {
    const Heap<Cambium> heap = heap_of(64 << 20);
    const GraphRuns<Cpu> runs(2000, 5, 20000, tests::test_seed());
    EXPECT_GT(runs.in_heap(heap.ref()).bytes, 100000U);
    EXPECT_GT(runs.in_heap(SystemHeap{}).bytes, 100000U);
    EXPECT_GT(runs.packed().bytes, 100000U);
    EXPECT_EQ(heap.use().allocated_bytes, 0U);
    const Heap<Cambium> small = heap_of(1 << 14);
    EXPECT_THROW(runs.in_heap(small.ref()), std::runtime_error);
}

}  // namespace
}  // namespace heapwood::examples
