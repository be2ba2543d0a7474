/// @file
/// Tree files: what is written comes back, and what was changed is refused.
#include "kdtree/tree/tree_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "kdtree/rays/ray_tree.h"
#include "kdtree/tree/tree_writer.h"
#include "kdtree/tree/verify.h"
#include "scenes/digest.h"
#include "scenes/generators.h"
#include "tests/kdtree/build_machines.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/plain_tree.h"
#include "tests/kdtree/small_scenes.h"
#include "tests/kdtree/tree/tree_file_bytes.h"

namespace heapwood::kdtree::tests {
namespace {

class TreeFileTest : public testing::Test {
protected:
    TreeFileTest() {
        std::string name = (std::filesystem::temp_directory_path() / "heapwood.XXXXXX").string();
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        path_ = (folder_ / "x.kdt").string();
    }
    ~TreeFileTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// In place: some file systems wait for the disk where a file is emptied first.
    void write(const std::string& bytes) const {
        std::ofstream(path_, std::ios::binary | std::ios::app).close();
        std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out) << bytes;
        std::filesystem::resize_file(path_, bytes.size());
    }
    std::string read() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// What is wrong with these bytes as a file; empty: nothing.
    std::string fault(const std::string& bytes) const {
        write(bytes);
        try {
            const StoredTree stored = load_tree(path_);
            RayTree(stored.tree, stored.scene);  // does its own checks
            return "";
        } catch (const TreeFileError& error) {
            return error.what();
        }
    }

    /// Expects an error that names the file, that byte, those words and a remedy.
    void expect_fault(const std::string& bytes, std::size_t offset,
                      const std::string& words) const {
        const std::string found = fault(bytes);
        const std::string start = path_ + ": byte " + std::to_string(offset) + ": ";
        EXPECT_EQ(found.substr(0, start.size()), start) << found;
        EXPECT_NE(found.find(words), std::string::npos) << found;
        EXPECT_NE(found.find("heapwood build SCENE --out FILE"), std::string::npos) << found;
    }

    /// A file of a small scene whose tree has some inner nodes.
    static std::string small_file() {
        BuildConfig config;
        config.leaf_limit = 1;
        config.leaf_area = 0;
        const scenes::Scene scene = random_scene("soup", 5, 3);
        return tree_bytes(plain_tree(scene, config), scene, config);
    }

    std::filesystem::path folder_;
    std::string path_;
};

TEST_F(TreeFileTest, WhatIsWrittenComesBack) {
    std::vector<scenes::Scene> all;
    for (const scenes::GeneratorInfo& info : scenes::generators()) {
        all.push_back(scenes::generate({std::string(info.name), 500, 7}));
    }
    for (const std::string& kind : scene_kinds()) all.push_back(random_scene(kind, 70, 7));
    for (const auto& entry : std::filesystem::directory_iterator(HEAPWOOD_MODELS_DIR)) {
        all.push_back(scenes::load(entry.path().string()));
    }
    for (const scenes::Scene& scene : all) {
        for (const auto& [name, config] : presets()) {
            SCOPED_TRACE(scene.path + ", preset " + name);
            const Tree tree = plain_tree(scene, config);
            save_tree(path_, tree, scene, config);
            const StoredTree stored = load_tree(path_);
            EXPECT_EQ(digest(stored.tree), digest(tree));
            EXPECT_EQ(scenes::digest(stored.scene), scenes::digest(scene));
            EXPECT_EQ(stored.tree.nodes.size(), tree.nodes.size());
            EXPECT_EQ(stored.tree.references, tree.references);
            EXPECT_EQ(stored.scene.positions, scene.positions);
            EXPECT_EQ(stored.scene.triangles, scene.triangles);
            EXPECT_EQ(stored.scene.degenerate, scene.degenerate);
            EXPECT_EQ(stored.scene.bounds.lo, scene.bounds.lo);
            EXPECT_EQ(stored.scene.bounds.hi, scene.bounds.hi);
            EXPECT_EQ(stored.scene.path, path_);
            const auto wrong = verify(stored.scene, stored.tree,
                                      max_depth(stored.config, stored.scene.triangles.size()));
            EXPECT_FALSE(wrong) << *wrong;
            // All fields of the configuration that are in the file, and the same file again.
            EXPECT_EQ(tree_bytes(stored.tree, stored.scene, stored.config), read());
            EXPECT_EQ(digest(plain_tree(stored.scene, stored.config)), digest(tree));
        }
    }
}

TEST_F(TreeFileTest, LaysTheBytesOutAsDocumented) {
    const std::string bytes = small_file();
    EXPECT_EQ(bytes.substr(0, 8), "\x89KDT\r\n\x1a\n");
    EXPECT_EQ(get<std::uint32_t>(bytes, kVersion), 3U);
    EXPECT_EQ(bytes.substr(kByteOrder, 4), "\x04\x03\x02\x01");
    EXPECT_EQ(get<std::uint64_t>(bytes, kBytes), bytes.size());
    EXPECT_EQ(bytes.size() % 64, 0U);
    std::string sealed = bytes;
    seal_all(sealed);
    EXPECT_EQ(sealed, bytes);
    const scenes::Scene scene = random_scene("soup", 5, 3);
    EXPECT_EQ(get<glm::vec3>(bytes, kBounds), scene.bounds.lo);
    EXPECT_EQ(get<float>(bytes, kConfig + 4), 1.5F);
}

/// More words than a block of a digest has, so that several threads share the work: both ways of
/// writing give the bytes that one thread's digests seal, and a change in any block is found.
TEST_F(TreeFileTest, HasDigestsByBlocks) {
    scenes::Scene scene = scenes::generate({"sphere", 1000, 3});
    const Tree tree = plain_tree(scene, {});
    const std::size_t positions = scenes::kDigestBlock / 3 + 1000;
    Dice dice;
    while (scene.positions.size() < positions) scene.positions.push_back(dice.point(0, 1));
    std::string bytes = tree_bytes(tree, scene, {});
    ASSERT_GT(bytes.size(), 4 * scenes::kDigestBlock);
    save_tree(path_, tree, scene, {});
    EXPECT_TRUE(read() == bytes) << "the two ways of writing differ";
    std::string sealed = bytes;
    seal_all(sealed);
    EXPECT_TRUE(sealed == bytes) << "the digests differ from those of one thread";
    EXPECT_EQ(fault(bytes), "");
    for (const std::size_t at : {bytes.size() / 2, bytes.size() - 64}) {
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
        EXPECT_NE(fault(bytes).find("checksum"), std::string::npos) << at;
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
    }
}

TEST_F(TreeFileTest, DoesNotDependOnHowTheWorkIsDivided) {
    const scenes::Scene scene = random_scene("soup", 300, 3);
    BuildConfig other;
    other.large_limit = 64;
    other.chunk = 32;
    other.small_arrays = false;
    other.max_nodes = 100000;
    EXPECT_EQ(tree_bytes(plain_tree(scene, other), scene, other),
              tree_bytes(plain_tree(scene, {}), scene, {}));
}

TEST_F(TreeFileTest, RefusesEveryTruncation) {
    const std::string bytes = small_file();
    ASSERT_EQ(fault(bytes), "");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::string found = fault(bytes.substr(0, size));
        ASSERT_NE(found, "") << size;
        ASSERT_NE(found.find(": byte "), std::string::npos) << found;
    }
    expect_fault(bytes.substr(0, 100), 100, "the file ends within its header");
    expect_fault(bytes.substr(0, bytes.size() - 1), bytes.size() - 1, "it was cut off or changed");
    expect_fault(bytes + '\0', bytes.size(), "it was cut off or changed");
}

TEST_F(TreeFileTest, RefusesEveryFlippedBit) {
    const std::string bytes = small_file();
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string changed = bytes;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        ASSERT_NE(fault(changed), "") << bit;
    }
}

TEST_F(TreeFileTest, NoChangeLeadsAstray) {
    Dice dice;
    BuildConfig config;
    config.leaf_limit = 1;
    const scenes::Scene scene = random_scene("grid", 40, 3);
    const std::string bytes = tree_bytes(plain_tree(scene, config), scene, config);
    unsigned refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string changed = bytes;
        for (unsigned changes = 1 + dice.below(3); changes != 0; --changes) {
            // Half of the changes are in the header, which decides the most.
            const std::size_t at =
                4 * dice.below((dice.below(2) != 0 ? kHeader : bytes.size()) / 4);
            const auto old = get<std::uint32_t>(changed, at);
            const std::uint32_t news[] = {old ^ 1U << dice.below(32), old + dice.below(9) - 4, 0,
                                          0xFFFFFFFFU, static_cast<std::uint32_t>(dice())};
            put(changed, at, news[dice.below(std::size(news))]);
        }
        // With the digests made to fit, so that the checks behind them are reached.
        if (get<std::uint64_t>(changed, kBytes) == bytes.size() &&
            changed.compare(kNodes, kBounds - kNodes, bytes, kNodes, kBounds - kNodes) == 0) {
            seal_all(changed);
        } else {
            seal(changed);
        }
        if (!fault(changed).empty()) ++refused;  // fails by any other exception, or a sanitizer
    }
    EXPECT_GT(refused, 1000U);
}

TEST_F(TreeFileTest, NamesWhatIsWrongWithAHeader) {
    const std::string bytes = small_file();
    const auto changed = [&](std::size_t offset, auto value) {
        std::string other = bytes;
        put(other, offset, value);
        return other;
    };
    expect_fault("v 0 0 0\n" + std::string(300, '\n'), 0, "this is not a tree file");
    expect_fault(changed(kVersion, 1U), kVersion,
                 "the file has version 1, and this program reads version 3");
    expect_fault(changed(kByteOrder, 0x04030201U), kByteOrder, "the file is big-endian");
    expect_fault(changed(kByteOrder, 7U), kByteOrder, "order of bytes");
    for (const std::size_t count : {kNodes, kReferences, kTriangles, kPositions}) {
        for (const std::uint64_t absurd :
             {std::uint64_t{0}, std::uint64_t{1} << 33, ~std::uint64_t{0}}) {
            expect_fault(changed(count, absurd), count, "there are 1 to");
        }
        // As many as there may be: the file is too short for them, which is noticed first.
        expect_fault(changed(count, std::uint64_t{1} << 29), kBytes, "its counts add up to");
    }
    expect_fault(changed(kBytes, std::uint64_t{1} << 40), kBytes, "its counts add up to");
    expect_fault(changed(kHeader + 1, '\x7f'), kChecksum, "the file was changed");
    const auto sealed = [&](std::size_t offset, auto value) {
        std::string other = changed(offset, value);
        seal(other);
        return other;
    };
    expect_fault(sealed(kConfig + 12, 3U), kConfig + 12, "3 is no value of this parameter");
    expect_fault(sealed(kConfig + 64, 2U), kConfig + 64, "2 is no value of this parameter");
    expect_fault(sealed(kConfig, std::numeric_limits<float>::quiet_NaN()), kConfig,
                 "traversal_cost must be at least 0");
    expect_fault(sealed(kTreeDigest, 1U), kTreeDigest, "not that of the tree");
    expect_fault(sealed(kSceneDigest, 1U), kSceneDigest, "not that of the triangles");
    expect_fault(sealed(kBounds, -1e9F), kHeader, "is not the box of the triangles");
}

TEST_F(TreeFileTest, RefusesBytesThatHaveToBeZero) {
    const std::string bytes = small_file();
    const std::size_t references = kHeader + rounded(8 * get<std::uint64_t>(bytes, kNodes));
    const std::size_t used = references + 4 * get<std::uint64_t>(bytes, kReferences);
    ASSERT_NE(used, rounded(used)) << "no byte behind the references";
    for (const std::size_t at : {kHeader - 16, kHeader - 1, used, rounded(used) - 1}) {
        std::string other = bytes;
        other[at] = 1;
        seal(other);
        expect_fault(other, at, "has no meaning, and has to be zero");
    }
}

TEST_F(TreeFileTest, IsKnownByItsFirstBytes) {
    write(small_file());
    EXPECT_TRUE(is_tree_file(path_));
    write("v 0 0 0\n");
    EXPECT_FALSE(is_tree_file(path_));
    EXPECT_FALSE(is_tree_file(folder_.string()));
    EXPECT_FALSE(is_tree_file(folder_ / "none"));
}

TEST_F(TreeFileTest, NamesWhatIsWrongWithATree) {
    BuildConfig config;
    const scenes::Scene scene =
        scene_of({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {3, 0, 0}, {4, 0, 0}, {3, 1, 0}});
    const Box bounds{scene.bounds.lo, scene.bounds.hi};
    using Nodes = std::vector<Node>;
    const auto expect = [&](const Nodes& nodes, const std::vector<std::uint32_t>& references,
                            const std::string& words) {
        expect_fault(tree_bytes({nodes, references, bounds}, scene, config), kHeader, words);
    };
    const Node root = Node::inner(0, 2, 1);
    const Nodes good{root, Node::leaf(0, 1), Node::leaf(1, 1)};
    ASSERT_EQ(fault(tree_bytes({good, {0, 1}, bounds}, scene, config)), "");
    expect({root, Node::leaf(0, 1), Node::leaf(1, 2)}, {0, 1},
           "has references up to number 3 of 2");
    expect({root, Node::leaf(0, 1), Node::leaf(0, 1)}, {0, 1},
           "has references from number 0, not 1");
    expect({root, Node::leaf(0, 1), Node::leaf(1, Node::kLimit - 1)}, {0, 1},
           "has references up to");
    expect({Node::inner(0, 2, 0), Node::leaf(0, 1), Node::leaf(1, 1)}, {0, 1},
           "has children from 0");
    expect({root, Node::inner(0, 1, 1), Node::leaf(1, 1)}, {0, 1}, "has children from 1, not 3");
    expect({root, Node::inner(0, 1, 3), Node::leaf(1, 1)}, {0, 1}, "has child 4 of 3 nodes");
    expect({Node::inner(0, 2, Node::kLimit - 1), Node::leaf(0, 1), Node::leaf(1, 1)}, {0, 1},
           "has children from");
    expect({root, Node::leaf(0, 1), Node::leaf(1, 1), Node::leaf(2, 0)}, {0, 1}, "only 3 of its 4");
    expect(good, {0, 2}, "refers to triangle 2 of 2");
    expect(good, {1, 0}, "is outside");
    expect({Node::leaf(0, 1)}, {0}, "triangle 1 is in no leaf");
    for (const float plane : {-1.0F, 5.0F, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
        expect({Node::inner(0, plane, 1), Node::leaf(0, 1), Node::leaf(1, 1)}, {0, 1},
               "outside its cell");
    }
    // A chain that is longer than any walk's stack.
    Nodes chain;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        if (i != 0) chain.push_back(Node::leaf(0, 0));
        chain.push_back(Node::inner(0, 2, 2 * i + 1));
    }
    chain.insert(chain.end(), {Node::leaf(0, 2), Node::leaf(2, 0)});
    expect(chain, {0, 1}, "");
}

TEST_F(TreeFileTest, NamesWhatIsWrongWithTriangles) {
    const std::string bytes = small_file();
    const std::size_t triangles = kHeader + rounded(8 * get<std::uint64_t>(bytes, kNodes)) +
                                  rounded(4 * get<std::uint64_t>(bytes, kReferences));
    const std::size_t positions = triangles + rounded(12 * get<std::uint64_t>(bytes, kTriangles));
    const auto sealed = [&](std::size_t offset, auto value) {
        std::string other = bytes;
        put(other, offset, value);
        seal_all(other);
        return other;
    };
    expect_fault(sealed(triangles + 16, 15U), triangles + 12, "triangle 1 has position 15 of 15");
    expect_fault(sealed(triangles + 8, ~0U), triangles, "triangle 0 has position 4294967295 of 15");
    expect_fault(sealed(positions + 28, std::nanf("")), positions + 24, "position 2 is not finite");
    expect_fault(sealed(positions, -0.0F), positions, "position 0 is not finite, or -0");
}

TEST_F(TreeFileTest, RefusesWhatIsNoFile) {
    const auto fault_of = [](const std::string& path) -> std::string {
        try {
            load_tree(path);
            return "";
        } catch (const TreeFileError& error) {
            return error.what();
        }
    };
    EXPECT_EQ(fault_of(path_), path_ +
                                   ": cannot be opened: No such file or directory; name one "
                                   "that 'heapwood build SCENE --out FILE' wrote");
    EXPECT_NE(fault_of(folder_.string()).find("is not a regular file"), std::string::npos);
    EXPECT_NE(fault_of("/dev/zero").find("is not a regular file"), std::string::npos);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_NE(fault_of(path_).find("is not a regular file"), std::string::npos);
}

TEST_F(TreeFileTest, KeepsTheFormerFileUntilTheNewOneIsWhole) {
    const scenes::Scene scene = random_scene("soup", 5, 3);
    const Tree tree = plain_tree(scene, {});
    write("former");
    std::ofstream(path_ + ".new") << "another program's";
    TreeWriter(path_).add_nodes(tree.nodes);  // is never finished
    EXPECT_EQ(read(), "former");
    std::filesystem::create_symlink(path_, folder_ / "link");
    save_tree((folder_ / "link").string(), tree, scene, {});
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
    EXPECT_EQ(read(), tree_bytes(tree, scene, {}));
    EXPECT_EQ(std::filesystem::file_size(path_ + ".new"), 17U);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".2.new"));
    EXPECT_THROW(save_tree("/dev/full", tree, scene, {}), TreeFileError);
    EXPECT_THROW(save_tree((folder_ / "none" / "x.kdt").string(), tree, scene, {}), TreeFileError);
}

}  // namespace
}  // namespace heapwood::kdtree::tests
