/// @file
/// Pictures on a GPU, in a program without CUDA.
#include <stdexcept>

#include "app/render/render.h"

namespace heapwood::app::detail {

Rendering render_on_gpu(const RenderJob&) {
    throw std::runtime_error("this program was built without CUDA");
}

}  // namespace heapwood::app::detail
