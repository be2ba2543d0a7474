/// @file
/// Trees whose cells are cut, built and joined in a machine's memory are those of ordinary builds,
/// bit for bit, on any machine.
///
/// A machine has `available()`, `kDraws` of random rules, `kTriangles` at most in each, and
/// `part(scene, scale, config)`.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kdtree/cells/scene_workers.h"
#include "kdtree/distributed/forest.h"
#include "kdtree/tree/tree_sink.h"
#include "kdtree/tree/tree_writer.h"
#include "scenes/generators.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/random_rules.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/kdtree/tree/tree_file_bytes.h"

namespace heapwood::kdtree::tests {

/// A configuration whose nodes may be cells however few references they have.
inline BuildConfig with_tiny_cells(BuildConfig config = {}) {
    config.exact_limit = std::min(config.exact_limit, 8U);
    config.snap_limit = std::min(config.snap_limit, 8U);
    return config;
}

template <class Machine>
SceneWorkers workers_of(const scenes::Scene& scene, const BuildConfig& config,
                        std::uint32_t machines) {
    std::vector<std::unique_ptr<ScenePart>> parts;
    for (std::uint32_t i = 0; i < machines; ++i) {
        parts.push_back(Machine::part(scene, forest_scene(scene).normalisation, config));
    }
    return SceneWorkers(std::move(parts));
}

template <class Machine>
class ScenePartTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Machine::available()) GTEST_SKIP() << "no GPU";
    }
    static ForestResult build(const scenes::Scene& scene, const BuildConfig& config,
                              std::uint32_t machines, std::uint32_t cell_limit, TreeSink& sink) {
        SceneWorkers workers = workers_of<Machine>(scene, config, machines);
        return build_forest(forest_scene(scene), config, cell_limit, workers, sink);
    }
    static ForestResult expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config,
                                          std::uint32_t machines, std::uint32_t cell_limit) {
        Tree tree;
        TreeInMemory sink(tree);
        ForestResult result = build(scene, config, machines, cell_limit, sink);
        EXPECT_EQ(result.status, Status::done) << result.message;
        EXPECT_EQ(result.nodes, tree.nodes.size());
        EXPECT_EQ(result.references, tree.references.size());
        EXPECT_EQ(digest(tree), digest(plain_tree(scene, config)))
            << machines << " machines, cells of " << cell_limit;
        return result;
    }
};
TYPED_TEST_SUITE_P(ScenePartTest);

TYPED_TEST_P(ScenePartTest, RandomRulesAndScenes) {
    for_random_rules(
        TypeParam::kDraws, TypeParam::kTriangles,
        [](Dice& dice, const scenes::Scene& scene, const BuildConfig& drawn) {
            const BuildConfig config = dice.below(2) == 0 ? drawn : with_tiny_cells(drawn);
            const std::uint32_t cell_limit = dice.below(3) == 0 ? 0 : dice.below(500);
            TestFixture::expect_plain_tree(scene, config, 1 + dice.below(3), cell_limit);
        });
}

TYPED_TEST_P(ScenePartTest, TheBudgetOfReferencesIsThatOfTheWholeTree) {
    const auto scene = fan(150);
    for (const std::uint32_t most : {1U, 2U, 5U, 32U}) {
        BuildConfig config = with_tiny_cells();
        config.max_duplication = most;
        const ForestResult result = TestFixture::expect_plain_tree(scene, config, 2, 0);
        EXPECT_TRUE(result.depth_limit.has_value());
        EXPECT_GT(result.builds, 1U);
    }
}

/// Triangles that lie in one place make leaves above the limit up to which kernels sort references.
TYPED_TEST_P(ScenePartTest, LongLeaves) {
    scenes::Scene scene = scenes::generate({"sphere", 600, 1});
    const auto n = static_cast<std::uint32_t>(scene.positions.size());
    scene.positions.insert(scene.positions.end(), {{2, 2, 2}, {2, 3, 2}, {3, 2, 2}});
    for (unsigned i = 0; i < 700; ++i) {
        // Among the others, so that numbers of a leaf are not those of one range.
        scene.triangles.insert(scene.triangles.begin() + i % 500, {n, n + 1, n + 2});
    }
    scenes::finish(scene);
    for (const std::uint32_t cell_limit : {0U, 100U, 5000U}) {
        TestFixture::expect_plain_tree(scene, with_tiny_cells(), 1, cell_limit);
    }
}

TYPED_TEST_P(ScenePartTest, FewTriangles) {
    for (const unsigned n : {1U, 2U, 5U}) {
        TestFixture::expect_plain_tree(random_scene("soup", n, 1), {}, 3, 0);
        TestFixture::expect_plain_tree(random_scene("soup", n, 1), with_tiny_cells(), 2, 0);
    }
}

/// A sink whose disk is full after some pieces, which several threads bring.
class FullSink final : public TreeSink {
public:
    void add_nodes(std::span<const Node>) override {}
    void set_node(std::uint32_t, const Node&) override {}
    void add_references(std::span<const std::uint32_t>) override {}
    void extend(std::uint64_t, std::uint64_t) override { ++cells_; }
    void put_nodes(std::uint64_t, std::span<const Node>) override {}
    void put_references(std::uint64_t, std::span<const std::uint32_t>) override {
        if (cells_ > 3) throw std::runtime_error("full");
    }
    void clear() override {}

private:
    unsigned cells_ = 0;
};

TYPED_TEST_P(ScenePartTest, ABuildThatFailsInTheMiddleCanBeBegunAnew) {
    const auto scene = scenes::generate({"sphere", 3000, 1});
    const BuildConfig config = with_tiny_cells();
    SceneWorkers workers = workers_of<TypeParam>(scene, config, 2);
    FullSink full;
    EXPECT_THROW(build_forest(forest_scene(scene), config, 200, workers, full), std::runtime_error);
    Tree tree;
    TreeInMemory sink(tree);
    const ForestResult result = build_forest(forest_scene(scene), config, 200, workers, sink);
    EXPECT_EQ(result.status, Status::done) << result.message;
    EXPECT_EQ(digest(tree), digest(plain_tree(scene, config)));
    EXPECT_GT(workers.times().waiting + workers.times().copying, 0);
}

TYPED_TEST_P(ScenePartTest, AFileIsThatOfTheWholeTree) {
    std::string name = (std::filesystem::temp_directory_path() / "heapwood.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const std::string path = name + "/x.kdt";
    const auto scene = scenes::generate({"sphere", 3000, 1});
    const BuildConfig config = with_tiny_cells();
    {
        TreeWriter writer(path);
        TestFixture::build(scene, config, 2, 300, writer);
        EXPECT_EQ(writer.finish(scene, config), digest(plain_tree(scene, config)));
    }
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(bytes == tree_bytes(plain_tree(scene, config), scene, config));
    std::filesystem::remove_all(name);
}

TYPED_TEST_P(ScenePartTest, DecisionsOnOtherNodesAreRefused) {
    const auto scene = scenes::generate({"sphere", 500, 1});
    const BuildConfig config = with_tiny_cells();
    const auto part = TypeParam::part(scene, forest_scene(scene).normalisation, config);
    const TreeRules rules = tree_rules(config, forest_scene(scene).bounds, 500);
    TopLevels top(rules, root_node(forest_scene(scene).bounds, 500), 0);
    const std::vector<Bins> bins = part->start(top.start());
    ASSERT_EQ(bins.size(), 1U);
    const std::vector<Decision> two(2);
    EXPECT_THROW(part->divide(two), std::invalid_argument);
    const std::vector<Decision> decisions = top.decide(bins);
    part->divide(decisions);
    EXPECT_THROW(part->divide({}), std::invalid_argument) << "there are open nodes";
}

REGISTER_TYPED_TEST_SUITE_P(ScenePartTest, RandomRulesAndScenes,
                            TheBudgetOfReferencesIsThatOfTheWholeTree, LongLeaves, FewTriangles,
                            ABuildThatFailsInTheMiddleCanBeBegunAnew, AFileIsThatOfTheWholeTree,
                            DecisionsOnOtherNodesAreRefused);

}  // namespace heapwood::kdtree::tests
