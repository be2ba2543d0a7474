/// @file
/// What stands in for ray_calls_gpu.cu in a module built without CUDA. No tree lies on a device
/// there, so nothing but current_device is ever called.
#include <stdexcept>

#include "app/python/ray_calls_device.h"

namespace heapwood::python {
namespace detail {
namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error("no rays on a GPU: this module was built without CUDA");
}

}  // namespace

void device_closest_hits(const kdtree::RayTree&, const RayArrays&, const HitArrays&,
                         const kdtree::BatchOptions&) {
    refuse();
}
void device_any_hits(const kdtree::RayTree&, const RayArrays&, bool*, const kdtree::BatchOptions&) {
    refuse();
}
void device_count_hits(const kdtree::RayTree&, const RayArrays&, std::int32_t*,
                       const kdtree::BatchOptions&) {
    refuse();
}
void device_gather(const RayArrays&, kdtree::Ray*, const kdtree::BatchOptions&) {
    refuse();
}
void device_split(const kdtree::Hit*, std::uint64_t, const HitArrays&,
                  const kdtree::BatchOptions&) {
    refuse();
}

}  // namespace detail

int current_device() {
    return 0;
}

void wait_for_device() {
    detail::refuse();
}

}  // namespace heapwood::python
