/// @file
/// Built trees on a CPU.
#include <filesystem>

#include "kdtree/tree/tree_file.h"
#include "tests/kdtree/rays/built_trees.h"

namespace heapwood::kdtree::tests {
namespace {

TEST(BuiltTree, HasTheHitsOfTheHostsLayout) {
    test_scenes_and_frames<OnCpu>(Place::host);
}

TEST(BuiltTree, ThatFailedIsMetByNoRay) {
    test_failures<OnCpu>(Place::host);
}

TEST(BuiltTree, IsSavedWithItsScene) {
    const scenes::Scene scene = random_scene("soup", 50, 1);
    const auto tree = build<OnCpu>(scene);
    const std::string path = ::testing::TempDir() + "built_tree_test.kdt";
    tree.save(path, scene);
    EXPECT_EQ(digest(load_tree(path).tree), digest(tree.to_host()));
    std::filesystem::remove(path);
}

TEST(BuiltTree, IsMadeAnewForLargerScenes) {
    Dice dice;
    auto tree = build<OnCpu>(random_scene("soup", 10, dice()));
    const std::uint64_t before = tree.result().pool_bytes;
    const scenes::Scene large = random_scene("soup", 40000, dice());
    tree.rebuild(large);
    EXPECT_GT(tree.result().pool_bytes, before);
    EXPECT_GE(tree.result().pool_bytes, 30 * root_array_bytes(large.triangles.size()));
}

}  // namespace
}  // namespace heapwood::kdtree::tests
