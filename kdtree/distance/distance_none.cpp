/// @file
/// What stands in for distance_gpu.cu in a program built without CUDA. A tree cannot lie on a
/// device there (Buffer refuses), so nothing gets here.
#include <stdexcept>

#include "kdtree/distance/distance_work.cuh"

namespace heapwood::kdtree::detail {

void device_distances(std::uint64_t, const DistanceWork&, const BatchOptions&) {
    throw std::runtime_error(
        "no distances on a GPU: this program was built without CUDA; use the CPU, or build it "
        "where nvcc is found");
}

}  // namespace heapwood::kdtree::detail
