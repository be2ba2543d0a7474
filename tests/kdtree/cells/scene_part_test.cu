/// @file
/// Cells in a GPU's memory.
#include "tests/allocators/platform/machines.h"
#include "tests/kdtree/cells/scene_part_tests.h"

namespace heapwood::kdtree::tests {
namespace {

struct PartOnGpu {
    static constexpr unsigned kDraws = 100;
    static constexpr unsigned kTriangles = 1200;
    static bool available() { return heapwood::tests::DeviceMachine::available(); }
    static std::unique_ptr<ScenePart> part(const scenes::Scene& scene, float scale,
                                           const BuildConfig& config) {
        return scene_part_on_gpu(scene, scale, config, 0, 4);
    }
};

using Machines = ::testing::Types<PartOnGpu>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gpu, ScenePartTest, Machines);

}  // namespace
}  // namespace heapwood::kdtree::tests
