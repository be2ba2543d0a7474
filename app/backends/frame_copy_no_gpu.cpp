/// @file
/// What stands in for frame_copy_gpu.cu in a program built without CUDA. No array lies on a device
/// there (Buffer refuses), so nothing gets here.
#include <stdexcept>

#include "app/backends/frame_copy.cuh"

namespace heapwood::app::detail {

void copy_frame_on_gpu(const RowArray<float>&, glm::vec3*, const CornerArray&, glm::uvec3*, void*) {
    throw std::runtime_error("no triangles on a GPU: this program was built without CUDA");
}

}  // namespace heapwood::app::detail
