/// @file
/// The level method on a GPU.
#include "tests/allocators/platform/machines.h"
#include "tests/kdtree/levels/level_tests.h"

namespace heapwood::kdtree::tests {
namespace {

struct LevelGpu {
    static constexpr bool kSlowly = false;
    static constexpr allocators::Place kPlace = allocators::Place::device;
    static constexpr std::uint64_t kTriangles = 20000;
    static bool available() { return heapwood::tests::DeviceMachine::available(); }
    static BuildResult build(const scenes::Scene& scene, const BuildConfig& config,
                             const RunConfig& run) {
        return build_by_levels_on_gpu(scene, config, run);
    }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, LevelTest, LevelGpu);

}  // namespace
}  // namespace heapwood::kdtree::tests
