/// @file
/// What stands in for canonical_gpu.cu in a program built without CUDA, where no tree lies on a
/// GPU.
#include "kdtree/tree/canonical_gpu.h"

namespace heapwood::kdtree::detail {

std::optional<Tree> canonical_on_gpu(const UnorderedTree&) {
    return {};
}

}  // namespace heapwood::kdtree::detail
