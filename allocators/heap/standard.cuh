/// @file
/// HeapAllocator: memory of a heap for containers, of the standard library and others.
#pragma once

#include <cstddef>
#include <new>

#include "allocators/heap/ref.cuh"
#include "allocators/platform/macros.cuh"

namespace heapwood::allocators {

/// An allocator of C++ for objects of type T. It has the address of a HeapRef and nothing else: the
/// handle stays where it is for as long as a container has memory of it. In a kernel that is a
/// parameter of the kernel:
///
///     __global__ void words(const __grid_constant__ HeapRef<Cambium> heap) {
///         HeapAllocator<int, Cambium> allocator(heap);
///
/// Two allocators are equal if they have the same handle: then each gives back what the other has
/// taken. Any alignment that HeapRef::aligned_alloc takes will do. All functions may be called by
/// any thread.
template <class T, Allocator A>
class HeapAllocator {
public:
    using value_type = T;

    HEAPWOOD_FN explicit HeapAllocator(const HeapRef<A>& heap) : heap_(&heap) {}
    /// The same heap for objects of another type.
    template <class U>
    HEAPWOOD_FN HeapAllocator(const HeapAllocator<U, A>& other) : heap_(&other.heap()) {}

    /// Memory for `count` objects, which are not made. Where the heap has none, a CPU's thread
    /// throws std::bad_alloc, and a GPU's, which cannot throw, gets nullptr.
    [[nodiscard]] HEAPWOOD_FN T* allocate(std::size_t count) const {
        static_assert(alignof(T) <= heap::kLargestAlignment);
        void* memory = nullptr;
        if (count <= ~std::size_t{0} / sizeof(T)) {
            memory = heap_->aligned_alloc(alignof(T), count * sizeof(T));
        }
#if !defined(__CUDA_ARCH__)
        if (memory == nullptr) throw std::bad_alloc();
#endif
        return static_cast<T*>(memory);
    }
    /// Gives back what allocate() returned for as many objects.
    HEAPWOOD_FN void deallocate(T* objects, std::size_t) const {
        heap_->free(objects);
    }

    HEAPWOOD_FN const HeapRef<A>& heap() const {
        return *heap_;
    }

private:
    const HeapRef<A>* heap_;
};

template <class T, class U, Allocator A>
HEAPWOOD_FN bool operator==(const HeapAllocator<T, A>& a, const HeapAllocator<U, A>& b) {
    return &a.heap() == &b.heap();
}

}  // namespace heapwood::allocators
