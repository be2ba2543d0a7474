/// @file
/// The C interface of the host: makes heaps and knows them by their handles.
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocators/heap/handled_heap.h"
#include "allocators/heapwood_heap.h"

namespace heapwood::allocators::heap {
namespace {

/// All heaps that live. The functions of the host may be called by several threads.
class Register {
public:
    heapwood_heap* add(std::unique_ptr<HandledHeap> heap) {
        const std::lock_guard lock(mutex_);
        heapwood_heap* const handle = heap->handle();
        heaps_[handle] = std::move(heap);
        return handle;
    }
    /// @throws std::invalid_argument if there is no such heap
    HandledHeap& at(heapwood_heap* handle) {
        const std::lock_guard lock(mutex_);
        return *find(handle)->second;
    }
    std::unique_ptr<HandledHeap> take(heapwood_heap* handle) {
        const std::lock_guard lock(mutex_);
        return std::move(heaps_.extract(find(handle)).mapped());
    }

private:
    using Heaps = std::map<heapwood_heap*, std::unique_ptr<HandledHeap>>;

    Heaps::iterator find(heapwood_heap* handle) {
        const auto found = heaps_.find(handle);
        if (found == heaps_.end()) {
            throw std::invalid_argument("this is no heap of heapwood_heap_create(), or has ended");
        }
        return found;
    }

    std::mutex mutex_;
    Heaps heaps_;
};

Register& known_heaps() {
    static Register heaps;
    return heaps;
}

std::string& last_error() {
    thread_local std::string error;
    return error;
}

/// Calls `function`, and remembers why it failed. @return 0, or 1 if it failed
template <class Function>
int guarded(const Function& function) noexcept {
    try {
        function();
        return 0;
    } catch (const std::exception& error) {
        last_error() = error.what();
    } catch (...) {
        last_error() = "unknown failure";
    }
    return 1;
}

}  // namespace
}  // namespace heapwood::allocators::heap

using namespace heapwood::allocators;
using heap::guarded;

extern "C" {

heapwood_heap* heapwood_heap_create(const heapwood_heap_options* options) {
    heapwood_heap* made = nullptr;
    guarded([&] {
        if (options == nullptr) throw std::invalid_argument("a heap needs options");
        const HeapConfig config{
            .bytes = options->bytes,
            .place = options->place == HEAPWOOD_ON_HOST ? Place::host : Place::device,
            .memory = options->memory,
            .callers = options->callers};
        made = heap::known_heaps().add(std::make_unique<HandledHeap>(config));
    });
    return made;
}

int heapwood_heap_destroy(heapwood_heap* handle) {
    if (handle == nullptr) return 0;
    return guarded([&] { heap::known_heaps().take(handle); });
}

int heapwood_heap_reset(heapwood_heap* handle) {
    return guarded([&] { heap::known_heaps().at(handle).reset(); });
}

int heapwood_heap_grow(heapwood_heap* handle, uint64_t bytes) {
    return guarded([&] { heap::known_heaps().at(handle).grow(bytes); });
}

int heapwood_heap_grow_automatically(heapwood_heap* handle, uint64_t step, uint64_t most,
                                     uint32_t patience_ms) {
    return guarded([&] {
        const std::chrono::milliseconds patience(patience_ms);
        heap::known_heaps().at(handle).grow_automatically(
            {.step = step, .most = most, .patience = patience});
    });
}

int heapwood_heap_get_use(heapwood_heap* handle, heapwood_heap_use* use) {
    return guarded([&] {
        const HandledHeap& heap = heap::known_heaps().at(handle);
        const PoolUse found = heap.use();
        *use = {heap.pool_bytes(), heap.overhead_bytes(), found.allocated_bytes, found.free_bytes,
                found.largest_free};
    });
}

const char* heapwood_heap_error(void) {
    return heap::last_error().c_str();
}

const char* heapwood_heap_allocator(void) {
    return HandledHeap::allocator();
}

}  // extern "C"
