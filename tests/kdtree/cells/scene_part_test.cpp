/// @file
/// Cells in the memory of a CPU's threads.
#include "tests/kdtree/cells/scene_part_tests.h"

namespace heapwood::kdtree::tests {
namespace {

struct PartOnCpu {
    static constexpr unsigned kDraws = 120;
    static constexpr unsigned kTriangles = 1200;
    static bool available() { return true; }
    static std::unique_ptr<ScenePart> part(const scenes::Scene& scene, float scale,
                                           const BuildConfig& config) {
        return scene_part_on_cpu(scene, scale, config, 2);
    }
};

using Machines = ::testing::Types<PartOnCpu>;
INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, ScenePartTest, Machines);

}  // namespace
}  // namespace heapwood::kdtree::tests
