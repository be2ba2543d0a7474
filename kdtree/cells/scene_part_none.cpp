/// @file
/// What stands in for a part on a GPU in a program built without CUDA: it refuses.
#include <stdexcept>

#include "kdtree/cells/scene_part.h"

namespace heapwood::kdtree {

std::unique_ptr<ScenePart> scene_part_on_gpu(const scenes::Scene&, float, const BuildConfig&,
                                             std::uint32_t, unsigned) {
    throw std::runtime_error("this program was built without CUDA");
}

}  // namespace heapwood::kdtree
