/// @file
/// What stands in for the level method on a GPU in a program built without CUDA: it refuses.
#include <stdexcept>

#include "kdtree/levels/level_builder.h"

namespace heapwood::kdtree {
namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error("this program was built without CUDA");
}

}  // namespace

BuildResult build_by_levels_on_gpu(const scenes::Scene&, const BuildConfig&, const RunConfig&) {
    refuse();
}

BuildResult build_by_levels_on_gpu(const LevelInput&, const BuildConfig&, const RunConfig&) {
    refuse();
}

}  // namespace heapwood::kdtree
