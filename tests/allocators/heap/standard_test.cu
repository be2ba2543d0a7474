/// @file
/// The allocator of C++ in a kernel: each thread has objects of three types in one heap.
#include <gtest/gtest.h>

#include <cstdint>

#include "allocators/cambium.cuh"
#include "allocators/heap/standard.cuh"
#include "tests/allocators/heap/gpu_checks.cuh"

namespace heapwood::tests {
namespace {

using allocators::Cambium;
using allocators::HeapAllocator;
using allocators::HeapRef;

struct alignas(256) Wide {
    unsigned number;
};

__global__ void make_objects(const __grid_constant__ HeapRef<Cambium> heap, unsigned* wrong) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const HeapAllocator<unsigned, Cambium> numbers(heap);
    const HeapAllocator<Wide, Cambium> wides(numbers);
    const unsigned count = 1 + thread % 50;
    unsigned* const some = numbers.allocate(count);
    Wide* const wide = wides.allocate(1);
    const bool none = numbers.allocate(~std::size_t{0} / 2) == nullptr;
    if (some == nullptr || wide == nullptr || !none ||
        reinterpret_cast<std::uintptr_t>(wide) % 256 != 0 || !(numbers == wides)) {
        atomicAdd(wrong, 1U);
        return;
    }
    for (unsigned i = 0; i < count; ++i) some[i] = thread + i;
    wide->number = thread;
    for (unsigned i = 0; i < count; ++i) {
        if (some[i] != thread + i || wide->number != thread) atomicAdd(wrong, 1U);
    }
    numbers.deallocate(some, count);
    wides.deallocate(wide, 1);
}

TEST(GpuHeapAllocator, GivesEachThreadItsObjects) {
    if (!DeviceMachine::available()) GTEST_SKIP() << "no GPU";
    const allocators::Heap<Cambium> owner(kGpuHeapBytes);
    ManagedArray<unsigned> wrong(1);
    make_objects<<<64, 192>>>(owner.ref(), wrong.data());
    expect_no_mistake(owner, wrong);
}

}  // namespace
}  // namespace heapwood::tests
