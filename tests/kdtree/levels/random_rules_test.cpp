/// @file
/// One tree of a scene, whatever the method, for rules and scenes drawn at random.
#include <gtest/gtest.h>

#include "kdtree/levels/level_builder.h"
#include "tests/kdtree/choice_checker.h"
#include "tests/kdtree/distributed/in_parts.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/random_rules.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

TEST(RandomRules, AllMethodsBuildOneTree) {
    for_random_rules(
        130, 1500, [](Dice& dice, const scenes::Scene& scene, const BuildConfig& config) {
            const std::uint64_t wanted = digest(plain_tree(scene, config));
            const BuildResult levels =
                build_by_levels_on_cpu(scene, config, {.threads = 1 + dice.below(4)});
            EXPECT_EQ(levels.status, Status::done) << levels.message;
            EXPECT_EQ(digest(levels.tree), wanted) << "by levels";
            const std::uint32_t parts = 1 + dice.below(8);
            const std::uint32_t cell_limit = dice.below(2) == 0 ? 0 : dice.below(500);
            EXPECT_EQ(digest(build_in_parts(scene, config, parts, cell_limit).tree), wanted)
                << parts << " parts, cells of " << cell_limit;
        });
}

}  // namespace
}  // namespace heapwood::kdtree::tests
