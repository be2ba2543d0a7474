/// @file
/// What stands in for the CUDA half of ray_batch.h in a program built without CUDA. A tree cannot
/// lie on a device there (Buffer refuses), so nothing gets here.
#include <stdexcept>

#include "kdtree/rays/ray_batch_device.h"

namespace heapwood::kdtree::detail {
namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error(
        "no rays on a GPU: this program was built without CUDA; use the CPU, or build it where "
        "nvcc is found");
}

}  // namespace

void device_closest_hits(const RayTree&, const RaysIn&, const HitsOut&, const BatchOptions&) {
    refuse();
}
void device_any_hits(const RayTree&, const RaysIn&, const FoundOut&, const BatchOptions&) {
    refuse();
}
void device_count_hits(const RayTreeView&, const RaysIn&, std::uint32_t*, const BatchOptions&) {
    refuse();
}
void device_list_hits(const RayTreeView&, const RaysIn&, const std::uint64_t*, const HitsOut&,
                      const BatchOptions&) {
    refuse();
}
std::uint64_t device_offsets(const std::uint32_t*, std::uint64_t, std::uint64_t*,
                             const BatchOptions&) {
    refuse();
}
std::shared_ptr<const void> device_moment(const BatchOptions&) {
    refuse();
}
double device_ms(const void*, const void*) {
    refuse();
}
void device_wait(const BatchOptions&) {
    refuse();
}

std::unique_ptr<LateCounts> make_late_counts() {
    refuse();
}
void lay_out_on_gpu(const TreeInPlace&, const RayMemory&, void*) {
    refuse();
}
void copy_on_gpu(void*, const void*, std::uint64_t, void*) {
    refuse();
}

}  // namespace heapwood::kdtree::detail
