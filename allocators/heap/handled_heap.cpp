#include "allocators/heap/handled_heap.h"

#include "allocators/memory/buffer.h"
#include "c_heap.h"

namespace heapwood::allocators {

/// A heap, and where its handle is.
struct HandledHeap::Parts {
    explicit Parts(const HeapConfig& config)
        : heap(config), handle(config.place, sizeof(heap::CHandle)) {
        update();
    }
    /// Writes what threads see, after a change.
    void update() {
        const heap::CHandle ref = heap.ref();
        handle.write(0, &ref, sizeof ref);
    }

    heap::CHeap heap;
    Buffer handle;
};

HandledHeap::HandledHeap(const HeapConfig& config) : parts_(std::make_unique<Parts>(config)) {}
HandledHeap::~HandledHeap() = default;

heapwood_heap* HandledHeap::handle() const {
    return parts_->handle.as<heapwood_heap>();
}

void HandledHeap::reset() {
    parts_->heap.reset();
}

void HandledHeap::grow(std::uint64_t bytes) {
    parts_->heap.allocator().grow(bytes);
    parts_->update();
}

void HandledHeap::grow_automatically(const GrowthLimits& limits) {
    parts_->heap.allocator().grow_automatically(limits);
    parts_->update();
}

std::uint64_t HandledHeap::pool_bytes() const {
    return parts_->heap.pool_bytes();
}

std::uint64_t HandledHeap::overhead_bytes() const {
    return parts_->heap.overhead_bytes();
}

PoolUse HandledHeap::use() const {
    return parts_->heap.use();
}

const char* HandledHeap::allocator() {
    return heap::CAllocator::traits().name;
}

}  // namespace heapwood::allocators
