/// @file
/// Trees built in parts are those of ordinary builds, bit for bit, for any number of parts.
#include "kdtree/distributed/forest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "kdtree/distributed/cell_place.h"
#include "kdtree/distributed/local_workers.h"
#include "kdtree/distributed/memory_plan.h"
#include "kdtree/tree/tree_writer.h"
#include "scenes/generators.h"
#include "scenes/pieces.h"
#include "tests/kdtree/distributed/in_parts.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/slow.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/kdtree/tree/tree_file_bytes.h"
#include "tests/seed.h"

namespace heapwood::kdtree::tests {
namespace {

/// A configuration whose nodes may be cells however few references they have.
BuildConfig with_small_cells(BuildConfig config = {}) {
    config.exact_limit = std::min(config.exact_limit, 8U);
    config.snap_limit = std::min(config.snap_limit, 8U);
    return config;
}

/// With 1, 2, 3 and 8 parts, and cells of two sizes, the tree is the plain one.
void expect_plain_tree(const scenes::Scene& scene, const BuildConfig& config) {
    SCOPED_TRACE(scene.path + ", " + std::to_string(scene.triangles.size()) + " triangles");
    const std::uint64_t wanted = digest(plain_tree(scene, config));
    for (const std::uint32_t parts : {1U, 2U, 3U, 8U}) {
        for (const std::uint32_t limit : {0U, 200U}) {
            EXPECT_EQ(digest(build_in_parts(scene, config, parts, limit).tree), wanted)
                << parts << " parts, cells of " << limit;
        }
    }
}

TEST(Forest, TheModelsTrees) {
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        const auto scene = scenes::load(entry.path().string());
        expect_plain_tree(scene, with_small_cells());
    }
}

TEST(Forest, TheGeneratorsTrees) {
    for (const auto& generator : scenes::generators()) {
        const std::uint64_t n = kSlow ? 400 : 3000;
        expect_plain_tree(scenes::generate({std::string(generator.name), n, 1}),
                          with_small_cells());
    }
}

TEST(Forest, TheTreesOfAllPresets) {
    const auto scene = scenes::generate({"sphere", kSlow ? 500U : 4000U, 1});
    for (const auto& [name, config] : presets()) {
        SCOPED_TRACE(name);
        expect_plain_tree(scene, config);
        expect_plain_tree(scene, with_small_cells(config));
    }
    BuildConfig config = with_small_cells();
    config.tight_cuts = false;
    config.empty_rule = EmptyRule::tests;
    config.bad_split_ratio = 0.8F;
    config.bad_splits = 3;
    config.planes = 20;
    expect_plain_tree(scene, config);
}

TEST(Forest, RandomScenes) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    for (const std::string& kind : scene_kinds()) {
        for (int i = 0; i < 3; ++i) {
            const auto n = static_cast<unsigned>(1 + random() % (kSlow ? 100 : 600));
            expect_plain_tree(random_scene(kind, n, random()), with_small_cells());
        }
    }
}

TEST(Forest, MorePartsThanTriangles) {
    expect_plain_tree(random_scene("soup", 1, 1), {});
    expect_plain_tree(random_scene("soup", 5, 1), with_small_cells());
}

TEST(Forest, TheBudgetOfReferencesIsThatOfTheWholeTree) {
    const auto scene = fan(150);
    for (const std::uint32_t most : {1U, 2U, 5U, 32U}) {
        SCOPED_TRACE(most);
        BuildConfig config = with_small_cells();
        config.max_duplication = most;
        expect_plain_tree(scene, config);
        const BuiltInParts built = build_in_parts(scene, config, 3, 0);
        EXPECT_TRUE(built.result.depth_limit.has_value());
        EXPECT_GT(built.result.builds, 1U);
        EXPECT_LE(built.tree.references.size(), most * scene.triangles.size());
    }
}

TEST(Forest, CellsAreNoLargerThanTheirLimit) {
    const auto scene = scenes::generate({"sphere", 5000, 1});
    const BuiltInParts built = build_in_parts(scene, with_small_cells(), 3, 300);
    EXPECT_LE(built.result.largest_cell, 300U);
    EXPECT_GT(built.result.cells, 5000U / 300);
    EXPECT_GE(built.result.cell_references, 5000U);
    ASSERT_FALSE(built.result.levels.empty());
    EXPECT_EQ(built.result.levels[0].open, 1U);
}

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Forest, AFileInTheMakingIsThatOfTheWholeTree) {
    std::string name = (std::filesystem::temp_directory_path() / "heapwood.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    const std::filesystem::path folder = name;
    const std::string path = (folder / "x.kdt").string();
    const auto scene = scenes::generate({"sphere", 3000, 1});
    const BuildConfig config = with_small_cells();
    const ForestScene whole = forest_scene(scene);
    const auto build = [&](TreeSink& sink) {
        LocalWorkers workers(scene, whole.normalisation, 3, config, {.threads = 1});
        build_forest(whole, config, 0, workers, sink);
    };
    const Tree tree = plain_tree(scene, config);
    {
        TreeWriter writer(path);
        build(writer);
        writer.clear();
        build(writer);
        EXPECT_EQ(writer.finish(scene, config), digest(tree));
    }
    const std::string bytes = bytes_of(path);
    EXPECT_TRUE(bytes == tree_bytes(tree, scene, config)) << "the files differ";
    {
        // The scene may be written before the tree, in pieces, which are those of the whole.
        TreeWriter writer(path);
        const scenes::SceneFacts facts = scenes::facts_of(scene);
        const auto pieces = [](const scenes::UsePiece& use) {
            scenes::read_in_pieces("gen:sphere:3000:1", use);
        };
        writer.write_scene(pieces, facts);
        build(writer);
        const TreeWriter::Finished finished = writer.finish(config);
        EXPECT_EQ(finished.tree_digest, digest(tree));
        EXPECT_EQ(finished.scene_digest, scenes::digest(scene));
        EXPECT_EQ(finished.positions, scene.positions.size());
        EXPECT_TRUE(bytes_of(path) == tree_bytes(tree, scene, config)) << "the files differ";
        for (const char* other : {"gen:sphere:2999:1", "gen:sphere:3000:2", "gen:sphere:9000:1"}) {
            TreeWriter changed(path);
            EXPECT_THROW(
                changed.write_scene(
                    [&](const scenes::UsePiece& use) { scenes::read_in_pieces(other, use); },
                    facts),
                TreeFileError)
                << other;
        }
    }
    {
        TreeWriter given_up(path);
        build(given_up);
    }
    const auto size = std::filesystem::file_size(path);
    EXPECT_EQ(size, bytes.size()) << "the former file stays";
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
    EXPECT_THROW(TreeWriter((folder / "nowhere" / "x.kdt").string()), TreeFileError);
    EXPECT_THROW(TreeWriter(folder.string()), TreeFileError);
    std::filesystem::remove_all(folder);
}

TEST(MemoryPlan, CellsFitIntoTheLimit) {
    std::mt19937_64 random(heapwood::tests::test_seed());
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t n = 1 + random() % 100'000'000;
        const std::uint64_t limit = std::uint64_t{1} << (24 + random() % 14);
        const auto gpus = static_cast<std::uint32_t>(random() % 3);
        const std::uint64_t gpu_bytes = std::uint64_t{1} << (30 + random() % 8);
        try {
            const MemoryPlan plan = plan_memory(limit, gpus, gpu_bytes, n, n / 2, 2);
            EXPECT_EQ(plan.place == PartPlace::host, gpus == 0);
            EXPECT_LE(plan.bytes(n, static_cast<std::uint32_t>(
                                        std::min<std::uint64_t>(plan.cell_limit, n))),
                      limit);
            EXPECT_GT(plan.parts, 0U);
            ForestResult top;
            top.cell_references = n;
            EXPECT_NO_THROW(plan.check(top));
            top.largest_cell = UINT32_MAX;
            EXPECT_THROW(plan.check(top), allocators::BufferError);
        } catch (const allocators::BufferError&) {
            const MemoryPlan enough =
                plan_memory(std::uint64_t{1} << 40, gpus, gpu_bytes, n, n / 2, 2);
            EXPECT_GT(enough.bytes(n + n / 8, static_cast<std::uint32_t>(
                                                  std::min<std::uint64_t>(n + n / 8, 1U << 16))),
                      limit);
        }
    }
}

TEST(MemoryPlan, AGpuHasTheWholeSceneWhereItFits) {
    constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
    const auto place = [](std::uint64_t limit, std::uint64_t gpu_bytes) {
        return plan_memory(limit, 1, gpu_bytes, 20'000'000, 10'000'000, 2).place;
    };
    EXPECT_EQ(place(0, 80 * kGiB), PartPlace::gpu);
    EXPECT_EQ(place(0, 2 * kGiB), PartPlace::cells) << "a small GPU";
    EXPECT_EQ(place(8 * kGiB, 80 * kGiB), PartPlace::gpu);
    EXPECT_EQ(place(2 * kGiB, 80 * kGiB), PartPlace::cells) << "a small limit";
    // Two GPUs have more cells to take turns with.
    const auto cell = [](std::uint32_t gpus) {
        return plan_memory(0, gpus, 80 * kGiB, 40'000'000, 20'000'000, 2).cell_limit;
    };
    EXPECT_LT(cell(2), cell(1));
}

/// The workers of a build, one of whose parts goes wrong.
class FaultyWorkers final : public Workers {
public:
    /// Changes the references of a cell that part 1 of 3 gives.
    using Fault = void (*)(CellReferences&);

    FaultyWorkers(const scenes::Scene& scene, const ForestScene& whole, const BuildConfig& config,
                  Fault fault)
        : normalisation_(whole.normalisation), config_(config), fault_(fault) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            parts_.emplace_back(
                TriangleRange{.scene = &scene,
                              .begin = scenes::range_begin(whole.triangles, i, 3),
                              .end = scenes::range_begin(whole.triangles, i + 1, 3)},
                normalisation_, config.clip);
        }
    }
    std::uint32_t parts() const override { return 3; }
    std::vector<Bins> start(const TopStart& start) override {
        return sum([&](Part& part) { return part.start(start); });
    }
    std::vector<Bins> divide(std::span<const Decision> decisions) override {
        return sum([&](Part& part) { return part.divide(decisions); });
    }
    void order(const TreeRules& rules, std::vector<CellOrder> cells) override {
        rules_ = rules;
        cells_ = std::move(cells);
    }
    CellResult next(const CellPlace& place, TreeSink& sink) override {
        const CellOrder cell = cells_.front();
        cells_.erase(cells_.begin());
        CellReferences all;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            CellReferences some = parts_[i].take(cell.number);
            if (i == 1) fault_(some);
            all.append(some.references, some.triangles, some.numbers);
        }
        return put_cell(
            build_cell(all, cell, rules_, normalisation_, config_, {.threads = 1}, pool_), place,
            sink);
    }

private:
    template <class Work>
    std::vector<Bins> sum(const Work& work) {
        std::vector<Bins> bins;
        for (Part& part : parts_) add_bins(bins, work(part));
        return bins;
    }

    float normalisation_;
    BuildConfig config_;
    Fault fault_;
    allocators::ArrayPool pool_{allocators::Place::host};
    std::vector<Part> parts_;
    TreeRules rules_{};
    std::vector<CellOrder> cells_;
};

TEST(Forest, APartThatIsMissingOrComesTwiceIsNoticed) {
    const auto scene = scenes::generate({"sphere", 2000, 1});
    const BuildConfig config = with_small_cells();
    const ForestScene whole = forest_scene(scene);
    const auto build = [&](FaultyWorkers::Fault fault) {
        FaultyWorkers workers(scene, whole, config, fault);
        Tree tree;
        TreeInMemory sink(tree);
        build_forest(whole, config, 0, workers, sink);
        return digest(tree);
    };
    EXPECT_EQ(build([](CellReferences&) {}), digest(plain_tree(scene, config)));
    EXPECT_THROW(build([](CellReferences& some) { some = {}; }), std::runtime_error);
    EXPECT_THROW(build([](CellReferences& some) {
                     const CellReferences twice = some;
                     some.append(twice.references, twice.triangles, twice.numbers);
                 }),
                 std::runtime_error);
    EXPECT_THROW(
        build([](CellReferences& some) { std::reverse(some.numbers.begin(), some.numbers.end()); }),
        std::runtime_error);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
