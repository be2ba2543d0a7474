/// @file
/// Heaps for kernels, as Python makes and measures them.
#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>

#include "allocators/heap/handled_heap.h"
#include "allocators/platform/device.h"
#include "app/base/exit_code.h"
#include "app/python/objects.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

using allocators::HandledHeap;
using allocators::HeapConfig;
using allocators::Place;

/// @param memory its address, or 0
void make(HandledHeap* self, std::uint64_t bytes, bool on_gpu, std::uint32_t callers,
          std::uint64_t memory) {
    if (on_gpu && !platform::device_available()) throw app::NoDevice(platform::device_absence());
    new (self) HandledHeap(
        HeapConfig{.bytes = bytes,
                   .place = on_gpu ? Place::device : Place::host,
                   .memory = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory)),
                   .callers = callers});
}

/// @param patience seconds
void grow_automatically(HandledHeap& heap, std::uint64_t most, std::uint64_t step,
                        double patience) {
    const std::chrono::duration<double> seconds(patience);
    heap.grow_automatically(
        {.step = step,
         .most = most,
         .patience = std::chrono::duration_cast<std::chrono::nanoseconds>(seconds)});
}

nb::dict use(const HandledHeap& heap) {
    const allocators::PoolUse found = heap.use();
    nb::dict use;
    use["pool_bytes"] = heap.pool_bytes();
    use["overhead_bytes"] = heap.overhead_bytes();
    use["allocated_bytes"] = found.allocated_bytes;
    use["free_bytes"] = found.free_bytes;
    use["largest_free_bytes"] = found.largest_free;
    return use;
}

}  // namespace

void add_heaps(nb::module_& m) {
    nb::class_<HandledHeap>(m, "Heap")
        .def("__init__", &make, nb::arg("bytes"), nb::arg("on_gpu"), nb::arg("callers"),
             nb::arg("memory"))
        .def_prop_ro(
            "handle",
            [](const HandledHeap& heap) {
                return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(heap.handle()));
            })
        .def("reset", &HandledHeap::reset)
        .def("grow", &HandledHeap::grow, nb::arg("bytes"))
        .def("grow_automatically", &grow_automatically, nb::arg("most"), nb::arg("step"),
             nb::arg("patience"))
        .def("use", &use);
    m.attr("heap_allocator") = HandledHeap::allocator();
}

}  // namespace heapwood::python
